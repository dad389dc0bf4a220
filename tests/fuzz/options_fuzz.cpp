// Any words as the flags of a fit: options that pass the check, or a message.
#include <manymeans/manymeans.h>

#include "flags/fit_flags.h"
#include "flags/read_flags.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace manymeans;
  std::vector<std::string> words = {"fit", ""};  // the command, then a word a line
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(data[i]);
    }
  }
  FitOptions options;
  ReadOptions reading;
  cli::Program program("manymeans", "", "");
  const cli::Command app = program.add_command("fit", "");
  cli::bind_fit_flags(app, options);
  cli::bind_read_flags(app, reading);
  try {
    if (program.parse(words)) return 0;  // a message of the flag parser
    check(options);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}
