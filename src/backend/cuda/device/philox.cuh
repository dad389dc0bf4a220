// Philox4x32-10 (Salmon et al. 2011) as core/random.h counts it, for host and device: Random123's own header would
// bring its macros into every kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace manymeans::cuda {

struct Philox4Words {
  uint32_t v[4];
};

/// Ten rounds; key (low, high), counter (index low, index high, draw, purpose).
__host__ __device__ inline Philox4Words philox4x32_10(uint64_t key, uint64_t index, uint32_t draw, uint32_t purpose) {
  uint32_t c0 = static_cast<uint32_t>(index);
  uint32_t c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = draw;
  uint32_t c3 = purpose;
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = static_cast<uint64_t>(0xD2511F53u) * c0;
    const uint64_t b = static_cast<uint64_t>(0xCD9E8D57u) * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(b);
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// The first two words as one number: random_u64 of core/random.h.
__host__ __device__ inline uint64_t device_random_u64(uint64_t key, uint64_t index, uint32_t draw, uint32_t purpose) {
  const Philox4Words r = philox4x32_10(key, index, draw, purpose);
  return r.v[0] | static_cast<uint64_t>(r.v[1]) << 32;
}

/// 128 bits that are added mod 2^128.
struct LabelSumWords {
  uint64_t low = 0;
  uint64_t high = 0;

  __host__ __device__ void add(const LabelSumWords& other) {
    low += other.low;
    high += other.high + (low < other.low ? 1 : 0);
  }
  __host__ __device__ void subtract(const LabelSumWords& other) {
    const uint64_t before = low;
    low -= other.low;
    high -= other.high + (before < other.low ? 1 : 0);
  }
};

/// The term that one row adds to the label sum: label_term of core/label_term.h.
__host__ __device__ inline LabelSumWords device_label_term(int64_t row, uint32_t label) {
  // kLabelSumKey and Purpose::kLabelSum; both are compared with the host's in tests.
  const Philox4Words r = philox4x32_10(0x6d616e796d65616eULL, static_cast<uint64_t>(row), label, 6);
  return {r.v[0] | static_cast<uint64_t>(r.v[1]) << 32, r.v[2] | static_cast<uint64_t>(r.v[3]) << 32};
}

}  // namespace manymeans::cuda
