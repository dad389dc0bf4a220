#include "backend/opencl/pass/pass_arrays.h"

#include "core/label_width.h"
#include "core/rounding.h"

#include <algorithm>

namespace manymeans::opencl {

struct PassArrays::Sizes {
  size_t ranges, next, marks, columns, states, slice;

  Sizes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan) {
    const int64_t n = input.points.n;
    const int64_t d = input.points.d;
    const auto models = static_cast<size_t>(std::max<size_t>(1, k.size()));
    const int64_t rows = packed_rows(std::min(plan.slice_rows, n));
    int64_t clusters = 0;
    int64_t most = 1;
    for (const int64_t count : k) {
      clusters += padded(count, kMaxColumnsTogether);
      most = std::max(most, count);
    }
    ranges = models * sizeof(Range);
    next = models * static_cast<size_t>(rows * label_width(most));
    marks = models * static_cast<size_t>(rows / 8);
    columns = plan.exact ? 0 : static_cast<size_t>(clusters * (d + 3)) * sizeof(float);
    if (plan.linear) columns = static_cast<size_t>(clusters * d) * sizeof(double);
    states = plan.exact ? 0 : models * kStates * sizeof(Int32);
    slice = plan.exact || plan.whole(n) ? 0 : static_cast<size_t>(rows * (d + 1)) * sizeof(float);
  }
  int64_t all() const { return static_cast<int64_t>(ranges + next + marks + columns + states + slice); }
};

int64_t PassArrays::bytes(const Input& input, std::span<const int64_t> k, const OpenClPlan& plan) {
  return Sizes(input, k, plan).all();
}

PassArrays::PassArrays(const OpenClShared& shared, const device::SessionMemory& memory, std::span<const int64_t> k)
    : shared_(shared),
      memory_(memory),
      next_stride_(packed_rows(std::min(shared.plan.slice_rows, shared.input.points.n))),
      mark_stride_(next_stride_ / 32) {
  const Sizes sizes(shared.input, k, shared.plan);
  const auto hold = [&](device::Buffer& buffer, size_t bytes, const char* what) {
    buffer = device::Buffer(shared.device, bytes, what);
  };
  hold(ranges_there_, sizes.ranges, "the models");
  hold(next_, sizes.next, "the labels of a pass");
  hold(marks_, sizes.marks, "the marks of rows");
  hold(columns_, sizes.columns, "the prototypes' columns");
  hold(states_, sizes.states, "the models");
  hold(slice_, sizes.slice, "a slice of packed points");
  memory.queue().fill(marks_.at(), std::byte{0}, marks_.bytes(), "clearing marks");
}

Range PassArrays::range_of(const device::ModelMemory& model) const {
  const auto value = static_cast<int64_t>(size_of(prototype_type(shared_.input.points.type)));
  Range range = {};
  range.k = model.k;
  range.prototypes = static_cast<int64_t>(model.prototypes.offset) / value;
  range.before = static_cast<int64_t>(model.before.offset) / value;
  range.sums = static_cast<int64_t>(model.sums.offset / sizeof(int64_t));
  range.weights = static_cast<int64_t>(model.weights.offset / sizeof(int64_t));
  range.counts = static_cast<int64_t>(model.counts.offset / sizeof(int64_t));
  range.slot = model.slot;
  range.first_pass = model.labelled ? 0 : 1;
  return range;
}

void PassArrays::begin(const device::PassBatch& batch, const device::Queue& queue) {
  ranges_.clear();
  int64_t first = 0;
  for (const device::ModelMemory& model : batch.models) {
    ranges_.push_back(range_of(model));
    ranges_.back().first = first;
    first += padded(model.k, kMaxColumnsTogether);
  }
  queue.copy_to_device(ranges(), ranges_.data(), ranges_.size() * sizeof(Range), "the models");
}

Shape PassArrays::shape() const {
  const Input& input = shared_.input;
  Shape shape = {};
  shape.d = input.points.d;
  shape.label_stride = memory_.label_stride();
  shape.next_stride = next_stride_;
  shape.mark_stride = mark_stride_;
  shape.label_width = memory_.label_width();
  shape.limbs = input.limbs;
  shape.bits = input.bits;
  shape.weight_shift = input.weight_shift;
  shape.normal_tops = shared_.normal_tops ? 1 : 0;
  return shape;
}

Shape PassArrays::shape(const device::PassBatch& batch) const {
  Shape whole = shape();
  whole.max_clusters = batch.max_clusters;
  whole.counters = static_cast<int64_t>(batch.counters.offset / sizeof(uint64_t));
  whole.ranges = static_cast<Int32>(batch.models.size());
  return whole;
}

}  // namespace manymeans::opencl
