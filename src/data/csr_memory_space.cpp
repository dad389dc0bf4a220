// Sparse points as rows with their zeros, and one reading that scans their columns. A column that a row does not name
// has a zero there.
#include <manymeans/error.h>

#include "core/memory_space.h"
#include "core/sparse_rows.h"
#include "data/sparse_scan.h"

#include <algorithm>
#include <cstring>

namespace manymeans {
namespace {

// Row `row` with its zeros.
template <class T, class Index>
void fill_row(const SparseView& view, int64_t row, T* out) {
  std::fill_n(out, view.d, T{0});
  const SparseRow<T, Index> from = sparse_row<T, Index>(view, row);
  for (int64_t i = 0; i < from.count; ++i) out[from.columns[i]] = from.values[i];
}

class CsrMemorySpace final : public MemorySpace {
 public:
  std::string_view backend() const override { return "cpu"; }
  bool serves(std::string_view name) const override { return name == "cpu" || name == "reference"; }
  std::string_view whereabouts() const override { return "are sparse (CSR)"; }
  std::string_view advice() const override { return "fill in their zeros (SciPy: toarray())"; }
  int device_of(const void*) const override { return -1; }
  void await(const PointsView& points) const override { check_sparse(sparse_view(points)); }

  // Whole rows, but for one at the beginning and one at the end.
  void fetch_bytes(const PointsView& points, size_t first, size_t count, void* out) const override {
    const SparseView& view = sparse_view(points);
    const size_t size = static_cast<size_t>(view.d) * size_of(view.type);
    auto* to = static_cast<std::byte*>(out);
    std::vector<std::byte> part;
    for (size_t end = first + count; first < end;) {
      const size_t row = first / size, skipped = first % size;
      const size_t some = std::min(size - skipped, end - first);
      if (some == size) {
        fill(view, static_cast<int64_t>(row), to);
      } else {
        part.resize(size);
        fill(view, static_cast<int64_t>(row), part.data());
        std::memcpy(to, part.data() + skipped, some);
      }
      first += some;
      to += some;
    }
  }

  void fetch_rows(const PointsView& points, std::span<const int64_t> rows, void* out) const override {
    const SparseView& view = sparse_view(points);
    const size_t size = static_cast<size_t>(view.d) * size_of(view.type);
    auto* to = static_cast<std::byte*>(out);
    for (size_t i = 0; i < rows.size(); ++i) fill(view, rows[i], to + i * size);
  }

  DeviceScan scan_columns(const PointsView& points, std::span<const double> weights) const override {
    return scan_sparse_columns(sparse_view(points), weights);
  }
  std::vector<MomentSums> sum_moments(const PointsView& points, std::span<const MomentFormats> formats) const override {
    return sum_sparse_moments(sparse_view(points), formats);
  }

 private:
  static void fill(const SparseView& view, int64_t row, std::byte* out) {
    as_sparse_types(view,
                    [&]<class T, class Index>(T, Index) { fill_row<T, Index>(view, row, reinterpret_cast<T*>(out)); });
  }
};

}  // namespace

const MemorySpace& csr_memory_space() {
  static const auto& kSpace = *new CsrMemorySpace;  // never destroyed
  return kSpace;
}

}  // namespace manymeans
