// Files: points and weights in, labels and values out. Output files appear whole or not at all.
#pragma once

#include <manymeans/names.h>
#include <manymeans/points.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {

class Comm;
class OutputFile;
struct ColumnRanges;
struct FitResult;

/// How one column of a table became columns of points.
struct ColumnRule {
  bool categorical = false;                   ///< a column of 0 and 1 for each category; else the numbers themselves
  std::vector<std::string> categories = {};   ///< in the order of their bytes
  std::optional<double> fill = std::nullopt;  ///< the value for a gap; none: a gap is an error, or drops its row
};

/// Which columns of a file points are made of. A field of lists (Parquet, Arrow) is one column of its file.
struct SourceColumns {
  int64_t count = 0;                    ///< columns of the file; 0: not known
  std::vector<int64_t> numbers = {};    ///< those that are used, from 1, in the order of the points
  std::vector<std::string> names = {};  ///< their names; empty where the file names none
  std::vector<ColumnRule> rules = {};   ///< one for each number, where TableRules were asked for; else empty
  bool drops_gaps = false;              ///< rows with gaps are left out
  char decimal = '.';                   ///< of numbers in text
};

/// Properties of the points of a fit, so that other points are read in the same way.
struct PointsOfFit {
  SourceColumns source;
  std::vector<std::string> column_names;  ///< of the points; empty, or D names
  int64_t columns = 0;                    ///< D
  DataType type = DataType::kFloat32;     ///< float32 or float64
};

/// A part of the rows of a file, for a rank. The sizes of the parts differ by at most one, and the parts follow the
/// order of the rows. If there are more parts than rows, the last ones are empty.
struct RowPart {
  int64_t index = 0;
  int64_t count = 1;
  int64_t first = 0, last = -1;  ///< where `last` is not negative: rows [first, last) instead, those that there are

  /// The first row of the part that has this index, of `rows`.
  int64_t begin(int64_t rows) const {
    return last < 0 ? rows / count * index + std::min(index, rows % count) : std::min(first, rows);
  }
  int64_t end(int64_t rows) const { return last < 0 ? RowPart{index + 1, count}.begin(rows) : std::min(last, rows); }
};

/// The treatment of gaps: empty fields, nulls, NaN, and in text also NA, N/A, null, None (docs/user/tables.md).
enum class Missing : uint8_t {
  kError,
  kDrop,    ///< their rows are left out
  kMean,    ///< the mean of the column's finite values
  kMedian,  ///< their median; of an even number the mean of the two in the middle
  kValue,   ///< TableRules::missing_value
};

/// How a table that does not hold plain numbers becomes points.
struct TableRules {
  Missing missing = Missing::kError;
  double missing_value = 0;
  bool one_hot = false;          ///< a column of text becomes a column of 0 and 1 for each of its texts
  int64_t max_categories = 100;  ///< more texts in a column are an error

  bool any() const { return missing != Missing::kError || one_hot; }
};

/// Tells if the first line of a text table holds the names of its columns.
enum class Header : uint8_t {
  kAuto,  ///< found from the first lines; a warning where they leave it open (docs/user/files.md, "Header")
  kYes,
  kNo,  ///< the first line is a row
};

/// How to read a file of points.
struct ReadOptions {
  std::string format = "auto";  ///< a reader's name, or auto: by the file's ending
  /// Convert to this type. Default: as stored; text, decimals and integers of 32 and 64 bits become float32 where that
  /// keeps apart what they keep apart, else float64 (docs/user/files.md, "Types").
  std::optional<DataType> dtype = std::nullopt;
  std::vector<std::string> columns = {};  ///< names, numbers from 1, or ranges of them (2-5, a-c); empty: all
  std::vector<std::string> exclude = {};  ///< columns not to take, in the same notation
  std::vector<std::string> names = {};    ///< of all columns of a file that names none, which the others may use
  bool numeric_only = false;              ///< leave out columns that hold text, with a note in `warnings`
  TableRules rules = {};
  char decimal = 0;               ///< '.' or ',' in the numbers of text; 0: as in the model's fit, else '.'
  Header header = Header::kAuto;  ///< of text; another value is an error for other formats
  std::string id = {};            ///< a column that names the rows (Dataset::ids), and is no column of points
  std::string weights = {};       ///< a column's name or number (text files), or a file of N numbers; empty: none
  int threads = 0;
  /// Bytes that may be in memory altogether: copies of more than a sixteenth of it go to temporary files. 0: of more
  /// than half of the available memory.
  int64_t memory = 0;
  /// Read what a model needs. The columns are the columns of its fit, by name if both files have names, else by
  /// position. `columns` takes precedence. The type is the type of the fit unless `dtype` names one. Narrow types are
  /// read as stored for a float32 model.
  std::optional<PointsOfFit> like = std::nullopt;
  /// Read these rows only. Others are looked at only where all of them decide the type of the points, or their number
  /// (docs/user/devices.md).
  RowPart part = {};
};

