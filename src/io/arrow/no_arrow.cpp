// Replaces the readers and writers of Parquet and Arrow files in the Python module, which can use pyarrow.
#include "io/arrow/arrow_append.h"
#include "io/table/missing_formats.h"

namespace manymeans {
namespace {

// Not every system has a package of Arrow C++, Debian 12 for one; Python's pyarrow is everywhere, and brings it.
constexpr const char* kAdvice =
    "in Python manymeans.read and manymeans.fit take them where pyarrow is installed; for this program use .npy or "
    ".csv "
    "(pandas converts: read_parquet or read_feather, then to_csv), or build manymeans again with Arrow C++ (./dev "
    "build "
    "--arrow, or CMake's -DMANYMEANS_ARROW_PYTHON=python3, takes that of a Python that has pyarrow)";

MissingFormat parquet() {
  return {"Parquet (.parquet): not built in; build again with Arrow C++, or with a Python that has pyarrow",
          {".parquet"},
          kAdvice};
}
MissingFormat arrow() {
  return {
      "Arrow and Feather (.arrow, .feather): not built in; build again with Arrow C++, or with a Python that has "
      "pyarrow",
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
bool append_to_fields(const RowsWithMore& rows, const std::string&, OutputFile&) {
  throw Error(ErrorCode::kUnavailable, rows.path, std::string("its fields cannot be written again; ") + kAdvice);
}

}  // namespace manymeans
