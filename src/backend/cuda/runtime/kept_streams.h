// Streams that the process keeps for the next fit when a fit is over: making and destroying one takes as long as a
// small product.
#pragma once

#include <cuda_runtime_api.h>

namespace manymeans::cuda {

/// A stream of the current device, which is `device`, that does not wait for the default stream.
cudaError_t take_stream(int device, cudaStream_t* stream);
/// A stream of that device, for the next one. False, and nothing is done, where it has still something to do, an error
/// has come to it, or there are enough.
bool keep_done_stream(int device, cudaStream_t stream) noexcept;

}  // namespace manymeans::cuda
