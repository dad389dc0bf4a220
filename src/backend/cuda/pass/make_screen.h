// The one place that knows which screens there are: the plan names one, and this counts its memory and makes it.
#pragma once

#include "backend/cuda/device/pass_screen.h"
#include "backend/cuda/device/session_shape.h"
#include "backend/cuda/pass/cuda_shared.h"
#include "backend/cuda/persistent/persistent_kernel.h"

#include <cstdint>
#include <memory>

namespace manymeans::cuda {

/// A session's screen, and the kernel that does small problems in its stead, or null.
struct SessionScreen {
  std::unique_ptr<Screen> screen;
  std::unique_ptr<PersistentKernel> persistent;
};

/// Device memory of a session's screen of this kind.
int64_t screen_bytes(ScreenKind screen, const SessionShape& shape);

/// `shared` must outlive it.
SessionScreen make_screen(const CudaShared& shared, const SessionShape& shape, const Stream& stream);

}  // namespace manymeans::cuda
