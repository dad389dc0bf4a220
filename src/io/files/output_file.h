// Output files that appear whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace manymeans {

class FileLock;

/// Writes next to the target and puts the file in its place on commit(). Until then, and for ever if something fails,
/// the path keeps its old content. The system follows symbolic links. A file of this user keeps its permissions, but no
/// set-user-id bits; one of another user gets the usual ones. Devices and pipes (/dev/null) cannot be replaced and are
/// written directly, and so is any file that is open already (/dev/stdout, /dev/fd/3). A pipe is opened once, here,
/// which waits for its reader. A reader that leaves is an error like any other, and no signal. Every failure is an
/// Error(kUnavailable) that names the path and the reason.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();  ///< without commit(): removes what was written
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws as the constructor does, without opening what is written directly.
  static void check(const std::string& path);

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// `lock`, if there is one, has the file before it is in its place.
  void commit(FileLock* lock = nullptr);
  /// The name under which a library may write the whole file instead of write(); no pipe or device has one. From here
  /// on a killed program may leave that file behind.
  const std::string& name_beside() {
    if (nameless_) give_name();
    return beside_;
  }
  const std::string& path() const { return path_; }  ///< as the caller gave it
  /// Throws the Error about a path that could not be "written", with the reason of errno.
  [[noreturn]] void fail(const std::string& doing, int error) const;

 private:
  struct Place;
  void open_directly(int descriptor);
  void open_beside(mode_t mode);
  void give_name();
  std::string free_name(int number) const;
  void flush();
  void write_out(std::span<const std::byte> bytes);

  std::string path_;    // as the caller gave it, for messages
  std::string target_;  // with links followed; empty for what is written directly
  std::string beside_;  // empty for a device, and as long as the file has no name
  bool nameless_ = false;
  bool direct_ = false;  // no file of our own that replaces the target
  int file_ = -1;
  std::vector<std::byte> buffer_;
};

/// Returns true if the path cannot be replaced and is written directly: a device, a pipe, or a file that this process
/// has open already.
bool is_special_file(const std::string& path);

/// Throws Error(kUsage) for those, and Error(kUnavailable) for what cannot be written: a checkpoint replaces its file.
void check_replaceable(const std::string& path);

/// The file of a checkpoint, which one fit at a time has.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  void swap(FileLock& other) noexcept { std::swap(file_, other.file_); }

  /// Locks the file that is there now, if there is one, instead of another. Throws Error(kUsage) where a fit has it.
  void take(const std::string& path);
  /// Throws Error(kUsage) if a file is there that was not taken: another fit has put it there.
  void check(const std::string& path) const;

 private:
  [[noreturn]] void fail(const std::string& path) const;
  int file_ = -1;
};

}  // namespace manymeans
