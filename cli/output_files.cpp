#include "output_files.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace manymeans::cli {
namespace {
namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  return fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

// Tables go to pipes as csv.
bool is_table(const OutputFile& output) {
  return std::ranges::find(output.endings, ".csv") != output.endings.end();
}

// A descriptor may be that of a file: it has no ending all the same.
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
  throw Error(
      ErrorCode::kUsage, output.flag,
      fmt::format("must name a file that ends in {}, found '{}'", fmt::join(output.endings, " or "), output.path));
}

}  // namespace

void check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    check_ending(*output);
    for (auto other = outputs.begin(); other != output; ++other) {
      if (other->path.empty() || !same_file(output->path, other->path)) continue;
      throw Error(ErrorCode::kUsage, output->flag,
                  fmt::format("names the same file as {}, '{}'; give each its own", other->flag, output->path));
    }
    for (const std::string& input : inputs) {
      if (!same_file(output->path, points_file(input))) continue;
      throw Error(ErrorCode::kUsage, output->flag,
                  fmt::format("would overwrite the input '{}'; give another name", input));
    }
  }
  for (const OutputFile& output : outputs) {
    if (!output.path.empty()) check_writable(output.path);
  }
}

void write_outputs(const std::vector<OutputJob>& jobs) {
  std::vector<std::string> written;
  std::vector<std::string> failed;
  std::optional<Error> first;
  for (const OutputJob& job : jobs) {
    try {
      job.write();
      written.push_back(job.what);
    } catch (const Error& error) {
      if (!first) first = error;
      failed.push_back(job.what);
    }
  }
  if (!first) return;
  throw Error(
      first->code(), "output",
      fmt::format("{} (written: {}; not written: {})", first->what(),
                  written.empty() ? "nothing" : fmt::format("{}", fmt::join(written, ", ")), fmt::join(failed, ", ")));
}

}  // namespace manymeans::cli
