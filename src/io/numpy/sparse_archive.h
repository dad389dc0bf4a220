// Archives of scipy.sparse.save_npz among all archives.
#pragma once

#include "io/files/zip_archive.h"

namespace manymeans {

/// Returns true if this archive holds a sparse matrix of SciPy.
bool is_sparse_archive(const ZipReader& zip);

}  // namespace manymeans
