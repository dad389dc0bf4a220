// When a model carries bounds from pass to pass, and which rows get an exact distance to renew theirs. All of it is
// about speed: labels are the same whatever is decided here. Decisions follow from counts of whole passes, never from
// clocks, so a fit does the same work on any number of threads.
#pragma once

#include "backend/session.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace manymeans {

/// Rows that may not keep their label fall into classes by what they lack, in halves of what their prototype moved in
/// the last pass. An exact distance cannot gain much more than twice that movement, so the class predicts nearly all.
/// In the first two classes it keeps nine rows in ten, in the later ones hardly any.
constexpr int kLackClasses = 8;

/// The gain of tightening in one pass, by class.
struct TighteningTrials {
  std::array<int64_t, kLackClasses> tried = {};
  std::array<int64_t, kLackClasses> spared = {};

  TighteningTrials& operator+=(const TighteningTrials& other);
};

/// Which classes are worth an exact distance.
class TighteningChoice {
 public:
  /// `worth`: the least share of rows that must be kept for the distances of all of them to pay.
  explicit TighteningChoice(double worth = 0) : worth_(worth) {}
  /// A few rows of every class are tightened whatever was learned, so that it can be learned again.
  bool tightens(int lack_class, int64_t row) const {
    return worth_while_[static_cast<size_t>(lack_class)] || row % kTrialEvery == 0;
  }
  void learn(const TighteningTrials& trials);

 private:
  static constexpr int64_t kTrialEvery = 16;

  double worth_;
  std::array<double, kLackClasses> tried_ = {}, spared_ = {};  // of all passes, older ones counting less and less
  std::array<bool, kLackClasses> worth_while_ = {true, true, true};
};

enum class BoundsUse : uint8_t { kNever, kAlways, kWhenTheyPay };

/// Decides whether one model carries bounds in its next pass.
class BoundsPolicy {
 public:
  /// Shares of all rows.
  struct Rule {
    double start_below = 0.01;    ///< bounds begin after a pass that changed a smaller share of the labels
    double worth_carrying = 0.5;  ///< a pass whose bounds keep a smaller share of the labels is a poor pass
  };
  explicit BoundsPolicy(BoundsUse use = BoundsUse::kNever) : BoundsPolicy(use, Rule()) {}
  BoundsPolicy(BoundsUse use, const Rule& rule) : carries_(use == BoundsUse::kAlways), use_(use), rule_(rule) {}
  bool carries() const { return carries_; }
  void refuse();  ///< for good
  /// `known`: the pass had bounds to go by.
  void learn(const PassResult& result, int64_t rows, bool known);

 private:
  bool carries_ = false;
  BoundsUse use_;
  Rule rule_;
  int poor_passes_ = 0;  // in a row, among passes with bounds
};

/// A log for people of the bounds of an upload's models. Sessions in several threads may write.
class BoundsLog {
 public:
  void began(int64_t pass, double changed_share);
  void refused(int64_t bytes);
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  int64_t models_ = 0, first_pass_ = 0, refused_ = 0, refused_bytes_ = 0;
  double changed_share_ = 0;
};

}  // namespace manymeans