/// The place of the rows of one of several files among all rows.
struct ShardFile {
  std::string path;
  int64_t rows_before = 0;  ///< of the files before it
  int64_t rows = 0;
  int64_t first_line = 0;  ///< as in Dataset
};

/// Points that were read. `view` stays valid as long as the object (or a copy of `owner`) lives.
struct Dataset {
  PointsView view;
  std::shared_ptr<const void> owner;
  std::vector<std::string> column_names;  ///< empty, or D names
  std::vector<double> weights;            ///< empty, or N
  std::vector<std::string> warnings;
  std::string path;
  SourceColumns source;               ///< which columns of the file they are
  int64_t first_line = 0;             ///< line of a text file, from 1, that has row 1; 0 for other files
  int64_t file_rows = 0;              ///< rows of the file; the points are ReadOptions::part
  bool type_from_values = false;      ///< all values together decided the type: with more rows it might be another
  std::vector<int64_t> dropped = {};  ///< rows of the file, from 0, that have gaps and are no rows of the points
  std::vector<std::string> ids = {};  ///< of all rows of the file, where ReadOptions::id asked for them
  std::string id_name = {};           ///< of that column; "id" where the file names none
  std::vector<ShardFile> shards;      ///< of read_shards(): the files that have rows
  std::vector<bool> zero_gaps = {};   ///< D, or empty: the column had gaps, which TableRules have filled with 0
};

/// "row 3", or "row 3 (line 4)" for a row, from 1, of a text file; "row 3 of part-2.npy" where there are several files.
std::string row_label(const Dataset& points, int64_t row);
/// "column 2 ('age')" or "column 2", for a column of the points, from 1, as its file counts and names it.
std::string column_label(const Dataset& points, int64_t column);

/// Reads points in any of the formats that `info` lists (docs/user/files.md); "-" is standard input, file:member one
/// table of a file that holds several. Throws Error(kBadData) that names the file, the row and the column.
Dataset read_points(const std::string& path, const ReadOptions& options = {});

/// The first line of a text file that has a row for each of known rows: weights, labels, initial prototypes.
struct FirstLine {
  Header header = Header::kAuto;  ///< the right ReadOptions::header for this file
  bool may_name = false;          ///< it is 0, 1, 2, ..., as pandas writes it above columns without names
};
/// Decides if a first line of numbers is a row: `rows`, if the file has this number with or without that line;
/// if `rows` is 0 (not known), options.header. A line with the names of options.like is a header, and so is text above
/// numbers.
FirstLine find_first_line(const std::string& path, const ReadOptions& options, int64_t rows);

/// Reads several files (shards), whose rows follow one another in the order of the paths. The points equal the points
/// of one file with all the rows. Files without rows add nothing. ReadOptions::part is a part of all rows; a weight
/// file has a weight for each of them. All files are opened, by every rank, to count their rows. Throws Error(kBadData)
/// that names two files if columns, their names or types differ. Throws Error(kUsage) if the values of each file would
/// have to decide the type: then `dtype` is needed.
Dataset read_shards(const std::vector<std::string>& paths, const ReadOptions& options = {});
/// The files that these names and patterns (*, ?, [...], as in a shell) mean, in the order of their names' bytes. A
/// name that is there is no pattern. Throws Error(kBadData) for a pattern that no name matches, Error(kUsage) for a
/// file that is named twice and for standard input.
std::vector<std::string> find_shards(const std::vector<std::string>& names);
/// Returns their name in messages: "a.npy", or "a.npy ... c.npy (3 files)".
std::string name_of_shards(const std::vector<std::string>& paths);

/// Files of points are mapped: where one is cut off, or its disk fails, while it is read, the system sends SIGBUS,
/// which ends the process. After this call such a read gives zeros instead, and the function that reads throws
/// Error(kBadData). It sets the process's handler of SIGBUS. This handler passes on signals that are not about files of
/// this library. A handler that is set later must pass on foreign signals, too. The program calls it; programs that
/// link the library may. Without it, too, functions throw Error(kBadData) when a file was written to while they used
/// it.
void guard_mapped_files();

