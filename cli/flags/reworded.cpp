#include "flags/reworded.h"

namespace manymeans::cli {

Error reworded(const Error& error, const std::function<std::string(std::string)>& change) {
  const std::string what = error.what();
  const size_t end = what.find("] ");
  if (!what.starts_with('[') || end == std::string::npos) return error;
  return Error(error.code(), what.substr(1, end - 1), change(what.substr(end + 2)));
}

}  // namespace manymeans::cli
