// The text files of NU-MineBench and other parallel k-means programs: a number of the row, then its coordinates.
#include "io/table/reader.h"

namespace manymeans {

std::unique_ptr<Reader> make_text_reader();

namespace {

// Text of which the first column is no coordinate. Columns keep their numbers in the file: 1 is that of the row.
class MineBenchTextReader : public Reader {
 public:
  std::string_view description() const override {
    return "NU-MineBench text: as text, but the first column numbers the rows and is left out";
  }
  std::vector<std::string_view> endings() const override { return {}; }
  Dataset read(const std::string& path, const ReadOptions& options) const override {
    return make_text_reader()->read(path, coordinates(options));
  }
  TableSummary survey(const std::string& path, const ReadOptions& options) const override {
    return make_text_reader()->survey(path, coordinates(options));
  }

 private:
  static ReadOptions coordinates(ReadOptions options) {
    const bool chosen = !options.columns.empty() || (options.like && options.like->source.count > 0);
    if (!chosen) options.columns = {"2-"};
    return options;
  }
};

}  // namespace

std::unique_ptr<Reader> make_minebench_text_reader() {
  return std::make_unique<MineBenchTextReader>();
}

}  // namespace manymeans
