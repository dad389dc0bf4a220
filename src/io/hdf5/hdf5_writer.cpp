// One dataset, "points", of N x D values in one piece, so that readers can map it.
#include <manymeans/error.h>

#include "io/hdf5/hdf5_library.h"
#include "io/table/writer.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <string>

namespace manymeans {
namespace {

// As h5py and others write it: 1 bit of sign, 5 of exponent, 10 of mantissa.
hid_t make_half() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

hid_t make_type(CellType type) {
  switch (type) {
    case CellType::kUInt8: return H5Tcopy(H5T_STD_U8LE);
    case CellType::kUInt16: return H5Tcopy(H5T_STD_U16LE);
    case CellType::kUInt32: return H5Tcopy(H5T_STD_U32LE);
    case CellType::kFloat64: return H5Tcopy(H5T_IEEE_F64LE);
    case CellType::kFloat16: return make_half();
    case CellType::kInt8: return H5Tcopy(H5T_STD_I8LE);
    case CellType::kInt32: return H5Tcopy(H5T_STD_I32LE);
    case CellType::kFloat32:
    case CellType::kBFloat16: break;  // widened, see stored_type()
  }
  return H5Tcopy(H5T_IEEE_F32LE);
}

// The library keeps the system's reason in the text of its deepest message: "..., errno = 28, ...".
herr_t find_errno(unsigned, const H5E_error2_t* message, void* found) {
  constexpr std::string_view kMark = "errno = ";
  const std::string_view text = message->desc == nullptr ? "" : message->desc;
  const size_t at = text.find(kMark);
  if (at == std::string_view::npos) return 0;
  std::from_chars(text.data() + at + kMark.size(), text.data() + text.size(), *static_cast<int*>(found));
  return 0;
}

// After a call that failed.
[[noreturn]] void fail(const OutputFile& file) {
  int error = EIO;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, find_errno, &error);
  file.fail("written by the HDF5 library", error);
}

void write_rows(const Table& table, const OutputFile& file, hid_t data, hid_t type, hid_t space) {
  for_each_block(table, [&](int64_t first, int64_t count, std::span<const std::byte> cells) {
    const std::array<hsize_t, 2> start = {static_cast<hsize_t>(first), 0};
    const std::array<hsize_t, 2> size = {static_cast<hsize_t>(count), static_cast<hsize_t>(table.columns)};
    const Hdf5Handle block(H5Screate_simple(2, size.data(), nullptr), H5Sclose);
    const bool done = block &&
                      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) >= 0 &&
                      H5Dwrite(data, type, block, space, H5P_DEFAULT, cells.data()) >= 0;
    if (!done) fail(file);
  });
}

void write_hdf5(const Table& table, OutputFile& file) {
  const Hdf5Session session;
  const std::array<hsize_t, 2> shape = {static_cast<hsize_t>(table.rows), static_cast<hsize_t>(table.columns)};
  Hdf5Handle out(H5Fcreate(file.name_beside().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!out) fail(file);
  const Hdf5Handle type(make_type(table.type), H5Tclose);
  const Hdf5Handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
  const Hdf5Handle timeless(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!timeless || H5Pset_obj_track_times(timeless, false) < 0) fail(file);  // equal points are equal bytes
  Hdf5Handle data(H5Dcreate2(out, "points", type, space, H5P_DEFAULT, timeless, H5P_DEFAULT), H5Dclose);
  if (!type || !space || !data) fail(file);
  write_rows(table, file, data, type, space);
  // Closing writes the bytes that the library has kept back.
  if (!data.close() || !out.close()) fail(file);
}

}  // namespace

Writer make_hdf5_writer() {
  return {"HDF5 file of one dataset, /points (.h5, .hdf5)",
          {".h5", ".hdf5"},
          write_hdf5,
          without_bfloat16,
          /*needs_name=*/true};
}

}  // namespace manymeans
