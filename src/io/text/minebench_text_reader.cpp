// The text files of NU-MineBench and other parallel k-means programs: a number of the row, then its coordinates.
#include "io/table/reader.h"

namespace manymeans {

Reader make_text_reader();

// Text with a first column that is no coordinate. Columns keep their numbers in the file: 1 is the row number.
Reader make_minebench_text_reader() {
  const auto coordinates = [](ReadOptions options) {
    const bool chosen = !options.columns.empty() || (options.like && options.like->source.count > 0);
    if (!chosen) options.columns = {"2-"};
    return options;
  };
  Reader reader = make_text_reader();
  reader.description = "NU-MineBench text: as text, but the first column numbers the rows and is left out";
  reader.endings = {};
  reader.read = [text = reader.read, coordinates](const std::string& path, const ReadOptions& options) {
    return text(path, coordinates(options));
  };
  reader.survey = [text = reader.survey, coordinates](const std::string& path, const ReadOptions& options) {
    return text(path, coordinates(options));
  };
  reader.read_raw = [text = reader.read_raw, coordinates](const std::string& path, const ReadOptions& options) {
    return text(path, coordinates(options));
  };
  return reader;
}

}  // namespace manymeans
