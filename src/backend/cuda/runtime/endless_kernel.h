// Test builds only: a device that does not answer (tests/backend/cuda/runtime/endless_kernel.cu). Other builds use
// no_endless_kernel.cpp, which does nothing.
#pragma once

#include "backend/device/patience.h"

#include <cuda_runtime_api.h>

#include <string_view>

namespace manymeans::cuda {

/// MANYMEANS_TEST_HANG=PLACE:COUNT[:SECONDS] names a place (upload, pass or seeding). The COUNT-th call for it in the
/// process puts a kernel into the stream that ends after SECONDS, or never. With `lost` for SECONDS the device fails.
void hang_if_asked(std::string_view place, cudaStream_t stream);

/// device::Patience::kMin, or the seconds that MANYMEANS_TEST_PATIENCE says.
device::Patience::Seconds min_patience();

}  // namespace manymeans::cuda
