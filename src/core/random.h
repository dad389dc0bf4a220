// Counter-based random numbers: Philox4x32-10 of Random123. A number is a function of (key, counter), never
// of an order of calls, so it is the same on every thread, backend and rank.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstdint>

namespace manymeans {

/// The last word of the counter: what a random number is for. The values are part of the contract.
enum class Purpose : uint32_t {
  kMemberSeed = 1,
  kFirstCentre = 2,
  kCandidate = 3,
  kRandomRow = 4,
  kOversample = 5,
  kLabelSum = 6,
  kSubsetRow = 7,
  kSwapRow = 8,
  kSearchTrial = 9,
  kSearchRow = 10,
  kCriterionRow = 16,
  kReferenceValue = 17,
  kMaskedRow = 18,
  kSampledPair = 19,
  kDrawSeed = 20,
  kNodeSeed = 21,
  kFoldOfRow = 22,
};

using Philox4 = std::array<uint32_t, 4>;

/// Philox4x32-10 with key (low, high) and counter (index low, index high, draw, purpose).
inline Philox4 philox(uint64_t key, uint64_t index, uint32_t draw, Purpose purpose) {
  const philox4x32_ctr_t counter = {
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), draw, static_cast<uint32_t>(purpose)}};
  const philox4x32_key_t key_words = {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
  const philox4x32_ctr_t out = philox4x32(counter, key_words);
  return {out.v[0], out.v[1], out.v[2], out.v[3]};
}

/// The first two words as one number.
inline uint64_t random_u64(uint64_t key, uint64_t index, uint32_t draw, Purpose purpose) {
  const Philox4 r = philox(key, index, draw, purpose);
  return r[0] | static_cast<uint64_t>(r[1]) << 32;
}

/// floor(u n / 2^64): u is a random number of 64 bits, the result is below n.
inline uint64_t random_below(uint64_t u, uint64_t n) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(u) * n >> 64);
}

/// mix(seed, K, replica): the seed of one model of an ensemble.
inline uint64_t member_seed(uint64_t seed, int64_t k, int64_t replica) {
  return random_u64(seed, static_cast<uint64_t>(k), static_cast<uint32_t>(replica), Purpose::kMemberSeed);
}

}  // namespace manymeans
