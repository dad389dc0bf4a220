#include "io/numpy/sparse_archive.h"

#include <manymeans/error.h>
#include <manymeans/sparse_file.h>

#include "core/fp_environment.h"
#include "core/memory.h"
#include "core/out_of_memory.h"
#include "core/sparse_rows.h"
#include "io/files/mapped_file.h"
#include "io/numpy/npz.h"
#include "io/table/column_selection.h"
#include "io/table/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

namespace manymeans {
namespace {

constexpr const char* kKind = "a sparse matrix of SciPy";

// A view and the arrays that it shows.
struct StoredSparse {
  SparseView view;
  std::vector<float> narrow_values;
  std::vector<double> wide_values;
  std::vector<int32_t> indices;
  std::vector<int64_t> wide_indices, starts;
};

// Numbers may begin at any byte of a file.
template <class From, class To>
void copy_as(const NpzArray& array, std::vector<To>& to) {
  const std::byte* from = array.values();
  for (To& value : to) {
    From read;
    std::memcpy(&read, from, sizeof(From));
    value = static_cast<To>(read);
    from += sizeof(From);
  }
}

size_t length_of(const NpzArray& array) {
  if (array.header().shape.size() != 1) array.fail("one dimension is needed");
  return array.header().count;
}

template <class To>
std::vector<To> integers_of(const NpzArray& array) {
  std::vector<To> numbers(length_of(array));
  if (array.header().is("<i4")) {
    copy_as<int32_t>(array, numbers);
  } else if (array.header().is("<i8")) {
    copy_as<int64_t>(array, numbers);
  } else {
    array.fail(fmt::format("is of type {}; <i4 and <i8 are right", array.header().descr()));
  }
  return numbers;
}

template <class From>
void copy_integers(const NpzArray& array, std::vector<double>& to) {
  copy_as<From>(array, to);
  if constexpr (sizeof(From) == 8) {
    const auto lost = std::ranges::find_if(to, [](double value) { return std::fabs(value) > 0x1p53; });
    if (lost != to.end()) array.fail(fmt::format("holds {}; float64 keeps integers up to 2^53 apart", *lost));
  }
}

std::vector<double> values_of(const NpzArray& array) {
  std::vector<double> values(length_of(array));
  const NpyHeader& header = array.header();
  if (header.is("<f8"))
    copy_as<double>(array, values);
  else if (header.is("<f4"))
    copy_as<float>(array, values);
  else if (header.is("|b1") || header.is("|u1"))
    copy_integers<uint8_t>(array, values);
  else if (header.is("|i1"))
    copy_integers<int8_t>(array, values);
  else if (header.is("<i2"))
    copy_integers<int16_t>(array, values);
  else if (header.is("<u2"))
    copy_integers<uint16_t>(array, values);
  else if (header.is("<i4"))
    copy_integers<int32_t>(array, values);
  else if (header.is("<u4"))
    copy_integers<uint32_t>(array, values);
  else if (header.is("<i8"))
    copy_integers<int64_t>(array, values);
  else if (header.is("<u8"))
    copy_integers<uint64_t>(array, values);
  else
    array.fail(fmt::format("is of type {}; float32, float64 and integers are read", header.descr()));
  return values;
}

bool fits_float32(const std::vector<double>& values) {
  return std::ranges::all_of(values,
                             [](double value) { return static_cast<double>(static_cast<float>(value)) == value; });
}

DataType type_of(const NpyHeader& header, const std::vector<double>& values, const ReadOptions& options) {
  if (options.dtype) return *options.dtype;
  if (options.like) return options.like->type;
  if (header.kind == 'f') return header.item_size == 8 ? DataType::kFloat64 : DataType::kFloat32;
  return fits_float32(values) ? DataType::kFloat32 : DataType::kFloat64;
}

// "csr", or whatever SciPy calls it: bytes or text.
std::string format_of(const NpzFile& file) {
  const NpzArray array = file.array("format");
  const NpyHeader& header = array.header();
  const size_t width = header.kind == 'U' ? sizeof(char32_t) : 1;
  if ((header.kind != 'U' && header.kind != 'S') || header.count != 1) array.fail("is no text");
  std::string text;
  for (size_t at = 0; at < header.item_size; at += width) {
    if (const char c = static_cast<char>(array.values()[at]); c > ' ' && c < 127) text += c;
  }
  return text;
}

void check_format(const NpzFile& file, const std::string& path) {
  const std::string format = format_of(file);
  if (format == "csr") return;
  throw Error(ErrorCode::kUsage, path,
              fmt::format("is a sparse matrix in the format '{}', and rows are needed one after the other (csr); in "
                          "Python: scipy.sparse.save_npz('rows.npz', scipy.sparse.load_npz('{}').tocsr())",
                          format, path));
}

void check_options(const ReadOptions& options, const std::string& path) {
  const auto refuse = [&](bool asked, const char* what) {
    if (!asked) return;
    throw Error(ErrorCode::kUsage, path,
                fmt::format("is a sparse matrix, of which all columns are taken as they are; leave out {}", what));
  };
  refuse(!options.columns.empty(), "--columns");
  refuse(!options.exclude.empty(), "--exclude");
  refuse(!options.id.empty(), "--id");
  refuse(options.header != Header::kAuto, "--header");
  refuse(options.rules.any(), "--missing and --categories");
  const bool narrow = options.dtype && *options.dtype != DataType::kFloat32 && *options.dtype != DataType::kFloat64;
  if (narrow) {
    throw Error(
        ErrorCode::kUsage, path,
        fmt::format("is a sparse matrix, which is read as float32 or float64, and not as {}", name_of(*options.dtype)));
  }
}

void read_shape(const NpzFile& file, SparseView& view) {
  const NpzArray array = file.array("shape");
  const std::vector<int64_t> shape = integers_of<int64_t>(array);
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    array.fail(fmt::format("is ({}); rows and columns are needed, at least one of each", fmt::join(shape, ", ")));
  }
  view.n = shape[0];
  view.d = shape[1];
  constexpr int64_t kOfColumn = 64;  // bytes that a fit needs for each column, at least
  if (view.d > available_memory() / kOfColumn) {
    throw Error(ErrorCode::kUnavailable, array.where(),
                fmt::format("there are {} columns, for whose sums alone memory does not suffice", view.d));
  }
}

void read_indices(const NpzFile& file, StoredSparse& stored) {
  const NpzArray indices = file.array("indices");
  SparseView& view = stored.view;
  view.wide_indices = indices.header().item_size == 8;
  if (view.wide_indices) {
    stored.wide_indices = integers_of<int64_t>(indices);
    view.indices = stored.wide_indices.data();
  } else {
    stored.indices = integers_of<int32_t>(indices);
    view.indices = stored.indices.data();
  }
  if (length_of(indices) != static_cast<size_t>(view.entries)) {
    indices.fail(fmt::format("{} columns for {} values (data); as many are needed", length_of(indices), view.entries));
  }
}

void read_values(const NpzFile& file, const ReadOptions& options, StoredSparse& stored) {
  const NpzArray array = file.array("data");
  stored.wide_values = values_of(array);
  SparseView& view = stored.view;
  view.entries = std::ssize(stored.wide_values);
  view.type = type_of(array.header(), stored.wide_values, options);
  view.values = stored.wide_values.data();
  if (view.type == DataType::kFloat64) return;
  for (const double value : stored.wide_values) stored.narrow_values.push_back(static_cast<float>(value));
  stored.wide_values = {};
  view.values = stored.narrow_values.data();
}

void read_starts(const NpzFile& file, StoredSparse& stored) {
  const NpzArray array = file.array("indptr");
  stored.starts = integers_of<int64_t>(array);
  if (std::ssize(stored.starts) - 1 != stored.view.n) {
    array.fail(fmt::format("{} numbers for {} rows (shape); one more than rows is right", stored.starts.size(),
                           stored.view.n));
  }
  stored.view.starts = stored.starts.data();
}

Dataset read_matrix(const std::string& path, const ReadOptions& options) {
  const NpzFile file(path, kKind);
  check_format(file, path);
  check_options(options, path);
  const auto stored = std::make_shared<StoredSparse>();
  read_shape(file, stored->view);
  read_values(file, options, *stored);
  read_indices(file, *stored);
  read_starts(file, *stored);
  try {
    check_sparse(stored->view);
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(error.code(), path, text.substr(text.find("] ") + 2));
  }
  Dataset result;
  result.path = path;
  result.file_rows = stored->view.n;
  const int64_t begin = options.part.begin(result.file_rows), end = options.part.end(result.file_rows);
  stored->view.starts += begin;
  stored->view.n = end - begin;
  result.view = stored->view.points();
  result.owner = stored;
  return result;
}

}  // namespace

