// A .npz archive of one array, "points", stored as it is, so that it can be mapped.
#include "io/files/zip_archive.h"
#include "io/numpy/npy_table.h"

namespace manymeans {
namespace {

void write_npz(const Table& table, OutputFile& file) {
  ZipWriter zip(file);
  const size_t size = static_cast<size_t>(table.rows) * table.row_size();
  zip.add("points.npy", npy_header_of(table), size, [&](const ZipWriter::Sink& sink) {
    for_each_block(table, [&](int64_t, int64_t, std::span<const std::byte> cells) { sink(cells); });
  });
  zip.finish();
}

}  // namespace

Writer make_npz_writer() {
  return {"NumPy archive of one array, 'points' (.npz)", {".npz"}, write_npz};
}

}  // namespace manymeans
