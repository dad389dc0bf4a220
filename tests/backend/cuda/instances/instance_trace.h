// What a session finds, for comparing one backend with another.
#pragma once

#include "backend/swap_scores.h"
#include "backend/upload.h"
#include "core/threads.h"
#include "data/input.h"
#include "instance_cases.h"

#include <memory>
#include <string>
#include <vector>

namespace manymeans::test {

/// Points of a case, and first prototypes that are rows of them. One row in 32 stands in a group so tight that rounding
/// to fp16 cannot tell its members apart, and 16 of the prototypes too: those rows are open (screen.h).
class CasePoints {
 public:
  CasePoints(const InstanceCase& one, ThreadPool& pool);
  const Input& input() const { return input_; }
  /// The same with the points in a device's memory; what else is wrong with it, in `wrong`.
  Input device_input(const void* values, ThreadPool& pool, std::string& wrong) const;
  Matrix first_prototypes(int64_t k, uint64_t seed) const;

 private:
  const InstanceCase& case_;
  std::unique_ptr<std::byte[]> values_;
  std::vector<double> weights_;
  Input input_;
};

/// Everything that some passes of a session say, and its services if the case wants them.
struct Trace {
  int bits = 0;                                 ///< of a limb
  std::vector<std::vector<PassResult>> passes;  ///< of each model
  std::vector<Labels> labels;
  std::vector<LabelSum> label_sums;
  std::vector<Statistics> statistics;
  std::vector<InertiaSum> inertias;
  std::vector<std::vector<double>> distances;
  std::vector<DistantRow> farthest;
  std::vector<std::vector<double>> removals;  ///< of linear models, what each is worth
  std::vector<WideInt> potentials;            ///< of seeding
  std::vector<int64_t> seeds;                 ///< rows that it chose
  std::vector<Swap> swaps;                    ///< of a search
};
Trace trace_of(Upload& upload, const CasePoints& points, const InstanceCase& one, const std::vector<int64_t>& k,
               ThreadPool& pool);

/// What differs; empty: nothing.
std::string difference(const Trace& expected, const Trace& found);

/// For people: a digest of the final labels, and of the sums with their split into limbs.
uint64_t digest_of(const Trace& trace);

}  // namespace manymeans::test
