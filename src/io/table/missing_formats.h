// Replacements for readers and writers that this build does not have. They claim the endings, so that the message is
// the right one.
#pragma once

#include <manymeans/error.h>

#include "io/table/reader.h"
#include "io/table/writer.h"

#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// A format whose library was not there when this program was built.
struct MissingFormat {
  std::string description;
  std::vector<std::string_view> endings;
  std::string advice;  ///< ends the sentence "this build of manymeans cannot read such files; ..."
};

inline Reader missing_reader(const MissingFormat& format) {
  const auto read = [advice = format.advice](const std::string& path, const ReadOptions&) -> Dataset {
    throw Error(ErrorCode::kUnavailable, path, "this build of manymeans cannot read such files; " + advice);
  };
  // file.h5:/name must get here, too.
  Reader reader{format.description, format.endings, read};
  reader.has_members = true;
  reader.available = false;
  return reader;
}

/// writer_for() refuses it.
inline Writer missing_writer(const MissingFormat& format) {
  return {.description = format.description, .endings = format.endings, .write = {}, .missing = format.advice};
}

}  // namespace manymeans
