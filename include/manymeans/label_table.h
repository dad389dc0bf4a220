// Files of labels, whose rows may have names.
#pragma once

#include <manymeans/io.h>

#include <string>
#include <vector>

namespace manymeans {

struct LabelTable {
  Dataset labels;                         ///< with the names of the rows (Dataset::ids), where the file has some
  std::vector<std::string> beside = {};   ///< columns of a file whose rows have no names, where some are no labels
  std::vector<std::string> classes = {};  ///< where the only column of labels holds texts: the text of each number
};

/// Labels as read_points() reads them. The column `options.id` of a text, Parquet or Arrow file names the rows. If
/// `options.id` is empty, the first of several named columns names them under one condition, which files of
/// write_labels() meet. All other columns have names of labels and distances (label, labels, cluster, k8, distance,
/// k8_distance), and the first does not. It is then not read as labels. If it has no name, `id_name` is empty. Where
/// `options.columns` is empty, the one column that is called label or cluster is read. Texts in a column are classes.
/// Each class gets a number, from 0 in the order of first appearance. If a text file holds only text, its first row is
/// a row of names in two cases. It names a column of `options`, or its texts appear in no other row that is read.
/// Throws what read_points() throws; Error(kBadData) for numbers beyond 2^53 as names of a Parquet or Arrow file.
/// O(size of the file).
LabelTable read_label_table(const std::string& path, const ReadOptions& options = {});

}  // namespace manymeans
