// In place of hdf5_reader.cpp and hdf5_writer.cpp where CMake has not found the HDF5 library.
#include "io/table/missing_formats.h"

namespace manymeans {
namespace {

MissingFormat hdf5() {
  return {"HDF5 (.h5, .hdf5): not built in; install libhdf5-dev and build again",
          {".h5", ".hdf5"},
          "install libhdf5-dev and build manymeans again, or use .npy"};
}

}  // namespace

Reader make_hdf5_reader() {
  return missing_reader(hdf5());
}
Writer make_hdf5_writer() {
  return missing_writer(hdf5());
}

}  // namespace manymeans
