#include "io/arrow/python_source.h"

#include "core/data_type.h"
#include "core/file_memory.h"
#include "core/open_file.h"
#include "core/os/unnamed_file.h"
#include "core/threads.h"
#include "io/arrow/field_numbers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace manymeans {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void fail_answer() {
  throw Error(ErrorCode::kUnavailable, "Python", "its answer does not fit the file");
}

// --- Cells
// The numbers of a field, of its lists or of one text after the other, as arrow_process.py sends them.
class Values {
 public:
  Values(std::string_view type, PythonItems& items);
  int64_t size() const { return size_; }
  bool is_null(int64_t at) const { return !valid_.empty() && valid_[static_cast<size_t>(at)] == std::byte{0}; }
  std::string text(int64_t at) const;
  /// Returns how many values are there before the first null.
  int64_t copy(const FieldRun& run) const;

 private:
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(values_.data());
  }
  void copy_all(const FieldRun& run) const;
  template <class T>
  static void copy_of(const Values& values, const FieldRun& run) {
    copy_plain_run(values.as<T>(), run);
  }
  static void copy_halves(const Values& values, const FieldRun& run);
  static void copy_all_digits(const Values& values, const FieldRun& run);

  struct Type {
    std::string_view name;
    size_t size;  // 0: text
    void (*copy)(const Values& values, const FieldRun& run);
  };
  static const Type& type_named(std::string_view name);

  const Type& type_;
  Bytes valid_;   // a byte a value, or none: all are there
  Bytes values_;  // of text: where each begins, and where the last one ends
  Bytes text_;
  int64_t size_ = 0;
};

const Values::Type& Values::type_named(std::string_view name) {
  static constexpr std::array kTypes = {
      Type{"float", 4, copy_of<float>},     Type{"double", 8, copy_of<double>},   Type{"halffloat", 2, copy_halves},
      Type{"uint8", 1, copy_of<uint8_t>},   Type{"int8", 1, copy_of<int8_t>},     Type{"uint16", 2, copy_of<uint16_t>},
      Type{"int16", 2, copy_of<int16_t>},   Type{"uint32", 4, copy_of<uint32_t>}, Type{"int32", 4, copy_of<int32_t>},
      Type{"uint64", 8, copy_of<uint64_t>}, Type{"int64", 8, copy_of<int64_t>},   Type{"digits", 0, copy_all_digits},
      Type{"text", 0, copy_all_digits},
  };
  const auto found = std::ranges::find(kTypes, name, &Type::name);
  if (found == kTypes.end()) fail_answer();
  return *found;
}

Values::Values(std::string_view type, PythonItems& items)
    : type_(type_named(type)), valid_(items.next()), values_(items.next()) {
  if (type_.size > 0) {
    size_ = static_cast<int64_t>(values_.size() / type_.size);
  } else {
    text_ = items.next();
    size_ = static_cast<int64_t>(values_.size() / sizeof(int64_t)) - 1;
    const int64_t* ends = as<int64_t>();
    if (size_ < 0 || ends[0] < 0) fail_answer();
    for (int64_t i = 0; i < size_; ++i) {
      if (ends[i + 1] < ends[i]) fail_answer();
    }
    if (ends[size_] - ends[0] > std::ssize(text_)) fail_answer();
  }
  if (!valid_.empty() && std::ssize(valid_) != size_) fail_answer();
}

std::string Values::text(int64_t at) const {
  if (type_.size > 0) fail_answer();
  const int64_t* ends = as<int64_t>();
  const char* begin = reinterpret_cast<const char*>(text_.data()) + (ends[at] - ends[0]);
  return {begin, static_cast<size_t>(ends[at + 1] - ends[at])};
}

void Values::copy_halves(const Values& values, const FieldRun& run) {
  const uint16_t* from = values.as<uint16_t>() + run.first;
  for (int64_t i = 0; i < run.count; ++i) run.to[i * run.step] = half_to_float(from[i]);
}

void Values::copy_all_digits(const Values& values, const FieldRun& run) {
  for (int64_t i = 0; i < run.count; ++i) {
    copy_digits(values.is_null(run.first + i) ? "0" : values.text(run.first + i), i, run);
  }
}

