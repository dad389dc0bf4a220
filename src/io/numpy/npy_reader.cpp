// .npy files: in place where the values already are what the engine reads, else with one copy.
#include "io/numpy/npy_format.h"
#include "io/table/mapped_reader.h"

namespace manymeans {

Reader make_npy_reader() {
  return mapped_reader({".npy", "NumPy arrays (.npy), mapped into memory"},
                       [](std::span<const std::byte> bytes, const MappedFormat&, const std::string& path) {
                         return npy_matrix(bytes, path);
                       });
}

}  // namespace manymeans
