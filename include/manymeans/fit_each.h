// Many problems in one call: a model, or an ensemble, for each of many data sets.
#pragma once

#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// What a problem that cannot be fitted does to the call.
enum class ProblemErrors : uint8_t {
  kThrow,  ///< the call throws the ProblemError of the first such problem
  kSkip,   ///< the problem has no model; EachResult::errors says why
};

/// The options of fit(), for every problem alike, and what may differ.
///
/// time_limit   of the whole call; every problem has at least its first model, after one pass
/// memory       of each fit alone
struct EachOptions : FitOptions {
  std::vector<int64_t> k_each = {};      ///< instead of `k`: the number of clusters of each problem; empty: `k`
  std::vector<uint64_t> seed_each = {};  ///< instead of `seed`: the seed of each problem; empty: `seed`
  ProblemErrors errors = ProblemErrors::kThrow;
};

/// The error of one problem: what() is "[problem 17] " and the message of its fit.
class ProblemError : public Error {
 public:
  ProblemError(int64_t problem, const Error& error)
      : Error(error.code(), "problem " + std::to_string(problem), error.what()),
        problem_(problem),
        text_(std::strlen(what()) - std::strlen(error.what())) {}

  int64_t problem() const noexcept { return problem_; }         ///< counted from 0
  const char* text() const noexcept { return what() + text_; }  ///< the message of its fit

 private:
  int64_t problem_;
  size_t text_;  // where it begins
};

struct EachResult {
  std::vector<FitResult> fits;             ///< of each problem; without models if it was skipped or did not begin
  std::vector<ProblemError> errors;        ///< of the problems that were skipped, in their order
  std::vector<std::string> warnings = {};  ///< of the call: about its checkpoint
  bool interrupted = false;                ///< ended by time limit, callback or cancellation
};

/// Returns the offsets of problems that have `rows` rows each. Throws Error(kUsage) for negative numbers, and where all
/// rows are too many.
std::vector<int64_t> equal_groups(int64_t problems, int64_t rows);

/// Fits each problem as fit() does: FitResult `b` has the digest of fit() with the rows of problem `b`, its k and its
/// seed. Threads and order of the problems change nothing.
///
/// points   the rows of all problems, one problem behind the other
/// weights  empty, or one for each row
/// groups   B + 1 offsets from 0 to N: problem b has the rows from groups[b] to before groups[b + 1]
/// hooks    progress reports the phase "problems" after each problem. If it returns false, no other problem begins.
///          cancel does the same, and also stops the fits that run. initial holds the prototypes of problem 0, then of
///          problem 1, and so on. checkpoint keeps the models of all problems; `every` counts problems. A resumed call
///          makes one more pass of each model that was done.
///
/// On the CPU each problem has one thread. Problems too large for that come first and have all threads. A device fits
/// small problems in common passes: without weights, of max 128 columns; on an H200 up to 5e8 products of rows,
/// clusters and columns. The device fits up to eight of the other problems at a time, with max 512 MiB of points in
/// total. With backend "auto" the CPU fits other small problems whose points lie on a device.
///
/// Throws what fit() throws. An error of one problem is a ProblemError: "[problem 17] [k] ...". Its rows are
/// counted within the problem. Offsets that descend or lie outside, and options that no problem can have, throw with
/// ProblemErrors::kSkip, too. Error(kUsage) with hooks.comm of several ranks.
/// Time as the fits; memory as the result, and one fit for each thread.
EachResult fit_each(const PointsView& points, std::span<const double> weights, std::span<const int64_t> groups,
                    const EachOptions& options, const FitHooks& hooks = {});

}  // namespace manymeans