int64_t Values::copy(const FieldRun& run) const {
  type_.copy(*this, run);
  int64_t there = 0;
  while (there < run.count && !is_null(run.first + there)) ++there;
  return there;
}

class NumberCells : public FieldCells {
 public:
  NumberCells(std::shared_ptr<const std::byte> owner, Values values) : owner_(std::move(owner)), values_(values) {}
  std::optional<FieldProblem> copy(int64_t first, int64_t count, const FieldTarget& target) const override {
    const FieldRun run{first,  count, target.values, target.row_step, true, target.row_number, target.lost_column,
                       &target};
    const int64_t there = values_.copy(run);
    if (there == count) return std::nullopt;
    return FieldProblem{there, fmt::format(": {}", kMissingValue)};
  }
  std::optional<int64_t> first_length() const override { return 1; }
  bool is_null(int64_t row) const override { return values_.is_null(row); }
  std::string text(int64_t row) const override { return values_.text(row); }

 private:
  std::shared_ptr<const std::byte> owner_;
  Values values_;
};

class ListCells : public FieldCells {
 public:
  ListCells(std::shared_ptr<const std::byte> owner, int64_t rows, PythonItems& items);
  std::optional<FieldProblem> copy(int64_t first, int64_t count, const FieldTarget& target) const override;
  std::optional<int64_t> first_length() const override {
    return is_null(0) ? std::nullopt : std::optional(begins_[1] - begins_[0]);
  }
  bool is_null(int64_t row) const override {
    return !valid_.empty() && valid_[static_cast<size_t>(row)] == std::byte{0};
  }
  std::string text(int64_t) const override { return ""; }

 private:
  std::shared_ptr<const std::byte> owner_;
  Bytes valid_;
  std::vector<int64_t> begins_;  // of each row in the values, and the end of the last
  std::optional<Values> values_;
};

ListCells::ListCells(std::shared_ptr<const std::byte> owner, int64_t rows, PythonItems& items)
    : owner_(std::move(owner)), valid_(items.next()), begins_(1, 0) {
  const Bytes lengths = items.next();
  if (lengths.size() != static_cast<size_t>(rows) * sizeof(int64_t)) fail_answer();
  if (!valid_.empty() && std::ssize(valid_) != rows) fail_answer();
  const std::string_view type = items.text();
  values_.emplace(type, items);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t length = reinterpret_cast<const int64_t*>(lengths.data())[i];
    if (length < 0 || length > values_->size() - begins_.back()) fail_answer();
    begins_.push_back(begins_.back() + length);
  }
}

std::optional<FieldProblem> ListCells::copy(int64_t first, int64_t count, const FieldTarget& target) const {
  for (int64_t i = 0; i < count; ++i) {
    if (is_null(first + i)) return FieldProblem{i, fmt::format(": {}", kMissingValue)};
    const int64_t begin = begins_[static_cast<size_t>(first + i)];
    const int64_t length = begins_[static_cast<size_t>(first + i) + 1] - begin;
    if (length != target.width) return FieldProblem{i, wrong_length(length, target.width)};
    const FieldRun run{
        begin,  length, target.values + i * target.row_step, 1, false, target.row_number + i, target.lost_column,
        &target};
    const int64_t there = values_->copy(run);
    if (there < length) return FieldProblem{i, fmt::format(", value {}: {}", there + 1, kMissingValue)};
  }
  return std::nullopt;
}

FieldRows rows_in(const PythonAnswer& answer, size_t fields) {
  PythonItems items(answer);
  FieldRows rows;
  rows.rows = items.number();
  constexpr int64_t kMaxRows = int64_t{1} << 40;  // anything above is none
  if (rows.rows < 0 || rows.rows > kMaxRows) fail_answer();
  for (size_t j = 0; j < fields; ++j) {
    const std::string_view type = items.text();
    if (type == "list") {
      rows.fields.push_back(std::make_unique<ListCells>(answer.bytes, rows.rows, items));
      continue;
    }
    const Values values(type, items);
    if (values.size() != rows.rows) fail_answer();
    rows.fields.push_back(std::make_unique<NumberCells>(answer.bytes, values));
  }
  return rows;
}

