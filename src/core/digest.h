// Digests of models, and the order-free sum over labels that they contain.
#pragma once

#include <manymeans/points.h>

#include "core/label_term.h"

#include <cstdint>
#include <span>
#include <string>

namespace manymeans {

enum class StopReason : uint8_t;

/// Returns the sum over these rows; `first_row` is the number of the first one among all.
LabelSum label_sum(const Labels& labels, int64_t first_row = 0);

/// Returns whether the time limit, the callback or the caller ended the fit.
bool stopped_from_outside(StopReason reason);

/// The code of a stop reason inside a digest. Fits that were ended from outside equal the fit with max_iter set to
/// their iterations, so they share its code.
uint32_t digest_code(StopReason reason);

/// Returns the XXH3-128 of the numbers, as 32 hexadecimal digits.
std::string digest_of(std::span<const uint64_t> numbers);

}  // namespace manymeans
