// In place of the readers and writers of Parquet and Arrow files where CMake has not found Arrow C++.
#include "io/table/missing_formats.h"

namespace manymeans {
namespace {

constexpr const char* kAdvice =
    "build manymeans again with Arrow C++ (libarrow-dev and libparquet-dev, or -DMANYMEANS_ARROW_PYTHON=python3 for "
    "one "
    "that has pyarrow), or use .npy or .csv";

MissingFormat parquet() {
  return {"Parquet (.parquet): not built in; build again with Arrow C++ (libparquet-dev, or pyarrow)",
          {".parquet"},
          kAdvice};
}
MissingFormat arrow() {
  return {"Arrow and Feather (.arrow, .feather): not built in; build again with Arrow C++ (libarrow-dev, or pyarrow)",
          {".arrow", ".feather"},
          kAdvice};
}

}  // namespace

Reader make_parquet_reader() {
  return missing_reader(parquet());
}
Reader make_arrow_reader() {
  return missing_reader(arrow());
}
Writer make_parquet_writer() {
  return missing_writer(parquet());
}
Writer make_arrow_writer() {
  return missing_writer(arrow());
}

}  // namespace manymeans
