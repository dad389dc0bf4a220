// One model of an ensemble while it is fitted.
#pragma once

#include <manymeans/result.h>

#include "engine/cycle.h"
#include "engine/swap_state.h"
#include "io/results/search_record.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// The rows of a member, if many problems are fitted together.
struct OwnRows {
  int64_t problem = 0;
  int64_t rows = 0;
  double mean_variance = 0;  ///< of the columns, where a stop rule needs it
};

struct Member {
  ModelResult result;  ///< filled during the fit
  std::optional<OwnRows> own_rows;
  int64_t index = 0;                ///< in the ensemble
  int slot = 0;                     ///< in its session
  Matrix prototypes;                ///< of the next pass
  Matrix given;                     ///< those to begin with; empty: the method of `result.init` chooses them
  std::span<const uint32_t> guess;  ///< labels that are probably near those of the first pass; empty: none
  bool begun = false;               ///< has prototypes and took part in a pass
  bool stopping = false;            ///< a reason to stop is known; one labelling pass is left
  bool relocated = false;           ///< the last update moved rows to empty clusters
  LabelSum state = 0;               ///< change of the label sum since the first pass
  CycleFinder cycle;
  std::optional<double> last_inertia;  ///< exact, of the pass before; only for the stop rule inertia
  std::vector<std::string> warnings;
  SwapState search;
  SearchRecord sought;       ///< state of the search before the fit, as a checkpoint saves it
  bool sought_anew = false;  ///< a stop ended that search: the checkpoint keeps `sought`, and a resumed fit searches on
  /// Set when the member comes from a checkpoint: rows that its last pass changed. The pass is done once more.
  std::optional<int64_t> repeats;

  std::string title() const {
    return "k = " + std::to_string(result.k_requested) + ", seed " + std::to_string(result.seed);
  }
};

}  // namespace manymeans
