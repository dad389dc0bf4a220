#include "output/output_files.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace manymeans::cli {
namespace {
// Tables go to pipes as csv.
bool is_table(const OutputFile& output) {
  return std::ranges::find(output.endings, ".csv") != output.endings.end();
}

// A descriptor may belong to a file, but it has no ending.
bool is_pipe_or_device(const std::string& path) {
  std::error_code ignored;
  const auto type = std::filesystem::status(path, ignored).type();
  using Type = std::filesystem::file_type;
  const bool descriptor = path.starts_with("/dev/") || path.starts_with("/proc/self/fd/");
  return descriptor || type == Type::fifo || type == Type::character || type == Type::socket;
}

void check_ending(const OutputFile& output) {
  if (output.endings.empty() || (is_table(output) && is_pipe_or_device(output.path))) return;
  for (const std::string& ending : output.endings) {
    if (output.path.size() > ending.size() && output.path.ends_with(ending)) return;
  }
  const auto last = output.endings.end() - 1;
  const bool several = output.endings.size() > 1;
  throw Error(ErrorCode::kUsage, output.flag,
              fmt::format("must name a file that ends in {}{}{}, found '{}'",
                          fmt::join(output.endings.begin(), last, ", "), several ? " or " : "", *last, output.path));
}

}  // namespace

void check_files(const CommandFiles& files) {
  std::vector<NamedFile> outputs, inputs;
  // Only a file can be overwritten: on a terminal or in a pipe, one text follows the other.
  std::error_code ignored;
  if (files.prints && std::filesystem::is_regular_file("/dev/stdout", ignored)) {
    outputs.push_back({"standard output", "/dev/stdout"});
  }
  for (const OutputFile& output : files.outputs) {
    if (output.path.empty()) continue;
    check_ending(output);
    outputs.push_back({output.flag, output.path});
  }
  for (const std::string& input : files.inputs) {
    if (input == "-") {
      inputs.push_back({"standard input", "/dev/stdin"});
    } else if (!input.empty()) {
      inputs.push_back({input, points_file(input)});
    }
  }
  check_file_names(outputs, inputs);
  for (const OutputFile& output : files.outputs) {
    if (output.path.empty()) continue;
    // Labels and what else a row has. The build decides if Parquet can be written.
    const bool result = std::ranges::find(output.endings, ".npy") != output.endings.end();
    result ? check_table_path(output.path) : check_writable(output.path);
  }
}

void write_outputs(const std::vector<OutputJob>& jobs, const OutputReport& report, bool together) {
  std::vector<std::string> written;
  std::vector<std::string> failed;
  std::optional<Error> first;
  const auto attempt = [&](const std::string& what, const std::function<void()>& write) {
    if (first && together) {
      failed.push_back(what);
      return;
    }
    try {
      write();
      written.push_back(what);
    } catch (const Error& error) {
      if (!first) first = error;
      failed.push_back(what);
    }
  };
  for (const OutputJob& job : jobs) attempt(job.what, job.write);
  if (report.print) attempt(report.what, [&] { report.print(written); });
  if (!first) return;
  throw Error(
      first->code(), "output",
      fmt::format("{} (written: {}; not written: {})", first->what(),
                  written.empty() ? "nothing" : fmt::format("{}", fmt::join(written, ", ")), fmt::join(failed, ", ")));
}

std::string lines_of(const std::vector<std::string>& written) {
  std::string lines;
  for (const std::string& path : written) lines += fmt::format("wrote {}\n", path);
  return lines;
}

}  // namespace manymeans::cli
