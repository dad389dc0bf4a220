// What `compare` is given: a model of a model file, or labels of a file.
#pragma once

#include <manymeans/io.h>

#include <optional>
#include <string>
#include <vector>

namespace manymeans::cli {

struct Clustering {
  std::string path;
  std::optional<ModelFile> file = std::nullopt;  ///< none: labels
  const StoredModel* model = nullptr;            ///< one of the file's; null: labels
  std::vector<int64_t> labels = {};              ///< of the rows of a file; -1: the row has none

  bool is_model() const { return model != nullptr; }
};

/// Reads a model file, and chooses the best model of this k (0: the only one), or a file of labels, of which `column`
/// says which one where there are several (empty: there is one).
Clustering read_clustering(const std::string& path, int64_t k, const std::string& column);

/// Gives the rows of DATA the labels of the model; what was noticed is added to `warnings`.
struct RowsToLabel {
  std::string path;
  ReadOptions reading;
  std::string backend = "auto";
};
void label_rows(Clustering& clustering, const RowsToLabel& rows, std::vector<std::string>& warnings);

}  // namespace manymeans::cli
