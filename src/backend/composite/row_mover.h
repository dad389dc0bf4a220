// Rows that move from a device that is waited for to those that wait, while a fit runs. Answers do not depend on it: a
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

/// What several devices did since their rows moved last, or since the upload. First passes do not count, since those
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

  /// A session or a seeding of the parts. Rows move where there is none but the session that moves them.
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

  /// What a pass took each part. `first`: of new sessions.
  void count(std::span<const double> seconds, bool first);
  /// Where the shares should end; empty: where they do, or nothing can move now.
  std::vector<int64_t> next_ends() const;
  /// Where the shares end now.
  std::vector<int64_t> ends() const;
  /// Uploads the parts anew; they have no sessions. What it throws leaves parts without an upload: it has to be called
  /// again, with other ends or those of before.
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

/// What sessions and seedings over several parts are made of.
struct CompositeRows {
  const Input& input;
  const CompositeParts& parts;
  RowMover* mover;  ///< null: rows stay where they are
};

}  // namespace manymeans
