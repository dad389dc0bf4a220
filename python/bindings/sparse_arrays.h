// Sparse matrices of SciPy, read where they lie.
#pragma once

#include <manymeans/sparse.h>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

namespace manymeans::python {

/// Keeps a matrix in CSR alive. Python sees a shape, the type of the values, and the matrix.
class SparseArray {
 public:
  /// Throws Error(kBadData) for arrays of other types or sizes than a CSR matrix of float32 or float64 has.
  explicit SparseArray(const nanobind::object& matrix);
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;

  /// Valid as long as this is.
  PointsView view() const { return view_.points(); }
  const SparseView& sparse() const { return view_; }
  nanobind::object matrix() const { return matrix_; }

 private:
  using Array = nanobind::ndarray<nanobind::ro, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

  nanobind::object matrix_;
  Array values_, indices_;
  std::vector<int64_t> starts_;
  SparseView view_;
};

void add_sparse_arrays(nanobind::module_& module);

}  // namespace manymeans::python
