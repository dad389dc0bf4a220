// One dataset of a HDF5 file: mapped where it lies in one piece, else read by the HDF5 library.
#include <manymeans/error.h>

#include "io/files/mapped_file.h"
#include "io/hdf5/hdf5_library.h"
#include "io/table/reader.h"
#include "io/table/row_store.h"
#include "io/table/stored_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace manymeans {
namespace {

// As h5py stores true and false: an enumeration of a byte.
bool is_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  int8_t no = -1, yes = -1;
  return H5Tenum_valueof(type, "FALSE", &no) >= 0 && H5Tenum_valueof(type, "TRUE", &yes) >= 0 && no == 0 && yes == 1;
}

// The type's name in .npy headers; empty for text, compound types and numbers that only HDF5 has.
std::string type_name(hid_t type) {
  if (is_bool(type)) return "|b1";
  const size_t size = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  const bool integer = H5Tget_class(type) == H5T_INTEGER && std::has_single_bit(size) && size <= 8 &&
                       H5Tget_precision(type) == 8 * size && (order == H5T_ORDER_LE || order == H5T_ORDER_BE);
  const bool real = std::ranges::any_of(std::array{H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE},
                                        [type](hid_t known) { return H5Tequal(type, known) > 0; });
  const bool half = H5Tget_class(type) == H5T_FLOAT && size == 2 && H5Tget_ebias(type) == 15;
  if (!integer && !real && !half) return {};
  const char* const kind = !integer ? "f" : (H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "i");
  return fmt::format("{}{}{}", size == 1 ? "|" : (order == H5T_ORDER_BE ? ">" : "<"), kind, size);
}

herr_t add_dataset(hid_t, const char* name, const H5O_info_t* info, void* names) {
  if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

// The library sees the mapped bytes and opens no file: it asks for memory and gets the mapping, which it never changes.
Hdf5Handle open_bytes(const MappedFile& file, const std::string& path) {
  H5FD_file_image_callbacks_t mapping = {[](size_t, H5FD_file_image_op_t, void* bytes) { return bytes; },
                                         [](void* to, const void*, size_t, H5FD_file_image_op_t, void*) { return to; },
                                         [](void*, size_t, H5FD_file_image_op_t, void*) -> void* { return nullptr; },
                                         [](void*, H5FD_file_image_op_t, void*) -> herr_t { return 0; },
                                         [](void* bytes) { return bytes; },
                                         [](void*) -> herr_t { return 0; },
                                         const_cast<std::byte*>(file.bytes().data())};
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (H5Pset_fapl_core(access, /*increment=*/1 << 16, /*backing_store=*/false) < 0 ||
      H5Pset_file_image_callbacks(access, &mapping) < 0 ||
      H5Pset_file_image(access, mapping.udata, file.bytes().size()) < 0) {
    return {-1, H5Fclose};
  }
  // The library requires a name, of a file that cannot be there.
  return {H5Fopen(("/dev/null/" + path).c_str(), H5F_ACC_RDONLY, access), H5Fclose};
}

// A dataset, by links within the file. A link that leads out of it is not followed: it could name any file of the user.
hid_t open_dataset(hid_t file, const std::string& name, const std::string& path) {
  std::string target;
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  const H5L_elink_traverse_t note_link = [](const char*, const char*, auto... link) {
    const auto [other, object, flags, access_of_file, note] = std::tuple(link...);
    *static_cast<std::string*>(note) = fmt::format("{}:{}", other, object);
    return herr_t{-1};
  };
  if (!access || H5Pset_elink_cb(access, note_link, &target) < 0) return -1;
  const hid_t data = H5Dopen2(file, name.c_str(), access);
  if (data >= 0 || target.empty()) return data;
  throw Error(ErrorCode::kUsage, path,
              fmt::format("'{}' is behind a link to '{}' of another file, which is not followed; name that file", name,
                          target));
}

// The dataset that the path means.
std::string find_dataset(hid_t file, const MemberPath& path) {
  if (!path.member.empty()) return path.member;
  std::vector<std::string> names;
  if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, add_dataset, &names) < 0) {
    throw Error(ErrorCode::kBadData, path.file,
                "the HDF5 library cannot list what is in it; it is damaged, or written by a newer version");
  }
  if (names.size() == 1) return "/" + names[0];
  std::string list;
  for (size_t i = 0; i < names.size() && i < 10; ++i) list += (i == 0 ? "/" : ", /") + names[i];
  throw Error(ErrorCode::kUsage, path.file,
              fmt::format("there are {} datasets in it{}{}; say which, as in {}:{}", names.size(),
                          names.empty() ? ", and links are not counted" : ": ", list, path.file,
                          names.empty() ? "/group/name" : "/" + names[0]));
}

