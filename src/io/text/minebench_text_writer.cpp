// The text files of NU-MineBench: the number of the row, from 1, then its coordinates, with blanks.
#include "io/text/text_rows.h"

namespace manymeans {
namespace {

class MineBenchTextWriter : public Writer {
 public:
  std::string_view description() const override { return "NU-MineBench text: the number of the row, then its values"; }
  std::vector<std::string_view> endings() const override { return {}; }
  void write(const Table& table, OutputFile& file) const override { write_text_rows(table, ' ', true, file); }
};

}  // namespace

std::unique_ptr<Writer> make_minebench_text_writer() {
  return std::make_unique<MineBenchTextWriter>();
}

}  // namespace manymeans
