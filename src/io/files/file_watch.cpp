#include "io/files/file_watch.h"

#include <manymeans/io.h>
#include <manymeans/mapped_files.h>

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

GuardedFiles::GuardedFiles() : lost_(lost_pages()) {
  begin_replacing_lost_pages();
}

void GuardedFiles::check() const {
  if (lost_pages() == lost_) return;
  throw Error(ErrorCode::kBadData, "points",
              "a mapped file was cut off while it was read, or its disk failed; leave files as they are until the end");
}

GuardedFiles::~GuardedFiles() {
  end_replacing_lost_pages();
}

ForeignMapping::ForeignMapping(const void* data, size_t bytes)
    : range_(std::make_unique<MappedRange>(data, bytes, "points")) {}

ForeignMapping::~ForeignMapping() = default;

void ForeignMapping::check() const {
  range_->check();
}

}  // namespace manymeans
