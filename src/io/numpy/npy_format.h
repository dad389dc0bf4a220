// The .npy format, versions 1 to 3: header in, header out.
#pragma once

#include "io/table/stored_matrix.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// The content of a .npy header. The values follow at `offset` and fill the rest of the file exactly.
struct NpyHeader {
  char byte_order = '|';  ///< '<', '>' or '|'
  char kind = 0;          ///< f, i, u, b, V, U, ...
  size_t item_size = 0;   ///< bytes of one value
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t offset = 0;
  size_t count = 1;  ///< values: the product of the shape

  std::string descr() const;
  bool is(std::string_view type) const { return descr() == type; }
};

/// Reads a header and checks it against the size of the file. `where` is named in errors (kBadData).
NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& where);

/// The matrix of a whole .npy file; a vector is one column. Throws Error(kBadData) naming `where`.
StoredMatrix npy_matrix(std::span<const std::byte> file, const std::string& where);

/// Returns true if these bytes begin like a .npy file.
bool is_npy(std::string_view bytes);

/// Magic, version and header, padded so that the values start at a multiple of 64 bytes.
std::string make_npy_header(std::string_view descr, std::span<const int64_t> shape);

}  // namespace manymeans
