// Readers of files that are one matrix of plain numbers: all they have to say is where the numbers lie.
#pragma once

#include "io/files/mapped_file.h"
#include "io/table/reader.h"
#include "io/table/stored_matrix.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace manymeans {

/// Such a format, or one of a family of them.
struct MappedFormat {
  std::string_view ending;
  std::string description;
  std::string_view type = {};  ///< of the values, as in StoredMatrix; empty where the file says it
  size_t item_size = 0;        ///< of one value, in bytes
};

/// find(bytes, format, path) says where the numbers lie in these bytes. It throws Error(kBadData) naming the path where
/// they are not all there.
template <class Find>
Reader mapped_reader(const MappedFormat& format, Find find) {
  return {format.description, {format.ending}, [format, find](const std::string& path, const ReadOptions& options) {
            const auto file = MappedFile::open(path, Access::kAgainAndAgain, options.memory);
            return read_stored(find(file->bytes(), format, path), file, path, options);
          }};
}

}  // namespace manymeans
