// Tables as .npy: one column as a vector, several as a matrix.
#include "io/numpy/npy_table.h"

namespace manymeans {

Writer make_npy_writer() {
  return {"NumPy array (.npy)", {".npy"}, [](const Table& table, OutputFile& file) {
            file.write(npy_header_of(table));
            write_cells(table, file);
          }};
}

}  // namespace manymeans
