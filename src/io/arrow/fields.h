// Tables of typed fields, as Parquet and Arrow files hold them. Arrow C++ or a Python with pyarrow unpacks them.
// Includes nothing of Arrow.
#pragma once

#include <manymeans/error.h>
#include <manymeans/points.h>

#include "io/files/mapped_file.h"
#include "io/table/float32_check.h"
#include "io/table/row_store.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

/// How a field becomes columns of points.
enum class FieldKind : uint8_t {
  kNumber,     ///< one column
  kFixedList,  ///< a list of as many numbers in every row: so many columns
  kList,       ///< the same where only the rows say how many
  kOther,      ///< text, dates, structures: no numbers
};

/// One field of a table.
struct FieldInfo {
  std::string name;
  std::string type;  ///< as Arrow writes it
  FieldKind kind = FieldKind::kOther;
  std::optional<DataType> stored;  ///< the type of its numbers, or of those in its lists, where points can have it
  int64_t fixed_length = 1;        ///< of the lists, where kFixedList
};

/// The first row of a block that cannot be used.
struct FieldProblem {
  int64_t row = 0;  ///< in the block
  std::string what;
};

/// Where the numbers of one field go.
struct FieldTarget {
  double* values = nullptr;  ///< of the first row and the field's first column
  int64_t row_step = 0;      ///< doubles from a row to the next
  int64_t width = 1;         ///< columns of the field
  DataType type = DataType::kFloat32;
  LostIntegers* lost = nullptr;     ///< none: not asked for
  Float32Check* float32 = nullptr;  ///< likewise
  size_t lost_column = 0;           ///< of the first column there
  int64_t row_number = 0;           ///< of the first row in the file, from 1
};

/// The cells of one field in some rows.
class FieldCells {
 public:
  virtual ~FieldCells() = default;
  /// Rows [first, first + count) as numbers, up to the first that cannot be used. Not for fields of kind kOther.
  virtual std::optional<FieldProblem> copy(int64_t first, int64_t count, const FieldTarget& target) const = 0;
  /// The length of the list in row 0, of a field of kind kList; nothing where it is null, -1 for more than there is.
  virtual std::optional<int64_t> first_length() const = 0;
  virtual bool is_null(int64_t row) const = 0;
  /// The text of a cell that is no number, as people would write it.
  virtual std::string text(int64_t row) const = 0;
};

struct FieldRows {
  int64_t rows = 0;
  std::vector<std::unique_ptr<FieldCells>> fields;  ///< those that were asked for, in their order
};

/// Row groups (Parquet) or record batches (Arrow) of one file, as pieces of rows that threads can take.
class FieldSource {
 public:
  virtual ~FieldSource() = default;
  virtual const std::vector<FieldInfo>& fields() const = 0;
  /// The rows of each piece. `fields` are those that will be read, rising.
  virtual std::vector<int64_t> piece_rows(const std::vector<int>& fields) = 0;

  /// Reads pieces; each thread needs its own.
  class Pieces {
   public:
    virtual ~Pieces() = default;
    virtual void start(int64_t piece) = 0;
    /// The next rows of that piece; nothing behind its end.
    virtual std::optional<FieldRows> next() = 0;
  };
  virtual std::unique_ptr<Pieces> open(const std::vector<int>& fields) const = 0;
};

enum class FieldsFormat : uint8_t { kParquet, kArrow };

/// Opens a file, on at most `threads` threads. Throws Error(kBadData) that names the path for one that cannot be read.
using OpenFields = std::function<std::unique_ptr<FieldSource>(std::shared_ptr<const MappedFile> file,
                                                              const std::string& path, int threads)>;

/// Throws Error(kBadData) for bytes that do not begin as files of this format do.
void check_beginning(const MappedFile& file, FieldsFormat format, const std::string& path);
/// Returns true if a file of FieldsFormat::kArrow is a stream, without a directory.
bool is_arrow_stream(const MappedFile& file);

/// Throws the message of the library about this file, as one line.
[[noreturn]] void fail_fields(const std::string& path, const std::string& message);

/// Returns the result of `work` with this file. Libraries have exceptions of their own.
template <class Work>
auto reading_fields(const std::string& path, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    fail_fields(path, error.what());
  }
}

}  // namespace manymeans
