// Tables as text: a line of names, then a line for each row. Numbers read back as the same bits.
#include "io/text/text_rows.h"

namespace manymeans {
namespace {

void write_csv(const Table& table, OutputFile& file) {
  std::string header = table.ids.empty() ? "" : quoted(table.id_name);
  for (const std::string& name : table.names) header += (header.empty() ? "" : ",") + quoted(name);
  if (!header.empty()) file.write(header + '\n');
  write_text_rows(table, ',', false, file);
}

}  // namespace

Writer make_csv_writer() {
  return {"text with commas, and a line of names if there are any (.csv)", {".csv"}, write_csv};
}

}  // namespace manymeans
