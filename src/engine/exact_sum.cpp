#include "engine/exact_sum.h"

#include "core/dyadic.h"

namespace manymeans {

void ExactSum::add(const ExactSum& other) {
  carry();
  ExactSum carried = other;
  carried.carry();
  for (size_t i = 0; i < kDigits; ++i) digits_[i] += carried.digits_[i];
}

void ExactSum::carry() {
  for (size_t i = 0; i + 1 < kDigits; ++i) {
    digits_[i + 1] += digits_[i] >> 32;
    digits_[i] &= 0xffffffff;
  }
  added_ = 0;
}

double ExactSum::rounded() const {
  ExactSum carried = *this;
  carried.carry();
  Dyadic sum;
  for (size_t i = 0; i < kDigits; ++i) {
    if (carried.digits_[i] == 0) continue;
    sum = sum + Dyadic(WideInt(carried.digits_[i]), static_cast<int>(32 * i) - 1074);
  }
  return sum.rounded();
}

}  // namespace manymeans
