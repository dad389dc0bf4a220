#include "backend/opencl/pass/device_rows.h"

#include <algorithm>

namespace manymeans::opencl {
namespace {

constexpr int64_t kNumbers = 7;         // of TermSums
constexpr int64_t kMaxItems = 1 << 16;  // that sum at the same time, as many as a large GPU runs at once

// These two are given to kernels of questions.cl.
struct AssignedLabels {
  Int64 d, first, prototypes;
  Int32 width, unused;
};

struct TermFormats {
  Int32 top[2];
  Int32 bits, unused;
};

}  // namespace

DeviceRows::DeviceRows(const OpenClShared& shared, const device::SessionMemory& memory, const Program& program)
    : shared_(shared), memory_(memory), queue_(memory.queue()) {
  add_terms_ = Kernel(program, "add_terms");
  add_label_terms_ = Kernel(program, "add_label_terms");
  join_terms_ = Kernel(program, "join_terms");
  distances_ = Kernel(program, "distances");
  transform_ = Kernel(program, "transform");
  const Grid most = shared.grid(kMaxItems);
  found_ = device::Buffer(shared.device, most.items / most.group * kNumbers * sizeof(int64_t), "sums of distances");
}

namespace {

AssignedLabels labels_of(const OpenClShared& shared, const device::RowKernels::Assigned& assigned, int width) {
  const Input& input = shared.input;
  AssignedLabels labels = {};
  labels.d = input.points.d;
  labels.first = static_cast<int64_t>(assigned.labels.offset) / width;
  labels.prototypes = static_cast<int64_t>(assigned.prototypes.offset / size_of(prototype_type(input.points.type)));
  labels.width = width;
  return labels;
}

}  // namespace

void DeviceRows::add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) {
  static_assert(sizeof(TermSums) == kNumbers * sizeof(int64_t));
  const int top = format.shift - (format.limbs - 1) * format.bits;
  const TermFormats formats = {{top, top - 1}, format.bits, 0};
  const device::Rows& rows = assigned.rows;
  const Grid grid = shared_.grid(std::min((rows.count + step - 1) / step, kMaxItems));
  add_terms_(queue_, grid, labels_of(shared_, assigned, memory_.label_width()), shared_.block_of(rows), formats, step,
             rows.points, shared_.weights_of(rows), assigned.labels, assigned.prototypes, found_.at());
  join(grid, sums);
}

// Adds what the groups found.
void DeviceRows::join(const Grid& grid, Address sums) {
  const auto groups = static_cast<int64_t>(grid.items / grid.group);
  join_terms_(queue_, shared_.one_group(shared_.used.launch.group), found_.at(), groups, sums,
              static_cast<int64_t>(sums.offset / sizeof(int64_t)));
}

void DeviceRows::add_label_terms(const NumberedLabels& labels, Address sums) {
  static_assert(sizeof(LabelTermSums) == kNumbers * sizeof(int64_t));
  const int width = memory_.label_width();
  const Grid grid = shared_.grid(std::min(labels.count, kMaxItems));
  add_label_terms_(queue_, grid, labels.labels, Int32{width}, static_cast<int64_t>(labels.labels.offset) / width,
                   labels.first, labels.count, found_.at());
  join(grid, sums);
}

void DeviceRows::distances(const Assigned& assigned, Address out) {
  const device::Rows& rows = assigned.rows;
  distances_(queue_, shared_.grid(rows.count), labels_of(shared_, assigned, memory_.label_width()),
             shared_.block_of(rows), rows.points, assigned.labels, assigned.prototypes, out,
             static_cast<int64_t>(out.offset / sizeof(double)));
}

void DeviceRows::transform(const device::Rows& rows, Address prototypes, int64_t k, Address out) {
  const auto value = size_of(prototype_type(shared_.input.points.type));
  transform_(queue_, shared_.grid(rows.count * k), shared_.input.points.d, shared_.block_of(rows), k, rows.points,
             prototypes, static_cast<int64_t>(prototypes.offset / value), out,
             static_cast<int64_t>(out.offset / value));
}

}  // namespace manymeans::opencl