// The numbers of an attribute; nothing where there is none of this name, or it holds something else.
std::vector<double> numbers_of(hid_t data, const char* name) {
  constexpr hssize_t kMax = 64;
  if (H5Aexists(data, name) <= 0) return {};
  const Hdf5Handle attribute(H5Aopen(data, name, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(attribute ? H5Aget_type(attribute) : -1, H5Tclose);
  const Hdf5Handle space(attribute ? H5Aget_space(attribute) : -1, H5Sclose);
  if (!type || !space || type_name(type).empty() || is_bool(type)) return {};
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 1 || count > kMax) return {};
  std::vector<double> numbers(static_cast<size_t>(count));
  return H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers.data()) < 0 ? std::vector<double>() : numbers;
}

class Hdf5Dataset {
 public:
  Hdf5Dataset(const MemberPath& path, std::shared_ptr<const MappedFile> file);
  Dataset read(const ReadOptions& options) const;

 private:
  void check_storage() const;
  void check_units() const;
  void find_gaps();
  bool mark_gaps(std::byte* values, int64_t count) const;
  Dataset read_values(const ReadOptions& options) const;
  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorCode::kBadData, where_, what); }
  Dataset read_packed(StoredMatrix matrix, ReadOptions options) const;
  int64_t rows_of_chunks(const StoredMatrix& matrix) const;
  bool read_rows(int64_t first, int64_t rows, int64_t columns, std::byte* to) const;
  StoredMatrix find_shape() const;

  std::shared_ptr<const MappedFile> bytes_;
  std::string where_;
  Hdf5Handle file_, data_, type_;
  std::vector<double> gaps_;  // numbers that stand for gaps
  hid_t gaps_type_ = -1;      // of the values in memory, if there are such numbers: float32 or float64
};

Hdf5Dataset::Hdf5Dataset(const MemberPath& path, std::shared_ptr<const MappedFile> file)
    : bytes_(std::move(file)),
      where_(path.file),
      file_(open_bytes(*bytes_, where_)),
      data_(file_ ? open_dataset(file_, find_dataset(file_, path), where_) : -1, H5Dclose),
      type_(data_ ? H5Dget_type(data_) : -1, H5Tclose) {
  if (!file_) fail("the HDF5 library cannot open it: this is not a HDF5 file, or it is cut off or damaged");
  if (!data_) {
    throw Error(ErrorCode::kUsage, where_, "there is no dataset '" + path.member + "' in it; h5ls -r lists them");
  }
  if (!path.member.empty()) where_ += ":" + path.member;
  check_storage();
  check_units();
  find_gaps();
}

// As netCDF packs numbers (CF conventions). Who unpacks them rounds in one of several ways.
void Hdf5Dataset::check_units() const {
  for (const auto& [name, neutral] : {std::pair("scale_factor", 1.0), std::pair("add_offset", 0.0)}) {
    for (const double found : numbers_of(data_, name)) {
      if (found == neutral) continue;
      fail(
          fmt::format("the attribute {} is {}, so the numbers in it are packed; write a copy of the values "
                      "themselves, as xarray and netCDF4 unpack them",
                      name, found));
    }
  }
}

// Numbers that the CF conventions let stand for gaps. All numbers are read as a type that has NaN.
void Hdf5Dataset::find_gaps() {
  if (!type_ || is_bool(type_) || type_name(type_).empty()) return;
  const size_t size = H5Tget_size(type_);
  const bool fits = size < 4 || (size == 4 && H5Tget_class(type_) == H5T_FLOAT);
  for (const char* name : {"_FillValue", "missing_value"}) {
    for (const double number : numbers_of(data_, name)) {
      const bool occurs = !fits || std::fabs(number) <= std::numeric_limits<float>::max();  // false for NaN, too
      if (occurs && !std::isnan(number)) gaps_.push_back(fits ? static_cast<float>(number) : number);
    }
  }
  if (!gaps_.empty()) gaps_type_ = fits ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
}

