// A time limit that is for several fits and what is between them.
#pragma once

#include <algorithm>
#include <chrono>

namespace manymeans {

/// Counts from when it is made.
class TimeLeft {
 public:
  /// Seconds; 0: no limit.
  explicit TimeLeft(double limit) : limit_(limit) {}

  bool over() const { return limit_ > 0 && used() >= limit_; }
  /// As FitOptions::time_limit of the next fit.
  double seconds() const {
    constexpr double kMin = 1e-9;  // 0 would be none
    return limit_ > 0 ? std::max(kMin, limit_ - used()) : 0;
  }

 private:
  double used() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  double limit_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace manymeans