/// Returns the file that a path of points names: the path itself, or the part before the colon in file:member.
std::string points_file(const std::string& path);
/// Returns true if this path can be read: a file, a member of a file, or standard input.
bool is_points_path(const std::string& path);

/// Scaling of points: of each column, or of each row.
enum class Scale : uint8_t {
  kNone,
  kStandard,  ///< (x - mean) / standard deviation; constant columns become 0
  kMinMax,    ///< (x - min) / (max - min); constant columns become 0
  kRobust,    ///< (x - median) / (distance of the quartiles), or / deviation where that distance is 0
  kUnit,      ///< every row divided by its Euclidean length; sparse rows stay sparse
};
template <>
std::span<const std::string_view> names_of<Scale>();

/// The logarithm of a column, taken before it is scaled.
enum class Logarithm : uint8_t {
  kNone,
  kOfValue,    ///< log(x), of columns above 0
  kOfOnePlus,  ///< log(1 + x), of columns whose minimum is 0
};
template <>
std::span<const std::string_view> names_of<Logarithm>();

/// How points are to be scaled.
struct ScaleRules {
  Scale kind = Scale::kNone;
  std::vector<int64_t> logs = {};  ///< columns, from 0, whose logarithm is taken first

  ScaleRules(Scale its_kind, std::vector<int64_t> its_logs = {}) : kind(its_kind), logs(std::move(its_logs)) {}
};

/// The scaling of the points of a fit. Every column becomes x' = (x - offset) / divisor, of the logarithm of x if it
/// has one. Then rows are divided by their length, if `kind` is kUnit.
struct Scaling {
  Scale kind = Scale::kNone;
  std::vector<double> offset;  ///< empty, or one for each column
  std::vector<double> divisor;
  std::vector<Logarithm> logs = {};  ///< empty, or one for each column

  bool any() const { return kind != Scale::kNone || !logs.empty(); }
  bool has_log(size_t column) const { return column < logs.size() && logs[column] != Logarithm::kNone; }
  /// A scaled value of this column in the units of the points, for display. Of a mean of logarithms it is the geometric
  /// mean. Values of rows of length one have no units and stay.
  double undone(double value, size_t column) const;
  /// "log(price)" or "log(1 + price)"; the name itself of a column without a logarithm.
  std::string name(const std::string& column_name, size_t column) const;
  /// The scaling of the first columns alone.
  Scaling first(int64_t columns) const;
  bool operator==(const Scaling&) const = default;
};
/// Throws Error(kBadData) naming the first column of `rules.logs` that has a value below 0.
Scaling find_scaling(const PointsView& points, const ScaleRules& rules, int threads = 0, int64_t memory = 0);
/// Finds the scaling for the rows of all ranks. All ranks call it.
Scaling find_scaling(const PointsView& points, const ScaleRules& rules, int threads, int64_t memory, Comm& comm);
/// Says so where gaps filled with 0 make the logarithm of a column that of 1 + x.
std::vector<std::string> filled_log_warnings(const Dataset& points, const Scaling& scaling);
/// A new matrix of scaled points, computed in binary64 and rounded once to float32 (float64 for float64 points). A
/// logarithm is rounded once before. Throws Error(kBadData) naming the first row that has no finite logarithm, and as
/// rows_of_length_one().
Matrix apply_scaling(const PointsView& points, const Scaling& scaling, int threads = 0);

/// Scales the points in a new array, or in a temporary file if `memory` demands it (as in ReadOptions). Sparse points
/// with Scale::kUnit alone stay sparse, and need the given ones as long as they are used.
Dataset scale_points(const PointsView& points, const Scaling& scaling, int threads, int64_t memory);

/// The columns of the points, from 0, that these names, numbers and ranges mean, as in ReadOptions::columns. Throws
/// Error(kUsage) about `parameter` for a column that is not there or holds categories.
std::vector<int64_t> columns_of_points(const Dataset& points, std::span<const std::string> specifications,
                                       const char* parameter);

/// A new matrix of the rows, each scaled to length one as a fit with Metric::kCosine has them: in float32 (float64 for
/// float64 points). Throws Error(kBadData) naming the first row that is all zeros, or a value that is not finite.
Matrix rows_of_length_one(const PointsView& points, int threads = 0);

/// The rows of a file for which labels are written: the rows of the points, and the rows between them that were left
/// out.
struct FileRows {
  /// As in Dataset; empty fields in a .csv, nulls in a .parquet, -1 or NaN in a .npy.
  std::span<const int64_t> dropped = {};
  std::span<const std::string> ids = {};  ///< as in Dataset; the first column of a .csv or a .parquet
  std::string id_name = {};
};
FileRows file_rows(const Dataset& points);