bool is_sparse_archive(const ZipReader& zip) {
  return zip.has("format.npy") && zip.has("shape.npy") && (zip.has("indptr.npy") || zip.has("data.npy"));
}

bool is_sparse_file(const std::string& path, const ReadOptions& options) {
  std::string ending = path.substr(path.size() - std::min<size_t>(path.size(), 4));
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool archive = options.format == "npz" || (options.format == "auto" && ending == ".npz");
  if (!archive || !split_member(path).member.empty()) return false;
  try {
    const auto file = MappedFile::open(path, Access::kOnce);
    return is_sparse_archive(ZipReader(file->bytes(), path));
  } catch (const Error&) {
    return false;  // the reader says what is wrong
  }
}

Dataset read_sparse_points(const std::string& path, const ReadOptions& options) {
  const FpEnvironmentGuard guard;
  check_part(options.part);
  return or_unavailable([&] { return path; },
                        [] { return "there is not enough memory to read this file; give it fewer rows or values"; },
                        [&] {
                          Dataset result = read_matrix(path, options);
                          FileColumns columns{result.view.d, {}};
                          give_names(columns, options.names, path);
                          result.column_names = std::move(columns.names);
                          if (!options.weights.empty()) read_weight_file(result, options);
                          return result;
                        });
}

}  // namespace manymeans