// Replaces the numbers that mean gaps by NaN. Returns false for an integer that float64 does not hold.
bool Hdf5Dataset::mark_gaps(std::byte* values, int64_t count) const {
  const bool integers = H5Tget_class(type_) == H5T_INTEGER;
  const auto mark = [&]<class T>(T* numbers) {
    for (int64_t i = 0; i < count; ++i) {
      if (std::ranges::find(gaps_, static_cast<double>(numbers[i])) != gaps_.end()) {
        numbers[i] = std::numeric_limits<T>::quiet_NaN();
      } else if (integers && std::abs(numbers[i]) >= 0x1p53) {
        return false;
      }
    }
    return true;
  };
  return gaps_type_ == H5T_NATIVE_FLOAT ? mark(reinterpret_cast<float*>(values))
                                        : mark(reinterpret_cast<double*>(values));
}

// The values lie in this file, and take nothing but the library to read: a file names no other, and no code.
void Hdf5Dataset::check_storage() const {
  const auto refuse = [&](const std::string& what) {
    fail(what + "; a copy by h5py holds the values themselves: copy['x'] = file['x'][()]");
  };
  const Hdf5Handle how(H5Dget_create_plist(data_), H5Pclose);
  if (!how) fail("the HDF5 library cannot tell how the values are stored; the file is damaged");
  if (H5Pget_layout(how) == H5D_VIRTUAL) refuse("a virtual dataset has its values elsewhere; they are not read");
  if (H5Pget_external_count(how) != 0) refuse("the values lie in other files (external storage), which are not read");
  for (int i = 0; i < H5Pget_nfilters(how); ++i) {
    unsigned flags = 0;
    size_t count = 0;
    const auto at = static_cast<unsigned>(i);
    const H5Z_filter_t filter = H5Pget_filter2(how, at, &flags, &count, nullptr, 0, nullptr, nullptr);
    if (filter >= 0 && filter < H5Z_FILTER_RESERVED) continue;
    refuse(fmt::format("the values are packed by filter {}, which is not one of the HDF5 library's own", filter));
  }
}