/// Labels of the best model of each k: N values for one k, N x number of k for several.
/// The ending of the path says the format: .npy, .csv (devices and pipes: .csv) or .parquet. Returns the type ("uint8",
/// ...). Throws Error(kInterrupted) and writes nothing when a k has no model that had begun.
std::string write_labels(const std::string& path, const FitResult& result);
std::string write_labels(const std::string& path, const Labels& labels);
/// The labels of all ranks, which all call it and see the same files. A .npy is written by all of them in place: each
/// writes its own rows. Other files are written by rank 0, which gathers the labels meanwhile.
std::string write_labels(const std::string& path, const FitResult& result, Comm& comm, const FileRows& rows = {});
std::string write_labels(const std::string& path, const Labels& labels, Comm& comm, const FileRows& rows = {});
/// Writes N float64 values as .npy, .csv or .parquet. With `comm` it writes the values of all ranks, as for labels.
void write_values(const std::string& path, std::span<const double> values, const std::string& name);
void write_values(const std::string& path, std::span<const double> values, const std::string& name, Comm& comm,
                  const FileRows& rows = {});

/// Columns of labels as write_labels() names them: "label" for one k, "k8", "k16" for several; of the best models.
struct NamedLabels {
  std::string name;
  int64_t model = 0;  ///< index in FitResult::models
};
/// Throws Error(kInterrupted), about `path`, when a k has no model that had begun.
std::vector<NamedLabels> best_labels(const std::string& path, const FitResult& result);

/// A column of values for the rows of points.
struct AppendedColumn {
  std::string name;
  const Labels* labels = nullptr;  ///< null: the column is `values`
  std::span<const double> values = {};
};
/// Writes a table again with more columns at its end. Text is copied line by line, and rows of Parquet and Arrow files
/// become lines, with all digits of their values. Written as Parquet or Arrow, each column keeps its type.
class AppendedTable {
 public:
  /// To be made before its points are read; `options` are the options of that reading. The ending of `output` says what
  /// is written: .parquet, .arrow, .feather, .tsv (tabs), .csv (commas or semicolons), else lines as they are. Throws
  /// Error(kUsage) unless the file can be read twice, and Error(kUnavailable) for what is not built in.
  AppendedTable(const std::string& path, const std::string& output, const ReadOptions& options);
  /// `points` came from this file. Rows that were left out get empty fields. A name that the table has already gets a
  /// number: cluster_2. Throws Error(kBadData) where the file was written to since the object was made.
  void write(const Dataset& points, std::span<const AppendedColumn> columns) const;

 private:
  bool write_rows(const Dataset& points, std::span<const AppendedColumn> columns, OutputFile& out) const;

  std::string path_, output_;
  int64_t memory_;
  bool has_lines_ = false;
  int64_t size_, changed_;  // what the system says of the file
};

/// A text as it is: all of it, or nothing.
void write_text(const std::string& path, std::string_view text);

/// Points in any of the formats that `info` lists as writers; `format` is a writer's name, or auto: by the path's
/// ending. No value changes: one that the format cannot hold is an Error(kBadData) that names its row and column.
void write_points(const std::string& path, const Dataset& points, const std::string& format = "auto");
/// The points of all ranks, which all call it and see the same files, as .npy or .csv.
void write_points(const std::string& path, const Dataset& points, Comm& comm);
/// A matrix that is made while it is written, so that it need not be in memory.
struct MadeMatrix {
  int64_t rows = 0, columns = 0;
  DataType type = DataType::kFloat32;
  /// Puts rows [first, first + count), row-major, at `out`; mostly in the order of the rows.
  std::function<void(int64_t first, int64_t count, std::byte* out)> fill;
};
/// As write_points(): all rows, or nothing.
void write_matrix(const std::string& path, const MadeMatrix& matrix, const std::string& format = "auto");
/// Throws Error(kUsage) unless a writer is found as by write_points(), and Error(kUnavailable) unless a file could be
/// written at this path now.
void check_points_path(const std::string& path, const std::string& format = "auto");
/// Throws Error(kUsage) unless the format of this path stores centroids of points of this type as they are.
void check_centroids_path(const std::string& path, DataType points);

/// A summary of a column of points.
struct ColumnSummary {
  int64_t missing = 0;   ///< NaN
  int64_t infinite = 0;  ///< infinities
  double min = 0;        ///< of the values that are not NaN; NaN where there are none
  double max = 0;
  double mean = 0;        ///< of the finite values; NaN where there are none
  double deviation = 0;   ///< biased (divided by their number), as --scale standard has it
  bool constant = false;  ///< all values are the same, and none is missing
};
/// Reads the points twice. Returns the same bits for any number of threads.
std::vector<ColumnSummary> summarise_columns(const PointsView& points, int threads = 0);

