// A file whose beginning somebody has looked into before its reader opens it.
#pragma once

#include <memory>
#include <string>

namespace manymeans {

class MappedFile;

/// A file that was opened to look into it. While the object lives, the next MappedFile::open() of this path by this
/// thread gives it again, since what was read from a pipe is gone.
class PeekedFile {
 public:
  PeekedFile(std::string path, std::shared_ptr<const MappedFile> file);
  ~PeekedFile();
  PeekedFile(const PeekedFile&) = delete;
  PeekedFile& operator=(const PeekedFile&) = delete;

  /// The file that the innermost object of this thread holds for the path, once; null where it holds none.
  static std::shared_ptr<const MappedFile> take(const std::string& path);

 private:
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  PeekedFile* outer_;
};

}  // namespace manymeans
