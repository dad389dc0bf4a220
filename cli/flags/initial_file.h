// Initial prototypes from a file, for --init FILE.
#pragma once

#include <manymeans/io.h>

#include <string>

namespace manymeans::cli {

/// True when the value of --init is a file and not the name of a method.
/// Throws Error(kUsage) when it is neither.
bool names_initial_file(const std::string& init);

/// Reads prototypes from a file of points (.npy or text) or from a model file (.npz; the best model with this k).
/// k = 0: as many as there are. They are in the units of the points after scaling, so a model file must have been
/// fitted with the same kind of scaling. Throws Error(kBadData) when k or d do not fit.
Dataset read_initial(const std::string& path, int64_t k, int64_t d, Scale scale);

}  // namespace manymeans::cli
