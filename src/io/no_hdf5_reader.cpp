// In place of hdf5_reader.cpp where CMake has not found the HDF5 library.
#include "io/missing_reader.h"

namespace manymeans {

std::unique_ptr<Reader> make_hdf5_reader() {
  return std::make_unique<MissingReader>("HDF5 (.h5, .hdf5): not built in; install libhdf5-dev and build again",
                                         std::vector<std::string_view>{".h5", ".hdf5"},
                                         "install libhdf5-dev and build manymeans again, or write them as .npy");
}

}  // namespace manymeans
