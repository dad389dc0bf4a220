// What stands in for readers and writers that this build does not have: they claim the endings, so that the message is
// the right one.
#pragma once

#include <manymeans/error.h>

#include "io/table/reader.h"
#include "io/table/writer.h"

#include <string>
#include <utility>

namespace manymeans {

/// A format whose library was not there when this program was built.
struct MissingFormat {
  std::string description;
  std::vector<std::string_view> endings;
  std::string advice;  ///< ends the sentence "this build of manymeans cannot read such files; ..."
};

class MissingReader : public Reader {
 public:
  explicit MissingReader(MissingFormat format) : format_(std::move(format)) {}
  std::string_view description() const override { return format_.description; }
  std::vector<std::string_view> endings() const override { return format_.endings; }
  bool has_members() const override { return true; }  // file.h5:/name must get here, too
  bool available() const override { return false; }
  Dataset read(const std::string& path, const ReadOptions&) const override {
    throw Error(ErrorCode::kUnavailable, path, "this build of manymeans cannot read such files; " + format_.advice);
  }

 private:
  MissingFormat format_;
};

class MissingWriter : public Writer {
 public:
  explicit MissingWriter(MissingFormat format) : format_(std::move(format)) {}
  std::string_view description() const override { return format_.description; }
  std::vector<std::string_view> endings() const override { return format_.endings; }
  std::string_view missing() const override { return format_.advice; }
  void write(const Table&, OutputFile&) const override {
    throw Error(ErrorCode::kInternal, "writer", "writer_for() has to refuse what is not built in");
  }

 private:
  MissingFormat format_;
};

}  // namespace manymeans
