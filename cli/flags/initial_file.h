// Initial prototypes from a file, for --init FILE.
#pragma once

#include <manymeans/io.h>
#include <manymeans/options.h>
#include <manymeans/result.h>

#include <string>
#include <vector>

namespace manymeans::cli {

/// Returns true if the value of --init is a file and not the name of a method. Throws Error(kUsage) when it is neither.
bool names_initial_file(const std::string& init, const std::vector<std::string>& methods);

enum class ModelKind { kCentroids, kLinear };

struct InitialFile {
  std::string path;
  int64_t k = 0;
  PointsOfFit like;  ///< of the points: their columns
  Scale scale = Scale::kNone;
  ModelKind kind = ModelKind::kCentroids;
  Metric metric = Metric::kEuclidean;
  Header header = Header::kAuto;  ///< of text, as ReadOptions has it
};
/// Reads prototypes from a file of points or from a model file (.npz; the best model with this k). Columns are found by
/// name where the points and the file have names, else by their place. k = 0: as many as there are. They are in the
/// units of the points after scaling, so a model file must have been fitted with the same kind of scaling, and the same
/// metric. Throws Error(kBadData) when k or the columns do not fit.
Dataset read_initial(const InitialFile& wanted);

/// Says so where centroids lie far outside the points that the fit scaled, as those in the units of the file do.
std::vector<std::string> initial_warnings(const Dataset& initial, const ColumnRanges& scaled);

}  // namespace manymeans::cli
