// .npy files: in place where the values already are what the engine reads, else with one copy.
#include "io/mapped_file.h"
#include "io/npy_format.h"
#include "io/reader.h"

namespace manymeans {
namespace {

class NpyReader : public Reader {
 public:
  std::string_view description() const override { return "NumPy arrays (.npy), mapped into memory"; }
  std::vector<std::string_view> endings() const override { return {".npy"}; }
  Dataset read(const std::string& path, const ReadOptions& options) const override {
    const auto file = MappedFile::open(path, Access::kAgainAndAgain);
    return read_stored(npy_matrix(file->bytes(), path), file, path, options);
  }
};

}  // namespace

std::unique_ptr<Reader> make_npy_reader() {
  return std::make_unique<NpyReader>();
}

}  // namespace manymeans
