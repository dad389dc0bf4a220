// A table that does not hold plain numbers, as it was read: numbers, gaps, and texts as codes.
#pragma once

#include <manymeans/io.h>

#include "io/table/column_selection.h"
#include "io/table/row_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace manymeans {

/// The findings about the cells of one column.
struct RawColumn {
  int64_t number = 1;  ///< in the file, from 1
  std::string name;    ///< empty where the file names no columns
  int64_t texts = 0, numbers = 0;
  std::string example;      ///< the first text, for messages
  int64_t example_row = 0;  ///< its row, from 1
  /// Where `categorical`, the cells are gaps and places in `categories`; a cell of `categories.size()` is one of more
  /// texts than were remembered.
  bool categorical = false;
  std::vector<std::string> categories;
  bool wide = false;  ///< float32 would lose what tells its numbers apart

  std::string label() const { return column_label(number, name); }
};

/// All rows of a file.
struct RawTable {
  std::string path;
  PointsView view;  ///< numbers, NaN for gaps, codes
  std::shared_ptr<const void> owner;
  std::vector<RawColumn> columns;
  int64_t file_columns = 0;
  char decimal = '.';
  std::vector<double> weights;   ///< empty, or N
  std::vector<std::string> ids;  ///< likewise
  std::string id_name;
  std::vector<std::string> warnings;  ///< of the file
  int64_t first_line = 0;             ///< as in Dataset
  LostIntegers lost{0};               ///< integers that binary64 changed; rows are lines, as in Dataset
  std::vector<ShardFile> shards;      ///< where it was put together from several files
};

/// The numbers of a file of one column a number. Throws Error(kUsage) where columns are lists.
RawTable raw_of_points(Dataset points, const std::string& path);

/// One table of all rows of several, in their order. Throws Error(kBadData) that names two whose columns differ.
RawTable put_together(std::vector<RawTable> tables, const ReadOptions& options);

}  // namespace manymeans