/// A summary of a column of a file, before any conversion.
struct TableColumn {
  int64_t number = 1;                 ///< in the file, from 1
  std::string name;                   ///< empty where the file names no columns
  int64_t numbers = 0;                ///< cells that hold a number; NaN and infinity are numbers
  int64_t empty = 0;                  ///< empty fields and nulls
  int64_t text = 0;                   ///< cells that hold something else
  std::string example;                ///< the first text
  int64_t gap_words = 0;              ///< of the texts, those that Missing takes for gaps in text files, such as NA
  int64_t dates = 0;                  ///< of the texts, those that look like dates or times
  std::string first_date, last_date;  ///< the earliest and the latest of them, as they are written
  int64_t distinct = 0;               ///< different values, numbers and texts
  bool more_distinct = false;         ///< there are more than `distinct`: counting ended there
  bool wide = false;                  ///< float32 would lose what tells its numbers apart
  bool id = false;                    ///< its name or numbers identify a row but do not describe it
  ColumnSummary values;               ///< of the numbers
};
struct TableSummary {
  int64_t rows = 0;
  DataType type = DataType::kFloat32;  ///< in which read_points() would read the columns that hold no text
  std::vector<TableColumn> columns;
  std::vector<std::string> warnings;
};
/// Describes a file that read_points() may refuse: with columns of text, empty fields, nulls. Returns the same answer
/// for any number of threads. Throws Error as read_points() does, for what is no table.
TableSummary describe_table(const std::string& path, const ReadOptions& options = {});

/// Return warnings, as sentences for people, about columns that are doubtful for a clustering. Both look at rows that
/// are spread evenly where there are many. `points` names the columns; `scaled` are its points as they are fitted;
/// `memory` is as in ReadOptions.
std::vector<std::string> row_number_warnings(const Dataset& points, int64_t memory = 0);
std::vector<std::string> dominance_warnings(const Dataset& points, const PointsView& scaled, int64_t memory = 0);
/// Returns the warnings for the rows of all ranks, equal to the warnings of one process that has all rows. All ranks
/// call it.
std::vector<std::string> row_number_warnings(const Dataset& points, int64_t memory, Comm& comm);
std::vector<std::string> dominance_warnings(const Dataset& points, const PointsView& scaled, int64_t memory,
                                            Comm& comm);
/// Of a column named 'cluster' or 'label' that holds all integers from 0 to a number of clusters less one, as a fit
/// appends them to its table. It looks at as many rows as those above; collective.
std::vector<std::string> earlier_cluster_warnings(const Dataset& points, Comm& comm);

/// Says so where most rows lie far outside the points of a fit: unscaled ones, other units, swapped columns. At most 32
/// rows are looked at. `points` name the columns and are not scaled yet; `scaling` is the scaling of the fit.
std::vector<std::string> outside_warnings(const Dataset& points, const ColumnRanges& fitted,
                                          const Scaling& scaling = {});

/// How to read initial prototypes for these points (FitHooks::initial): their columns by name, where both files have
/// names, else all columns.
PointsOfFit points_of_fit(const Dataset& points);

/// A file, and the name of the flag or parameter that it came from.
struct NamedFile {
  std::string name;
  std::string path;  ///< empty: not asked for
};
/// Returns true if two paths are one file, or will be, even through links, mounts, "." and "..". The file need not
/// exist yet.
bool same_file(const std::string& a, const std::string& b);
/// Throws Error(kUsage) where an output will be the same file as another output or as an input. Terminals and devices
/// such as /dev/null may be named twice.
void check_file_names(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs);

/// Throws Error(kUnavailable) unless a file could be written at this path now. Opens no pipe and no device, because the
/// reader of a pipe would see it end.
void check_writable(const std::string& path);
/// Checks the path of a checkpoint. Throws Error(kUsage) for a pipe, a device, and an existing file that is no whole
/// checkpoint. fit() calls it, too.
void check_checkpoint_path(const std::string& path);
/// Removes a checkpoint, where links lead. Throws Error(kUnavailable), or Error(kUsage) while a fit has it.
void remove_checkpoint(const std::string& path);
/// As check_writable for labels and values: also throws Error(kUsage) unless the ending is one that can be written.
void check_table_path(const std::string& path);

}  // namespace manymeans
