// Points on a device, and what is made of them.
#pragma once

#include "backend/seeding.h"
#include "backend/session.h"
#include "core/threads.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace manymeans {

/// The known future use of uploaded points. It guides how results are computed, never the results.
struct Workload {
  int64_t max_clusters = 64;           ///< of one model
  int64_t all_clusters = 64;           ///< of all models that share passes
  int64_t passes = 10;                 ///< of all models, at most
  int64_t models = 1;                  ///< of one session
  int64_t sessions = 1;                ///< at the same time
  bool apart = false;                  ///< k-means++ or the like draws the first prototypes of most models
  std::vector<int64_t> clusters = {};  ///< of each model; empty: of one, max_clusters
  bool guessed = false;                ///< PassModel::guess will be there
};

/// A model that has rows of its own: neighbouring rows of all points.
struct ModelRows {
  int64_t first = 0;
  int64_t rows = 0;
  int64_t k = 0;
};

class Backend;
class SwapScores;
class Upload;

/// One of several devices that have all rows each, for some of the models.
struct ModelShare {
  Backend* backend;
  Upload* upload;  ///< whose sessions and seedings are used by the thread that asked for them
};

/// Points on a device. The input must outlive it.
class Upload {
 public:
  virtual ~Upload() = default;
  /// A session of models with these numbers of prototypes, on this many threads (0: all of the backend's).
  /// Sessions of one upload may run in different threads at once.
  virtual std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) = 0;
  /// Seeding of models with these numbers of prototypes, on the pool's threads; the pool must outlive it. Null where
  /// the host should do it instead, because the device would have to read the points from there in every step.
  virtual std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) = 0;
  /// Swaps of models of k centroids, scored where the points are; several may be asked for, in any thread. Null where
  /// the host should score them (engine/host_swap_scores.h); plan() says why, if the device could have.
  virtual std::unique_ptr<SwapScores> swap_scores(int64_t k);
  /// The devices among which the models should be dealt out by deal_models(), each group with a thread of its own.
  /// Empty: all models are fitted here.
  virtual std::vector<ModelShare> shares() { return {}; }
  virtual std::string plan() const = 0;  ///< for people: what was chosen for this shape, and why
  virtual std::vector<std::string> warnings() const { return {}; }  ///< what the user should know or fix
};

/// Points of many small problems.
class ProblemUpload : public Upload {
 public:
  /// The minimum and maximum of each column of a model's rows, (slots, 2, D).
  virtual std::vector<double> ranges(std::span<const int> slots) = 0;
};

}  // namespace manymeans
