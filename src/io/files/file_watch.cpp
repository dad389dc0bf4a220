#include "io/files/file_watch.h"

#include <manymeans/io.h>

#include "core/mapped_range.h"

#include <utility>

namespace manymeans {
namespace {
thread_local FileWatch* innermost = nullptr;
}

FileWatch::FileWatch() : outer_(innermost) {
  innermost = this;
}

FileWatch::~FileWatch() {
  innermost = outer_;
}

void FileWatch::add(std::shared_ptr<const MappedRange> file) {
  if (innermost != nullptr) innermost->files_.push_back(std::move(file));
}

void FileWatch::check() const {
  for (const auto& file : files_) file->check();
}

void guard_mapped_files() {
  replace_lost_pages();
}

}  // namespace manymeans
