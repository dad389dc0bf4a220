// Formats whose library is looked for when it is wanted.
#pragma once

#include <functional>
#include <string>

namespace manymeans {

/// The way in which this computer reads or writes a format.
struct FoundFormat {
  bool available = false;
  std::string how;  ///< "by pyarrow 26.0.1 of /usr/bin/python3"; where not available, what to do about it
};
using FindFormat = std::function<FoundFormat()>;

/// The description of a format with what `find` found; without it, as it is.
inline std::string with_found(const std::string& description, const FoundFormat& found) {
  return description + (found.available ? ", " : "; not here: ") + found.how;
}

}  // namespace manymeans
