// A device backend that is as small as one can be: plain loops as kernels, on a device that is late.
#pragma once

#include "backend/backend.h"

#include <memory>

namespace manymeans::test {

/// Every canonical distance, of every kind of prototypes; points in slices where options.tuning.cuda.slice_rows says
/// so. Under "brute" the engine makes all updates, under "auto" the device does.
std::unique_ptr<Backend> make_async_backend(const BackendOptions& options);

}  // namespace manymeans::test
