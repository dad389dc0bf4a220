// Files that change while they are read.
#pragma once

#include <manymeans/error.h>

#include "core/out_of_memory.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {

class MappedRange;

/// Remembers the files that this thread opens while the object lives. A reader may see one half before a change and one
/// half after it: such a content never was.
class FileWatch {
 public:
  FileWatch();
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Throws Error(kBadData) for the first file that was cut off or written to since it was opened.
  void check() const;
  static void add(std::shared_ptr<const MappedRange> file);

 private:
  std::vector<std::shared_ptr<const MappedRange>> files_;
  FileWatch* outer_;
};

/// What `load` reads. A file that changed meanwhile is the reason of whatever else it complains about.
template <class Load>
auto read_unchanged(Load&& load) {
  const FileWatch watch;
  try {
    auto result = std::forward<Load>(load)();
    watch.check();
    return result;
  } catch (const Error&) {
    watch.check();
    throw;
  }
}

/// Loads a whole file in this way: throws Error(kUnavailable) if there is not enough memory.
template <class Load>
auto load_unchanged(const std::string& path, Load&& load) {
  return or_unavailable([&] { return path; }, [] { return "there is not enough memory to read this file"; },
                        [&] { return read_unchanged(std::forward<Load>(load)); });
}

}  // namespace manymeans
