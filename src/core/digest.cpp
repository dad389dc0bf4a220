#define XXH_INLINE_ALL
#include "core/digest.h"

#include <manymeans/result.h>

#include "core/philox_lanes.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace manymeans {
namespace {

static_assert(std::endian::native == std::endian::little, "digests are defined over little-endian bytes");

// XXH3-128 of a stream of bytes.
class Hasher {
 public:
  Hasher() { XXH3_128bits_reset(&state_); }
  void add(const void* data, size_t size) { XXH3_128bits_update(&state_, data, size); }
  template <class T>
  void add(T value) {
    add(&value, sizeof value);
  }
  XXH128_hash_t finish() const { return XXH3_128bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

XXH128_hash_t hash_of(const ModelResult& model, LabelSum sum) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(model.k));
  hasher.add(static_cast<uint64_t>(model.prototypes.columns()));
  hasher.add(static_cast<uint64_t>(model.prototypes.type()));
  hasher.add(model.prototypes.bytes().data(), model.prototypes.bytes().size());
  hasher.add(std::bit_cast<uint64_t>(model.inertia));
  hasher.add(static_cast<uint64_t>(model.iterations));
  hasher.add(static_cast<uint64_t>(digest_code(model.stop_reason)));
  hasher.add(static_cast<uint64_t>(sum));
  hasher.add(static_cast<uint64_t>(sum >> 64));
  return hasher.finish();
}

std::string to_hex(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t from_hex(const std::string& digits) {
  return std::stoull(digits, nullptr, 16);
}

}  // namespace

LabelSum label_sum(const Labels& labels, int64_t first_row) {
  constexpr int64_t kBlock = 4096;
  constexpr int64_t kReadTogether = 256 * kBlock;  // before labels in a file are given back
  std::vector<uint32_t> block(kBlock);
  LabelSum sum = 0;
  for (int64_t first = 0; first < labels.size(); first += kBlock) {
    const int64_t count = std::min(kBlock, labels.size() - first);
    labels.read(first, count, block.data());
    sum += sum_of_label_terms(nullptr, first_row + first, block.data(), count);
    if (first / kReadTogether != (first + count) / kReadTogether || first + count == labels.size()) {
      labels.give_back(first / kReadTogether * kReadTogether, first + count - first / kReadTogether * kReadTogether);
    }
  }
  return sum;
}

bool stopped_from_outside(StopReason reason) {
  return reason >= StopReason::kTimeLimit && reason <= StopReason::kInterrupted;
}

uint32_t digest_code(StopReason reason) {
  return static_cast<uint32_t>(stopped_from_outside(reason) ? StopReason::kMaxIter : reason);
}

std::string ModelResult::digest() const {
  if (!label_sum) return to_hex(hash_of(*this, manymeans::label_sum(labels)));
  return to_hex(hash_of(*this, static_cast<LabelSum>((*label_sum)[1]) << 64 | (*label_sum)[0]));
}

std::string FitResult::digest() const {
  std::vector<std::string> digests;
  for (const ModelResult& model : models) digests.push_back(model.digest());
  return combined_digest(digests);
}

std::string digest_of(std::span<const uint64_t> numbers) {
  Hasher hasher;
  hasher.add(numbers.data(), numbers.size_bytes());
  return to_hex(hasher.finish());
}

std::string combined_digest(std::span<const std::string> models) {
  Hasher hasher;
  for (const std::string& digest : models) {
    hasher.add(from_hex(digest.substr(16)));  // the low half first
    hasher.add(from_hex(digest.substr(0, 16)));
  }
  return to_hex(hasher.finish());
}

}  // namespace manymeans
