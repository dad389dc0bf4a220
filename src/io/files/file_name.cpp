#include "io/files/file_name.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "core/open_file.h"
#include "core/os/unnamed_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace manymeans {
namespace {
namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as many as the system follows

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The number of this process's open file that the path names, through these folders and not further.
std::optional<int> descriptor_named(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  std::error_code ignored;
  const fs::path folder = fs::canonical(folder_of(path), ignored);
  if (folder.empty()) return std::nullopt;
  for (const char* own : kDescriptorFolders) {
    if (folder == fs::canonical(own, ignored)) return number;
  }
  return std::nullopt;
}

}  // namespace

WriteTarget find_target(const std::string& path) {
  check_path(path);
  fs::path at = path;
  std::error_code ignored;
  for (int links = 0; links < kMaxLinks; ++links) {
    if (const auto number = descriptor_named(at)) return {at.string(), *number};
    if (!fs::is_symlink(at, ignored)) break;
    const fs::path to = fs::read_symlink(at, ignored);
    if (ignored) break;
    at = to.is_absolute() ? to : folder_of(at) / to;
  }
  return {at.string(), -1};
}

FileIdentity::FileIdentity(const std::string& path) {
  check_path(path);
  if (take(path)) return;
  mode_ = 0;
  // No file: it would be made where the links lead, in the lowest folder that is there.
  fs::path at = find_target(path).path;
  fs::path below;
  while (!at.empty() && !take(at.string())) {
    below = at.has_filename() ? (below.empty() ? at.filename() : at.filename() / below) : below;
    const fs::path up = at.has_parent_path() ? at.parent_path() : fs::path();
    if (up == at) break;
    at = up;
  }
  if (at.empty()) take(".");
  mode_ = 0;
  rest_ = below.lexically_normal().string();
}

bool FileIdentity::take(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  device_ = status.st_dev;
  number_ = status.st_ino;
  mode_ = status.st_mode;
  return true;
}

bool FileIdentity::holds_one_stream() const {
  return !S_ISCHR(mode_) && !S_ISSOCK(mode_);
}

bool same_file(const std::string& a, const std::string& b) {
  return FileIdentity(a) == FileIdentity(b);
}

void check_file_names(std::span<const NamedFile> outputs, std::span<const NamedFile> inputs) {
  // Once for each file: there may be thousands.
  const auto identities = [](std::span<const NamedFile> files) {
    std::vector<std::optional<FileIdentity>> all;
    for (const NamedFile& file : files) {
      all.push_back(file.path.empty() ? std::nullopt : std::make_optional<FileIdentity>(file.path));
    }
    return all;
  };
  const auto clash = [](const std::optional<FileIdentity>& a, const std::optional<FileIdentity>& b) {
    return a && b && a->holds_one_stream() && *a == *b;
  };
  const auto its = identities(outputs), of_inputs = identities(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile& output = outputs[i];
    for (size_t j = 0; j < i; ++j) {
      const NamedFile& other = outputs[j];
      if (!clash(its[i], its[j])) continue;
      throw Error(ErrorCode::kUsage, output.name,
                  fmt::format("names the same file as {}, '{}'; give each its own", other.name, output.path));
    }
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (!clash(its[i], of_inputs[j])) continue;
      throw Error(ErrorCode::kUsage, output.name,
                  fmt::format("would overwrite the input '{}'; give another name", inputs[j].name));
    }
  }
}

}  // namespace manymeans
