// The plan of a fit's memory, made before it allocates anything. docs/user/memory.md explains the plan to users.
#pragma once

#include <manymeans/points.h>

#include "core/file_memory.h"
#include "core/row_window.h"

#include <cstdint>
#include <string>
#include <vector>

namespace manymeans {

enum class Strategy : uint8_t;

/// A fit, as far as its memory depends on it.
struct MemoryTask {
  PointsView points;
  bool in_file = false;  ///< the points lie in a mapped file: their pages count, but can be given back
  bool copied = false;   ///< sparse points: the fit has made a copy of their values
  bool weights = false;
  std::vector<int64_t> k;  ///< of every model
  Strategy strategy = {};  ///< by default kConcatenated
  int threads = 1;
  bool oversamples = false;      ///< some model begins with k-means||
  int64_t terms = 0;             ///< of linear models: sums of a cluster; 0: those of centroids, the columns
  bool clusters = false;         ///< initial linear models come from the clusters of a k-means fit
  bool copies_features = false;  ///< this k-means fit reads a copy of the features, not the rows with the target
  bool swaps = false;            ///< linear models have a swap search
};

struct MemoryPlan {
  bool limited = false;  ///< false: nothing below but the defaults holds, and everything is in memory
  RowWindow window = {};
  Storage labels = Storage::kMemory;   ///< of all models
  Storage seeding = Storage::kMemory;  ///< least distances of k-means++ and k-means||, 8 bytes a row and model
  int64_t seeded_together = 0;         ///< models seeded at the same time; 0: models_seeded_together()
  // Bytes for optional memory, in each of the sessions that run at the same time:
  int64_t copies = 0;      ///< a packed copy of the points, a kd-tree
  int64_t bounds = 0;      ///< carried from pass to pass
  int64_t sums = 0;        ///< statistics of each thread
  int64_t clustering = 0;  ///< what a k-means fit by whose clusters linear models begin may hold, where there is one
  std::string text;        ///< for people; empty unless limited
};

/// `limit` in bytes; 0: what the machine and its control groups have left. Points that the caller holds in memory are
/// not counted. Throws Error(kUnavailable, "memory") that says which limit would do; every limit from there on does.
MemoryPlan plan_memory(const MemoryTask& task, int64_t limit);

/// True if half of the available memory is enough with the points counted as in a file: then it does not matter.
bool fits_easily(const MemoryTask& task);

/// The number of models that are seeded together if no plan sets it. Seeding keeps about 8 bytes a row and model, a
/// quarter of a gibibyte in all.
int64_t models_seeded_together(int64_t rows);

/// The smallest limit for which plan_memory() finds a plan.
int64_t min_memory(const MemoryTask& task);

}  // namespace manymeans
