// Opening files that a user has named. Only these functions do it, so every reader gets a kind of file that it expects.
// A pipe waits for a writer; a device may act when it is opened, or never end.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace manymeans {

/// The kinds of file that a path may name.
enum class FileKind {
  kRegular,        ///< a file whose size is known and that can be opened again
  kRegularOrPipe,  ///< that, or something to be read once, from its beginning to its end
};

/// Throws Error(kUsage) for a path that the system would cut short: one that holds a zero byte.
void check_path(const std::string& path);

/// Throws Error(kBadData) unless there is a file of this kind. Opens nothing.
void check_kind(const std::string& path, FileKind kind);

/// An open file; closed on every way out.
class InputFile {
 public:
  /// Throws Error(kBadData) that names the path: missing, a folder, a device, another kind, not readable.
  InputFile(const std::string& path, FileKind kind);
  struct StandardInput {};
  InputFile(StandardInput, const std::string& name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return file_; }
  /// Reads up to `size` bytes into `to`; fewer only at the end. Throws Error(kBadData).
  size_t read(char* to, size_t size) const;

 private:
  InputFile(int file, std::string path) : path_(std::move(path)), file_(file) {}
  void check_open(FileKind kind) const;

  std::string path_;
  int file_;
};

}  // namespace manymeans
