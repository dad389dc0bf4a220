// Model files: what predict needs of a fit, in a .npz.
#pragma once

#include <manymeans/io.h>
#include <manymeans/options.h>
#include <manymeans/points.h>
#include <manymeans/regress.h>
#include <manymeans/result.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace manymeans {

struct TreeResult;

/// The contents of a model file.
struct StoredModel {
  int64_t k = 0;
  uint64_t seed = 0;
  int64_t iterations = 0;
  double inertia = 0;
  std::string stop_reason;
  std::string init;
  Matrix prototypes;
  std::vector<int64_t> counts;
  std::vector<double> weights;
  int64_t k_requested = 0;
  int64_t replica = 0;
  std::optional<RegressionSummary> regression = std::nullopt;  ///< of linear models; without what they leave out
};
/// Of linear models the last column is the target: of the scaling, of the names and of the file's columns. Their
/// prototypes have the intercept there. Prototypes, scaling and ranges are of terms, names and columns of features.
struct ModelFile {
  std::vector<StoredModel> models;
  Scaling scaling;                        ///< to be applied to points before predicting
  std::vector<std::string> column_names;  ///< empty, or D names
  SourceColumns source;                   ///< the columns of the fitted file; of count 0 in files of version 0.1
  std::string json;                       ///< options and provenance
  Metric metric = Metric::kEuclidean;     ///< of the fit, for PredictOptions
  ColumnRanges ranges = {};               ///< of the fitted points; none in older files
  Terms terms = {};                       ///< what features become, before the scaling

  bool linear() const { return !models.empty() && models[0].regression.has_value(); }
};
/// How to read points for a model of this file (ReadOptions::like): of linear models the features, then the target.
PointsOfFit points_of_fit(const ModelFile& file);
/// How to read features for a linear model of this file, where the target is not known.
PointsOfFit features_of_fit(const ModelFile& file);
/// Returns true if this path is a .npz with the keys of a model file.
bool is_model_file(const std::string& path);
/// Writes a .npz that numpy.load opens; docs/user/model-file.md lists the keys. Models that had not begun are left out;
/// throws Error(kInterrupted) and writes nothing when there is no other.
void save_model(const std::string& path, const FitResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source = {});
void save_model(const std::string& path, const RegressResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source = {});
void save_model(const std::string& path, const TreeResult& result, const Scaling& scaling,
                const std::vector<std::string>& column_names, const SourceColumns& source = {});  ///< its leaves
void save_model(const std::string& path, const ModelFile& file);
ModelFile load_model(const std::string& path);

}  // namespace manymeans
