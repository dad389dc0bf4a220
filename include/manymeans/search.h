// The search for the best model of k clusters: swaps of centroids, and trials that begin where the best model ends.
#pragma once

#include <manymeans/fit.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/result.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace manymeans {

/// All options of search(): the options of fit(), and its own. Each of the models (of every k) has its own search.
///
/// init, initial prototypes   what a search begins with
/// max_iter, stop, tol, empty of the fit that begins with what the search has found
/// time_limit                 of everything; `search_time` is of each search alone
struct SearchOptions : FitOptions {
  double search_time = 3;  ///< seconds of each search; 0: no limit. Not looked at where rounds are given
  int64_t rounds = 0;      ///< most rounds of each search; 0: as many as there is time for
  int64_t trials = 16;     ///< most of a round
};

/// Calls visit(info, member) for every option of search(), in the order of --help. The options of fit() come first,
/// with the help texts that hold for searches. `Options` is SearchOptions or const SearchOptions.
template <class Options, class Visitor>
void for_each_search_option(Options& options, Visitor&& visit) {
  for_each_option(options, [&](OptionInfo info, auto& value) {
    const std::string_view name = info.name;
    if (name == "models") info.help = "Searches for each k, from different seeds; the best by inertia is marked.";
    if (name == "max_iter") info.help = "Max iterations of the fit that begins with what the search has found.";
    if (name == "time_limit") {
      info.help =
          "Stop everything after this time, and return the best model so far: at least the first one, after one pass. "
          "0: no limit.";
    }
    if (name == "strategy") {
      info.help = "How the fit after the search is spread: concatenated, data or task. Never changes the answer.";
    }
    visit(info, value);
  });
  visit(OptionInfo{"search_time", "--time", "SECONDS",
                   "Time of each search. The table reports its rounds; --rounds with that number gives the same answer "
                   "again. 0: no limit."},
        options.search_time);
  visit(OptionInfo{"rounds", "--rounds", "COUNT",
                   "Rounds of each search, instead of --time: the answer is then a function of the points, the options "
                   "and the seed. 0: as many as the time allows."},
        options.rounds);
  visit(OptionInfo{"trials", "--trials", "COUNT",
                   "Max trials of a round: it has 4 at first, later a fourth of all before it. Part of the answer."},
        options.trials);
}

/// Throws Error(kUsage) unless every option is in its range and the options agree with each other.
void check(const SearchOptions& options);

/// The state of a search after a round.
struct SearchStep {
  int64_t round = 0;   ///< 0: what it began with
  double seconds = 0;  ///< since the search began
  double inertia = 0;  ///< of the best model so far
};

/// How one model was found.
struct SearchSummary {
  int64_t rounds = 0;                  ///< rounds that were done; this number of rounds gives the same model again
  bool ended = false;                  ///< there was nothing left to search for
  std::vector<SearchStep> steps = {};  ///< the first one, and every one that found something better

  /// The part of the inertia that the search saved, from the first iterations of k-means to the best model.
  double gain() const {
    const double first = steps.empty() ? 0 : steps.front().inertia;
    return first > 0 ? 1 - steps.back().inertia / first : 0;
  }
};

struct SearchResult {
  FitResult fit;                        ///< each model as fit() makes it of the best prototypes that were found
  std::vector<SearchSummary> searches;  ///< one for each of its models
  SearchOptions options;                ///< as given
};

/// Searches for the best model. The centroids of a first model are swapped as long as that helps. Then each round tries
/// at most `trials` variations of the best model, and joins the better ones. At last fit() begins with the best
/// prototypes, so that the model is one that fit() can give, with labels and digest.
///
/// With options.rounds the answer is a function of points, weights, options and seed: the same bits for any thread
/// count, instruction set and backend. A search that is stopped, by its time or by hooks, has the answer of the rounds
/// that it has done. Progress has the phase "search", with the round and the best inertia so far.
///
/// Of one column by Euclidean distance the optimum is known: fit() begins with the prototypes of optimal_1d(). Such a
/// model has the init "optimal" and no rounds.
///
/// A checkpoint is written between rounds, and in the fit after the search; `search_time` covers all runs that a
/// checkpoint joins.
///
/// Throws what fit() throws; Error(kUsage) with hooks.comm of several ranks, or points that are to be read from
/// their file in every pass. Memory: as fit() with `trials` models, and 8 (2 D + 6) bytes a row for each thread that
/// has a trial.
SearchResult search(const PointsView& points, std::span<const double> weights, const SearchOptions& options,
                    const FitHooks& hooks = {});

}  // namespace manymeans
