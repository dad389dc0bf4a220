// Readers of files that are one matrix of plain numbers: all they have to say is where the numbers lie.
#pragma once

#include "io/files/mapped_file.h"
#include "io/table/reader.h"
#include "io/table/stored_matrix.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Such a format, or one of a family of them.
struct MappedFormat {
  std::string_view ending;
  std::string_view description;
  std::string_view type = {};  ///< of the values, as in StoredMatrix; empty where the file says it
  size_t item_size = 0;        ///< of one value, in bytes
};

class MappedReader : public Reader {
 public:
  /// Where the numbers lie in these bytes. Throws Error(kBadData) naming the path where they are not all there.
  using FindMatrix = StoredMatrix (*)(std::span<const std::byte> bytes, const MappedFormat& format,
                                      const std::string& path);
  MappedReader(const MappedFormat& format, FindMatrix find) : format_(format), find_(find) {}

  std::string_view description() const override { return format_.description; }
  std::vector<std::string_view> endings() const override { return {format_.ending}; }
  Dataset read(const std::string& path, const ReadOptions& options) const override {
    const auto file = MappedFile::open(path, Access::kAgainAndAgain);
    return read_stored(find_(file->bytes(), format_, path), file, path, options);
  }

 private:
  MappedFormat format_;
  FindMatrix find_;
};

}  // namespace manymeans
