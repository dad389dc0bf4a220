// Everything a backend says about a case, in a form that can be compared for equality.
#pragma once

#include "backend/backend.h"
#include "conformance/cases.h"
#include "prototype/centroid.h"

#include <span>
#include <string>
#include <vector>

namespace manymeans::test {

/// One answer of a backend. Doubles are kept as their bits, limbs as the integers they stand for.
struct Answer {
  std::string question;
  std::vector<int64_t> numbers;
  std::vector<WideInt> sums;

  bool operator==(const Answer&) const = default;
};

struct Trace {
  std::vector<Answer> answers;
  int64_t labelled = 0, repeated = 0, skipped = 0, certified = 0, resolved = 0;
};

/// What one pass says of the first model of a case, its points without weights.
struct Labelling {
  std::vector<uint32_t> labels;
  PassResult result;
};
Labelling label(Backend& backend, const Case& made, const Prototype& prototype = centroid(),
                std::span<const uint32_t> guess = {});
/// The same after a pass with prototypes close to those, so that many rows leave their label and as many keep it.
Labelling label_again(Backend& backend, const Case& made);

/// Asks a backend everything that the engine can ask: seeding, passes of changing sets of models with prototypes
/// that follow from the statistics, moved rows, dropped clusters, inertia.
Trace trace_of(Backend& backend, const Case& made, int session_threads = 0, const Prototype& prototype = centroid());

/// The first difference, as text; empty if there is none.
std::string first_difference(const Trace& expected, const Trace& found);

}  // namespace manymeans::test
