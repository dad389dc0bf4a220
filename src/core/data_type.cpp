#include "core/data_type.h"

#include <array>

namespace manymeans {
namespace {
constexpr std::array<std::string_view, 6> kNames = {"float32", "float64", "float16", "bfloat16", "uint8", "int8"};
}

std::string_view name_of(DataType type) {
  return kNames[static_cast<size_t>(type)];
}

std::optional<DataType> data_type_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

}  // namespace manymeans
