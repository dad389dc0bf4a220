// Files of labels, whose rows may have names.
#pragma once

#include <manymeans/io.h>

#include <string>
#include <vector>

namespace manymeans {

struct LabelTable {
  Dataset labels;                         ///< with the names of the rows (Dataset::ids), where the file has some
  std::vector<std::string> beside = {};   ///< columns of a file whose rows have no names, where some are no labels
  std::vector<std::string> classes = {};  ///< where the only column of labels holds texts: that of each number
};

/// Labels as read_points() reads them. What names their rows is the column `options.id` of a text, Parquet or Arrow
/// file; where that is empty, the first of several named columns, if all others are called as labels and distances are
/// (label, labels, cluster, k8, distance, k8_distance) and the first is not, as write_labels() leaves it. That column
/// is none of the points then, and where it has no name, `id_name` is empty. Where `options.columns` is empty, the one
/// column that is called label or cluster is read. Texts in a column are classes: each one becomes a number, from 0 in
/// the order in which they first stand there. Where a text file holds nothing but text, a first row that names a column
/// of `options`, or whose texts stand in no other row of those that are read, is one of names. Throws what
/// read_points() throws; Error(kBadData) for numbers beyond 2^53 as names of a Parquet or Arrow file. O(size of the
/// file).
LabelTable read_label_table(const std::string& path, const ReadOptions& options = {});

}  // namespace manymeans
