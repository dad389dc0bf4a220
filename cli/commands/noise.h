// Points that are made up, for timing.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace manymeans::cli {

inline std::vector<float> noise(int64_t count) {
  std::mt19937_64 random(1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {  // nearly normal: four uniform numbers
    float sum = 0;
    for (uint64_t bits = random(), i = 0; i < 4; ++i, bits >>= 16) sum += static_cast<float>(bits & 0xffff) / 65536.0F;
    value = sum - 2;
  }
  return values;
}

}  // namespace manymeans::cli
