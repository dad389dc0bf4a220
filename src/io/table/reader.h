// The readers of points: one file and one CMake line each.
#pragma once

#include <manymeans/io.h>

#include "io/table/found_format.h"
#include "io/table/raw_table.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

struct Choice;

/// Reads one format. A maker of it is registered as manymeans_register(reader name maker file...).
struct Reader {
  std::string description;
  std::vector<std::string_view> endings;  ///< of files, which choose this reader; with the dot, in lower case
  /// Reads points, and weights where `options.weights` is a column; weight files are the caller's business. Returns the
  /// rows of `options.part`, and says how many there are in all (Dataset::file_rows).
  std::function<Dataset(const std::string& path, const ReadOptions& options)> read;
  bool has_members = false;  ///< a file holds several tables, one of which a path names as file:member
  /// Describes what is there, column by column; null: what read() gives is described.
  std::function<TableSummary(const std::string& path, const ReadOptions& options)> survey = {};
  /// A table by whose rules points are made (io/table/preparation.h); null: of what read() gives, NaN are the gaps.
  std::function<RawTable(const std::string& path, const ReadOptions& options)> read_raw = {};
  bool names_rows = false;  ///< gives Dataset::ids itself; else their column is read once more
  bool has_fields = false;  ///< Parquet or Arrow
  bool available = true;    ///< false: its library was not there when this program was built
  FindFormat find = {};     ///< finds out what reads it; null: this program does, if `available`
};

/// read_points() without weights from a file of their own, and of a file that may have no rows.
Dataset read_rows(const std::string& path, const ReadOptions& options);
/// Reads all rows as a table, from which rules make points.
RawTable read_raw(const std::string& path, ReadOptions options);
/// Adds the weights of the file that `options` name, and the warnings of its reading, to the points.
void read_weight_file(Dataset& points, const ReadOptions& options);
/// Throws Error(kBadData) where there are no rows or no columns.
void check_some_rows(const Dataset& points);

/// The kind of a table, for --append to write it again.
enum class TableKind : uint8_t { kLines, kFields, kOther };
/// As what these options read this path: text, a row a line; Parquet or Arrow; anything else.
TableKind table_kind(const std::string& path, const ReadOptions& options);

/// Throws Error(kUsage) for a part that there is not.
void check_part(const RowPart& part);

/// Calls use(reader) with the reader of this path; errors are about this path, or about standard input.
TableSummary with_reader(const std::string& path, const ReadOptions& options,
                         const std::function<TableSummary(const Reader&)>& use);

/// One line of the registry.
struct ReaderEntry {
  std::string_view name;
  Reader (*make)();
};
std::span<const ReaderEntry> readers();

/// A path as the user wrote it, taken apart.
struct MemberPath {
  std::string file;
  std::string member;  ///< what stands behind the colon; empty: no member was named
};
/// Splits file:member. A colon belongs to the name of a file that is there: only what follows an existing file is a
/// member.
MemberPath split_member(const std::string& path);

/// Names and descriptions, for help and `info`. Without `look`, a format whose library is looked for when it is wanted
/// counts as available.
std::vector<Choice> reader_choices(bool look = true);

}  // namespace manymeans
