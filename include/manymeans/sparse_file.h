// Files of scipy.sparse.save_npz, as sparse points.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans {

/// Returns true if read_sparse_points() can read this path: a .npz file that holds a sparse matrix of SciPy, of any
/// format. A member of one (file.npz:data) is an array like any other.
bool is_sparse_file(const std::string& path, const ReadOptions& options = {});

/// Reads such a file; `view` is a SparseView (manymeans/sparse.h). Types float32 and float64 stay as stored. Narrow
/// types and integers that float32 holds become float32, others float64. `dtype`, or `like`, takes precedence. `part`
/// and `weights` (a file) are as in read_points(). Throws Error(kBadData) for what is damaged, or for columns that do
/// not ascend; Error(kUsage) for other formats than CSR, and for options that choose or change columns.
Dataset read_sparse_points(const std::string& path, const ReadOptions& options = {});

}  // namespace manymeans
