#include "backend/cuda/points/point_slices.h"

#include "core/rounding.h"

namespace manymeans::cuda {

PointSlices::PointSlices(const Input& input, const SlicePlan& plan, const device::RowSlices::Host& host,
                         const SliceFrames& frames, const Stream& stream)
    : input_(input), plan_(plan), frames_(frames), rows_(input, plan, host, stream) {
  make_room();
  const Settled settled(stream);  // an error may free what kernels still fill
  whole_.points = points_of(input_, rows_.all());
  if (rows_.whole()) prepare(whole_, stream);
}

void PointSlices::make_room() {
  const auto rows = static_cast<size_t>(padded(plan_.slice_rows, kRowBlock));
  if (plan_.screen == ScreenKind::kMatrix) {
    halves_ = DeviceBuffer<uint16_t>(rows * static_cast<size_t>(plan_.padded_columns), "the packed points");
    radii_ = DeviceBuffer<float>(rows, "radii of the points");
    half_norms_ = DeviceBuffer<float>(rows, "norms of the points");
  }
  if (plan_.screen == ScreenKind::kFloat && input_.points.d > kLowColumns) {
    norms_ = DeviceBuffer<float>(rows, "norms of the points");
  }
}

// The screens' copies of the slice's rows.
void PointSlices::prepare(PointSlice& slice, cudaStream_t stream) {
  if (plan_.screen == ScreenKind::kMatrix) {
    PackedRows& packed = slice.packed;
    packed.rows = slice.points.n;
    packed.padded_rows = padded(packed.rows, kRowBlock);
    packed.padded_columns = plan_.padded_columns;
    packed.values = halves_.data();
    packed.radii = radii_.data();
    packed.norms = half_norms_.data();
    pack_rows(slice.points, frames_.half, packed, stream);
    slice.norms = {packed.norms, static_cast<float>(frames_.full.scale / frames_.half.scale)};
  }
  if (norms_.empty()) return;
  float_norms(slice.points, frames_.full, norms_.data(), stream);
  slice.norms = {norms_.data(), 1};
}

PointSlice PointSlices::for_screens(const device::Rows& rows, cudaStream_t stream) {
  if (rows_.whole()) return whole_;
  PointSlice slice;
  slice.points = points_of(input_, rows);
  prepare(slice, stream);
  return slice;
}

}  // namespace manymeans::cuda
