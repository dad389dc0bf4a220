// Initial prototypes from a file, for --init FILE.
#pragma once

#include <manymeans/io.h>
#include <manymeans/options.h>
#include <manymeans/regress.h>
#include <manymeans/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manymeans::cli {

/// Returns true if the value of --init is a file and not the name of a method. Throws Error(kUsage) when it is neither.
bool names_initial_file(const std::string& init, const std::vector<std::string>& methods);

enum class ModelKind { kCentroids, kLinear };

struct InitialFile {
  std::string path;
  std::vector<int64_t> k = {};                   ///< asked for; empty: the file decides
  std::optional<int64_t> models = std::nullopt;  ///< of each k that were asked for; none: the file decides
  PointsOfFit like;                              ///< of the points: their columns
  Scaling scaling = {};
  ModelKind kind = ModelKind::kCentroids;
  Metric metric = Metric::kEuclidean;
  Terms terms = {};
  Header header = Header::kAuto;  ///< of text, as ReadOptions has it
};
/// The prototypes of an ensemble, as FitHooks::initial takes them.
struct InitialModels {
  Dataset rows;
  std::vector<int64_t> k;
  int64_t models = 1;  ///< of each k
};
/// Reads all models of a model file (.npz), or the prototypes of all models from a file of points. For `models` = 1 a
/// model file gives the best model of each k. Columns are found by name where the points and the file have names, else
/// by their place. Prototypes are in the units of the points after scaling. So a model file must have the same kind of
/// scaling, the same logarithms and the same metric. Throws Error: kUsage when k or models disagree
/// with a model file, kBadData when the rows or columns do not fit.
InitialModels read_initial(const InitialFile& wanted);

/// Says so where centroids lie far outside the points that the fit scaled, as those in the units of the file do.
std::vector<std::string> initial_warnings(const Dataset& initial, const ColumnRanges& scaled);

}  // namespace manymeans::cli
