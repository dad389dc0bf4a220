// The natural logarithm, with the same bits on every machine: docs/developer/contract.md, "Logarithm".
#pragma once

namespace manymeans {

/// Returns log(x), wrong by less than one unit in the last place. Returns -infinity for 0, NaN below it and for NaN.
double logarithm(double x);

/// Returns log(1 + x), also of an x that 1 + x would lose. Returns -infinity for -1, NaN below it and for NaN.
double logarithm_of_one_plus(double x);

}  // namespace manymeans
