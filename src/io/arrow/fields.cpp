#include "io/arrow/fields.h"

#include "io/arrow/field_numbers.h"
#include "io/table/text_fields.h"

#include <string_view>

namespace manymeans {
namespace {

constexpr std::string_view kStream = "\xff\xff\xff\xff";

}  // namespace

void check_beginning(const MappedFile& file, FieldsFormat format, const std::string& path) {
  const std::string_view text = file.text();
  const auto fail = [&](const char* what) { throw Error(ErrorCode::kBadData, path, what); };
  if (format == FieldsFormat::kParquet) {
    if (text.starts_with("PAR1")) return;
    fail(text.starts_with("PARE") ? "this Parquet file is encrypted; write it again without"
                                  : "this is not a Parquet file: it does not begin with PAR1");
  }
  if (text.starts_with("ARROW1") || text.starts_with(kStream)) return;
  fail(text.starts_with("FEA1")
           ? "this is a Feather file of version 1, as pyarrow before 1.0 wrote it; write it again as version 2"
           : "this is not an Arrow or Feather file: it begins neither with ARROW1 nor like an Arrow stream");
}

bool is_arrow_stream(const MappedFile& file) {
  return file.text().starts_with(kStream);
}

void fail_fields(const std::string& path, const std::string& message) {
  std::string line = message.substr(0, message.find('\n'));
  while (line.ends_with('.')) line.pop_back();
  throw Error(ErrorCode::kBadData, path,
              "the Arrow library cannot read this file: " + line +
                  "; it is cut off or damaged, or holds what the library was built without");
}

void copy_digits(const std::string& digits, int64_t i, const FieldRun& run) {
  double& value = run.to[i * run.step];
  (void)parse_number(digits, value);
  if (run.target->float32 != nullptr) run.target->float32->add(run.column_of(i), value, decimals_of(digits));
}

}  // namespace manymeans
