// Threads of a program that is compiled twice, once with OpenMP.
#pragma once

#include "founding/founding.h"

namespace manymeans::founding {

/// Returns --threads. The sequential program has no such option, and refuses it.
static inline int read_threads([[maybe_unused]] Arguments& arguments) {
#ifdef _OPENMP
  return static_cast<int>(arguments.whole("threads", 2));
#else
  return 1;
#endif
}

}  // namespace manymeans::founding
