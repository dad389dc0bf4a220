// Files that change while they are read.
#pragma once

#include <memory>
#include <vector>

namespace manymeans {

class MappedRange;

/// Remembers the files that this thread opens while the object lives: a reader that saw one half of a file before and
/// the other half after a change has read nothing that ever was.
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

}  // namespace manymeans
