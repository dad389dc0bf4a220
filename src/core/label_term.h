// The term that one row adds to the label sum of a digest: docs/developer/contract.md, "Digest".
#pragma once

#include "core/random.h"

#include <cstdint>

namespace manymeans {

using LabelSum = unsigned __int128;

/// Key of the label sum; part of the contract ("manymean" in ASCII).
constexpr uint64_t kLabelSumKey = 0x6d616e796d65616eULL;

/// The term of one row: Philox4x32-10(row low, row high, label, purpose) as a 128-bit integer.
/// Sums of terms are taken mod 2^128; changing a label subtracts one term and adds another.
inline LabelSum label_term(int64_t row, uint32_t label) {
  const Philox4 r = philox(kLabelSumKey, static_cast<uint64_t>(row), label, Purpose::kLabelSum);
  const uint64_t low = r[0] | static_cast<uint64_t>(r[1]) << 32;
  const uint64_t high = r[2] | static_cast<uint64_t>(r[3]) << 32;
  return static_cast<LabelSum>(high) << 64 | low;
}

}  // namespace manymeans