StoredMatrix Hdf5Dataset::find_shape() const {
  const Hdf5Handle space(H5Dget_space(data_), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(space) : -1;
  if (rank < 1 || rank > 2) {
    fail(fmt::format("a dataset of {} dimensions was found; 2 are needed (rows, columns), or 1 for one column{}", rank,
                     rank > 2 ? ": (N, a, b) can be reshaped to (N, a*b)" : ""));
  }
  std::array<hsize_t, 2> shape = {0, 1};
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  const std::string type = type_ ? type_name(type_) : "";
  if (type.empty()) fail("the values are no plain numbers; float16, float32, float64, integers and bool can be read");
  size_t size = H5Tget_size(type_);
  // Deflate never packs more than 1032 bytes into one; whatever promises more holds nothing.
  constexpr size_t kLargestRatio = 1032;
  const bool overflow = __builtin_mul_overflow(size, shape[0], &size) || __builtin_mul_overflow(size, shape[1], &size);
  if (overflow || size / kLargestRatio > bytes_->bytes().size()) {
    fail(fmt::format("the dataset promises {} rows of {} columns, more than a file of {} bytes can hold", shape[0],
                     shape[1], bytes_->bytes().size()));
  }
  return StoredMatrix::dense(nullptr, static_cast<int64_t>(shape[0]), static_cast<int64_t>(shape[1]),
                             static_cast<int64_t>(H5Tget_size(type_)), type);
}

// Some megabytes of rows, in whole chunks, so that each is unpacked once.
int64_t Hdf5Dataset::rows_of_chunks(const StoredMatrix& matrix) const {
  constexpr int64_t kBytes = int64_t{4} << 20;
  std::array<hsize_t, 2> chunk = {1, 1};
  const Hdf5Handle how(H5Dget_create_plist(data_), H5Pclose);
  if (!how || H5Pget_chunk(how, 2, chunk.data()) < 1) chunk[0] = 1;
  const auto rows = static_cast<int64_t>(std::clamp<hsize_t>(chunk[0], 1, static_cast<hsize_t>(matrix.n)));
  return std::max<int64_t>(1, kBytes / matrix.row_step / rows) * rows;
}

bool Hdf5Dataset::read_rows(int64_t first, int64_t rows, int64_t columns, std::byte* to) const {
  const Hdf5Handle in_file(H5Dget_space(data_), H5Sclose);
  const std::array<hsize_t, 2> begin = {static_cast<hsize_t>(first), 0};
  const std::array<hsize_t, 2> count = {static_cast<hsize_t>(rows), static_cast<hsize_t>(columns)};
  const Hdf5Handle in_memory(H5Screate_simple(2, count.data(), nullptr), H5Sclose);
  return in_file && in_memory &&
         H5Sselect_hyperslab(in_file, H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr) >= 0 &&
         H5Dread(data_, gaps_.empty() ? static_cast<hid_t>(type_) : gaps_type_, in_memory, in_file, H5P_DEFAULT, to) >=
             0;
}

// Chunked or compressed: the library unpacks it; all rows only where their values decide the type.
Dataset Hdf5Dataset::read_packed(StoredMatrix matrix, ReadOptions options) const {
  const int64_t all = matrix.n;
  const bool is_typed = H5Tget_class(type_) != H5T_INTEGER || H5Tget_size(type_) < 4 || options.dtype || !gaps_.empty();
  if (is_typed) {
    matrix.first = options.part.begin(all);
    matrix.n = options.part.end(all) - matrix.first;
    options.part = {};
  }
  const RowStore store(matrix.n, matrix.row_step, DataType::kUInt8, where_, options.memory);
  auto* to = static_cast<std::byte*>(const_cast<void*>(store.view().data));
  const int64_t some = matrix.n > 0 ? rows_of_chunks(matrix) : 1;
  bool there = true;
  for (int64_t row = 0; row < matrix.n && there; row += some) {
    const int64_t count = std::min(some, matrix.n - row);
    std::byte* const rows = to + row * matrix.row_step;
    there = read_rows(matrix.first + row, count, matrix.d, rows);
    if (there && !gaps_.empty() && !mark_gaps(rows, count * matrix.d)) {
      fail("it has integers beyond 2^53 beside the numbers that stand for gaps (_FillValue); write them as float64");
    }
    store.give_back(row, row + count);
  }
  if (!there) {
    fail("the HDF5 library cannot read the values: the file is damaged, or packed by a filter that this library lacks");
  }
  matrix.data = to;
  Dataset result = read_stored(matrix, store.owner(), where_, options);
  result.file_rows = all;
  return result;
}

Dataset Hdf5Dataset::read(const ReadOptions& options) const {
  Dataset result = read_values(options);
  if (H5Aexists(data_, "MATLAB_class") > 0) {
    result.warnings.push_back(where_ +
                              " was written by MATLAB, which stores matrices transposed: its columns are the rows "
                              "here; if they should not be, store the transposed matrix");
  }
  return result;
}

Dataset Hdf5Dataset::read_values(const ReadOptions& options) const {
  StoredMatrix matrix = find_shape();
  if (!gaps_.empty()) {
    const bool narrow = gaps_type_ == H5T_NATIVE_FLOAT;
    matrix = StoredMatrix::dense(nullptr, matrix.n, matrix.d, narrow ? 4 : 8, narrow ? "<f4" : "<f8");
  }
  const size_t size = static_cast<size_t>(matrix.n) * static_cast<size_t>(matrix.row_step);
  if (size == 0) return read_stored(matrix, nullptr, where_, options);
  const haddr_t offset = H5Dget_offset(data_);  // of what lies in one piece
  const size_t there = bytes_->bytes().size();
  if (offset == HADDR_UNDEF || !gaps_.empty()) return read_packed(std::move(matrix), options);
  if (offset > there || size > there - offset) {
    fail(fmt::format("the values take {} bytes from byte {} on, the file has {}; it is cut off", size, offset, there));
  }
  matrix.data = bytes_->bytes().data() + offset;
  return read_stored(matrix, bytes_, where_, options);
}

Dataset read_hdf5(const std::string& path, const ReadOptions& options) {
  const Hdf5Session session;
  const MemberPath parts = split_member(path);
  return Hdf5Dataset(parts, MappedFile::open(parts.file, Access::kAgainAndAgain, options.memory)).read(options);
}

}  // namespace

Reader make_hdf5_reader() {
  return {"one dataset of a HDF5 file (.h5, .hdf5, FILE.h5:/GROUP/NAME)",
          {".h5", ".hdf5"},
          read_hdf5,
          /*has_members=*/true};
}

}  // namespace manymeans
