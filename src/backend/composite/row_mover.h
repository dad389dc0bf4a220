// While a fit runs, rows move from a device that is waited for to devices that wait. Answers do not depend on it: a
// pass is a function of rows and prototypes, wherever the rows are.
#pragma once

#include "backend/composite/composite_part.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

/// Work of several devices since their rows last moved, or since the upload. First passes do not count, since those
/// find all labels anew.
struct SharedWork {
  std::vector<int64_t> rows;    ///< of each device
  std::vector<double> seconds;  ///< of each device, in all passes
  int64_t passes = 0;
  double waited = 0;  ///< seconds that passes took longer than with the best shares
  double moving = 0;  ///< seconds that it took to put the rows where they are, with the first pass there
};

/// Where the shares should end from now on; empty: where they do.
using ShareRule = std::function<std::vector<int64_t>(const SharedWork&)>;

/// The parts of an upload, whose rows may move. Used by one thread at a time.
class RowMover {
 public:
  /// `moving`: seconds that uploading the parts took. All must outlive this.
  RowMover(const Input& input, CompositeParts& parts, const Workload& workload, ShareRule rule, double moving);

  /// A session or a seeding of the parts. Rows move only if no other Hold exists than the one of the session that moves
  /// them.
  class Hold {
   public:
    explicit Hold(RowMover* mover) : mover_(mover) { add(1); }
    ~Hold() { add(-1); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    void add(int change) const {
      if (mover_ != nullptr) mover_->held_ += change;
    }
    RowMover* mover_;
  };

  /// Adds the seconds that a pass took on each part. `first`: of new sessions.
  void count(std::span<const double> seconds, bool first);
  /// Where the shares should end; empty: where they do, or nothing can move now.
  std::vector<int64_t> next_ends() const;
  /// Where the shares end now.
  std::vector<int64_t> ends() const;
  /// Uploads the parts anew; they have no sessions. An exception leaves parts without an upload: call it again, with
  /// other ends or the former ones.
  void place(std::span<const int64_t> ends, ThreadPool& drivers);
  void count_move() { ++moves_; }
  int moves() const { return moves_; }
  /// From now on nothing moves, since a move has failed for this reason.
  void give_up(std::string reason) { given_up_ = std::move(reason); }
  /// Why nothing moves any more; empty: it may.
  const std::string& given_up() const { return given_up_; }

 private:
  void begin_counting(double moving);

  const Input& input_;
  CompositeParts& parts_;
  Workload workload_;
  ShareRule rule_;
  SharedWork work_;
  int held_ = 0;
  int moves_ = 0;
  std::string given_up_;
};

/// Input of sessions and seedings over several parts.
struct CompositeRows {
  const Input& input;
  const CompositeParts& parts;
  RowMover* mover;  ///< null: rows stay where they are
};

}  // namespace manymeans
