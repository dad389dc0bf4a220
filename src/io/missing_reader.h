// What stands in for a reader that this build does not have: it claims the endings, so that the message is the right
// one.
#pragma once

#include <manymeans/error.h>

#include "io/reader.h"

#include <string>
#include <utility>

namespace manymeans {

class MissingReader : public Reader {
 public:
  /// `advice` ends the sentence "this build cannot read it; ...".
  MissingReader(std::string description, std::vector<std::string_view> endings, std::string advice)
      : description_(std::move(description)), endings_(std::move(endings)), advice_(std::move(advice)) {}
  std::string_view description() const override { return description_; }
  std::vector<std::string_view> endings() const override { return endings_; }
  bool has_members() const override { return true; }  // file.h5:/name must get here, too
  bool available() const override { return false; }
  Dataset read(const std::string& path, const ReadOptions&) const override {
    throw Error(ErrorCode::kUnavailable, path, "this build of manymeans cannot read such files; " + advice_);
  }

 private:
  std::string description_;
  std::vector<std::string_view> endings_;
  std::string advice_;
};

}  // namespace manymeans
