// There is no reader of Parquet, Arrow and Feather yet: this says so, instead of taking them for text.
#include "io/missing_reader.h"

namespace manymeans {

std::unique_ptr<Reader> make_arrow_reader() {
  return std::make_unique<MissingReader>(
      "Parquet, Arrow and Feather: this version has no reader yet; write them as .npy or .csv",
      std::vector<std::string_view>{".parquet", ".arrow", ".feather"},
      "this version has no reader of Parquet, Arrow and Feather; write them as .npy or .csv first");
}

}  // namespace manymeans
