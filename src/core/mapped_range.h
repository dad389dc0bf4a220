// Memory that is a file: noticing that the file shrank, changed or could not be read while it was in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

namespace manymeans {

/// A part of a file, mapped for reading. check_mapped() knows its addresses while this object lives.
class MappedRange {
 public:
  /// [data, data + size) maps the open file `file` from its beginning; the file may be closed.
  /// Throws Error(kUnavailable) when the process has too many open files.
  MappedRange(const void* data, size_t size, int file, std::string path);
  /// A file that is not open in this process: check() knows of lost pages alone.
  MappedRange(const void* data, size_t size, std::string name);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  /// To be called before the memory is unmapped; check() still works afterwards.
  void unmap();

  /// Throws Error(kBadData) if a read got zeros for missing bytes (see replace_lost_pages). Throws it also if the file
  /// is shorter or was written to since. A few system calls.
  void check() const;

  struct Slot;

 private:
  std::string path_;
  int file_ = -1;
  size_t size_;
  timespec written_{};  // the file's last change, when this object was made
  Slot* slot_;
};

/// Calls check() of the range that holds this address, if there is one.
void check_mapped(const void* address);

/// Handles SIGBUS from now on: reading a page of a MappedRange whose file has lost it gives zeros, and check() throws.
/// Any other SIGBUS goes to the handler that was there before. Only the first call does anything.
void replace_lost_pages();

/// Replace lost pages between these two calls, which are counted. The last end restores the previous handler.
void begin_replacing_lost_pages();
void end_replacing_lost_pages() noexcept;
/// How often that has happened so far.
int64_t lost_pages() noexcept;

/// Where replace_lost_pages() was called: handles SIGBUS again, after a library that may have put a handler of its own
/// there. LLVM does, in drivers that compile: its handler goes away with the first signal, and a second thread's ends
/// the program.
void go_on_replacing_lost_pages();

}  // namespace manymeans
