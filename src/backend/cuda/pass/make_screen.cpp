#include "backend/cuda/pass/make_screen.h"

#include "backend/cuda/bounding_boxes/bounding_box_screen.h"
#include "backend/cuda/exact/exact_stage.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/tensor/tensor_screen.h"

#include <utility>

namespace manymeans::cuda {
namespace {

// False if margins are requested by name: such batches are not small, or should be seen with margins.
bool may_be_persistent(const CudaShared& shared) {
  return shared.slices->rows().whole() && !shared.options.tuning.cuda.queued_passes &&
         shared.plan.bounds != BoundsUse::kAlways;
}

SessionScreen make_tensor_screen(const CudaShared& shared, const SessionShape& shape, const ExactStage::Sums& sums,
                                 const Stream& stream) {
  const TensorScreen::Frames frames{shared.half_frame,
                                    {shared.device_frame, shared.bound},
                                    shared.options.tuning.cuda.bound_scale,
                                    shared.options.tuning.cuda.score_thresholds};
  auto screen = std::make_unique<TensorScreen>(shape, frames, sums, *shared.bounds_log, stream);
  SessionScreen made;
  if (may_be_persistent(shared)) {
    made.persistent = std::make_unique<PersistentKernel>(*screen, shared.sums.solve_shifts(), shared.device.index);
  }
  made.screen = std::move(screen);
  return made;
}

}  // namespace

int64_t screen_bytes(ScreenKind screen, const SessionShape& shape) {
  switch (screen) {
    case ScreenKind::kNone: return AllDistances::bytes(shape);
    case ScreenKind::kFloat: return FloatScreen::bytes(shape);
    case ScreenKind::kMatrix: return TensorScreen::bytes(shape);
    case ScreenKind::kBoundingBoxes: return BoundingBoxScreen::bytes(shape);
  }
  return 0;
}

SessionScreen make_screen(const CudaShared& shared, const SessionShape& shape, const Stream& stream) {
  const int multiprocessors = shared.device.multiprocessors;
  const ExactStage::Sums sums{shared.terms, shared.input.weight_shift, multiprocessors};
  switch (shared.plan.screen) {
    case ScreenKind::kNone: return {std::make_unique<AllDistances>(shape, sums), nullptr};
    case ScreenKind::kFloat:
      return {std::make_unique<FloatScreen>(shape, FloatFrame{shared.device_frame, shared.bound}, sums), nullptr};
    case ScreenKind::kMatrix: return make_tensor_screen(shared, shape, sums, stream);
    case ScreenKind::kBoundingBoxes: break;
  }
  const BoundingBoxScreen::Points points{shared.boxes->rows(),
                                         BoxBound::make(shape.d, shared.options.tuning.cuda.bound_scale), shared.terms,
                                         shared.input.weight_shift, multiprocessors};
  return {std::make_unique<BoundingBoxScreen>(shape, points), nullptr};
}

}  // namespace manymeans::cuda
