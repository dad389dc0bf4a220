// Points with mostly zero values. Only the other values of each row are stored (CSR, as SciPy calls it).
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <string_view>

namespace manymeans {

/// The value of PointsView::place.space for points that are a SparseView.
inline constexpr std::string_view kSparseSpace = "csr";

/// A view of N x D values. Row i has values[starts[i]] to values[starts[i + 1] - 1]. `indices` holds their columns in
/// the same places: counted from 0, ascending, none twice. All others are zero. The memory belongs to the caller and
/// must stay unchanged while a function of the library reads it.
///
/// Sparse points mean the dense points of the same values. All results have the same bits.
struct SparseView {
  const void* values = nullptr;        ///< of `type`
  const void* indices = nullptr;       ///< int32, or int64 where `wide_indices` says so
  const int64_t* starts = nullptr;     ///< N + 1
  int64_t entries = 0;                 ///< how many values and indices there are
  int64_t n = 0;                       ///< rows
  int64_t d = 0;                       ///< columns
  DataType type = DataType::kFloat32;  ///< float32 or float64
  bool wide_indices = false;

  /// These points for any function that takes points; this view must outlive what is returned. The backends cpu ("auto"
  /// is that one for them) and reference read them; scaling of columns and linear models would fill in the zeros, and
  /// refuse them. Error(kBadData) names the row where starts or indices are not as they have to be.
  PointsView points() const {
    PointsView view(this, n, d, type);
    view.place.space = kSparseSpace;
    return view;
  }
};

/// Returns the values of the points with each row scaled to length one, as a fit with Metric::kCosine uses them. The
/// result is a matrix of one row, which replaces `values` and keeps `indices` and `starts`. Throws Error(kBadData)
/// naming the first row that is all zeros, or a value that is not finite.
Matrix values_of_length_one(const SparseView& points, int threads = 0);

}  // namespace manymeans