class PythonPieces : public FieldSource::Pieces {
 public:
  PythonPieces(PythonProcess& process, int64_t reader, std::vector<int> fields)
      : process_(process), reader_(reader), fields_(std::move(fields)) {}
  void start(int64_t piece) override { process_.ask(PythonRequest("start").add(reader_).add(piece).add(fields_)); }
  std::optional<FieldRows> next() override {
    const PythonAnswer answer = process_.ask(PythonRequest("next").add(reader_));
    return answer.items.empty() ? std::nullopt : std::optional(rows_in(answer, fields_.size()));
  }

 private:
  PythonProcess& process_;
  int64_t reader_;
  std::vector<int> fields_;
};

// --- The file
// The file for another process. It is opened once more, since a name may mean another thing there (/dev/stdin). A
// pipe's bytes are copied, to a temporary file if they are in one.
class OpenAgain {
 public:
  OpenAgain(const MappedFile& file, const std::string& path) {
    std::error_code ignored;
    if (path != MappedFile::kStandardInput && std::filesystem::is_regular_file(path, ignored)) {
      again_.emplace(path, FileKind::kRegular);
    } else {
      if (file.in_temporary_file()) copy_ = open_unnamed(temporary_folder(), O_RDWR, 0600);
      if (copy_ < 0) copy_ = open_memory_file("manymeans-input");
      copy(file.bytes(), path);
    }
  }
  ~OpenAgain() {
    if (copy_ >= 0) ::close(copy_);
  }
  OpenAgain(const OpenAgain&) = delete;
  OpenAgain& operator=(const OpenAgain&) = delete;
  int descriptor() const { return again_ ? again_->descriptor() : copy_; }

 private:
  void copy(std::span<const std::byte> bytes, const std::string& path) {
    while (!bytes.empty()) {
      const ssize_t written = copy_ < 0 ? -1 : ::write(copy_, bytes.data(), bytes.size());
      if (written > 0) {
        bytes = bytes.subspan(static_cast<size_t>(written));
      } else if (copy_ < 0 || errno != EINTR) {
        const int error = errno;
        if (copy_ >= 0) ::close(copy_);
        throw Error(ErrorCode::kUnavailable, path, std::string("cannot be kept for Python: ") + std::strerror(error));
      }
    }
  }

  std::optional<InputFile> again_;
  int copy_ = -1;
};

FieldKind kind_named(std::string_view name) {
  if (name == "number") return FieldKind::kNumber;
  if (name == "fixed") return FieldKind::kFixedList;
  return name == "list" ? FieldKind::kList : FieldKind::kOther;
}

std::optional<DataType> stored_named(std::string_view name) {
  if (name == "double") return DataType::kFloat64;
  if (name == "float") return DataType::kFloat32;
  if (name == "halffloat") return DataType::kFloat16;
  if (name == "uint8") return DataType::kUInt8;
  if (name == "int8") return DataType::kInt8;
  return std::nullopt;
}

}  // namespace

PythonSource::PythonSource(FieldsFormat format, std::shared_ptr<const MappedFile> file, const std::string& path,
                           int threads)
    : path_(path), file_(std::move(file)) {
  check_beginning(*file_, format, path_);
  const OpenAgain input(*file_, path_);
  process_ = std::make_unique<PythonProcess>(path_, input.descriptor());
  const bool stream = format == FieldsFormat::kArrow && is_arrow_stream(*file_);
  const char* name = format == FieldsFormat::kParquet ? "parquet" : (stream ? "stream" : "arrow");
  const PythonAnswer answer = process_->ask(PythonRequest("open").add(name).add(int64_t{thread_count(threads)}));
  PythonItems items(answer);
  for (int64_t count = items.number(); std::ssize(fields_) < count;) {
    FieldInfo& field = fields_.emplace_back();
    field.name = items.text();
    field.type = items.text();
    field.kind = kind_named(items.text());
    field.stored = stored_named(items.text());
    field.fixed_length = items.number();
  }
}

std::vector<int64_t> PythonSource::piece_rows(const std::vector<int>& fields) {
  const PythonAnswer answer = process_->ask(PythonRequest("rows").add(fields));
  PythonItems items(answer);
  std::vector<int64_t> rows;
  while (!items.empty()) rows.push_back(items.number());
  return rows;
}

std::unique_ptr<FieldSource::Pieces> PythonSource::open(const std::vector<int>& fields) const {
  return std::make_unique<PythonPieces>(*process_, readers_++, fields);
}

}  // namespace manymeans
