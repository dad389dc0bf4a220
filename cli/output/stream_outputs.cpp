#include "output/stream_outputs.h"

#include <manymeans/error.h>

#include "streams/standard_streams.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace manymeans::cli {
namespace {

constexpr const char* kStandardOutput = "/dev/stdout";

bool is_standard_output(std::string_view path) {
  constexpr std::array<std::string_view, 4> kNames = {"-", kStandardOutput, "/dev/fd/1", "/proc/self/fd/1"};
  return std::ranges::find(kNames, path) != kNames.end();
}

}  // namespace

bool use_standard_output(const std::vector<StreamOutput>& outputs, bool json) {
  std::string taken = json ? "--json" : "";
  bool any = false;
  for (const StreamOutput& output : outputs) {
    if (!is_standard_output(*output.path)) continue;
    if (!taken.empty()) {
      throw Error(ErrorCode::kUsage, output.flag,
                  "goes to standard output, and so does " + taken + "; give one of them a file");
    }
    taken = output.flag;
    *output.path = kStandardOutput;
    any = true;
  }
  return any;
}

void print_beside(bool taken, const std::string& text) {
  if (taken) {
    print_error_stream(text);
  } else {
    print(text);
  }
}

}  // namespace manymeans::cli
