// An input of `compare`: a model of a model file, or labels of a file.
#pragma once

#include <manymeans/io.h>
#include <manymeans/model_file.h>

#include <optional>
#include <string>
#include <vector>

namespace manymeans::cli {

struct Clustering {
  std::string path;
  std::optional<ModelFile> file = std::nullopt;  ///< none: labels
  const StoredModel* model = nullptr;            ///< one of the file's; null: labels
  std::vector<int64_t> labels = {};              ///< of the rows of a file; -1: the row has none
  std::vector<std::string> classes = {};         ///< where labels are texts, the text of each number
  std::vector<std::string> ids = {};             ///< names of the rows of `labels`; empty: they have no names
  std::vector<std::string> beside = {};          ///< columns of labels without ids, where some are no labels
  std::string id_name = {};                      ///< of the column that has them; empty where it has no name
  bool has_no_header = false;                    ///< lines of text whose first one was taken as a label
  bool may_have_name = false;                    ///< likewise, and it is 0, which pandas writes as a name

  bool is_model() const { return model != nullptr; }
};

/// Which columns of a file of labels are meant.
struct LabelColumns {
  std::string labels = {};        ///< where there are several; empty: there is one
  std::string ids = {};           ///< names of rows; empty: those that read_label_table() finds
  bool by_order = false;          ///< names of rows are left out
  Header header = Header::kAuto;  ///< of text
  int64_t rows = 0;               ///< that have labels, which decides about a first line of numbers; 0: not known
};

/// Reads a model file, and chooses the best model of this k (0: the only one), or a file of labels.
Clustering read_clustering(const std::string& path, int64_t k, const LabelColumns& columns);

/// Gives the rows of DATA the labels of the model, and their names where `reading` asks for them; what was noticed is
/// added to `warnings`.
struct RowsToLabel {
  std::string path;
  ReadOptions reading;
  std::string backend = "auto";
};
void label_rows(Clustering& clustering, const RowsToLabel& rows, std::vector<std::string>& warnings);

}  // namespace manymeans::cli
