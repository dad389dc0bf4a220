#include "backend/opencl/pass/host_rows.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace manymeans::opencl {

HostRows::Doubles HostRows::points(const device::Rows& rows) const {
  const int64_t d = input_.points.d;
  Doubles values(static_cast<size_t>(rows.count * d));
  widen(input_.points.data, input_.points.type, rows.first * d, rows.count * d, values.data());
  return values;
}

HostRows::Doubles HostRows::prototypes(Address from, int64_t k) const {
  const int64_t count = k * memory_.width();
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size_of(type()));
  queue_.read_back(bytes.data(), from, bytes.size(), "fetching prototypes");
  Doubles values(static_cast<size_t>(count));
  widen(bytes.data(), type(), 0, count, values.data());
  return values;
}

// d2 of each row to the prototype of its label.
HostRows::Doubles HostRows::assigned_distances(const Assigned& assigned) const {
  const int64_t d = input_.points.d;
  const auto width = static_cast<size_t>(memory_.label_width());
  std::vector<std::byte> bytes(static_cast<size_t>(assigned.rows.count) * width);
  queue_.read_back(bytes.data(), assigned.labels, bytes.size(), "fetching labels");
  std::vector<uint32_t> labels(static_cast<size_t>(assigned.rows.count));
  for (size_t i = 0; i < labels.size(); ++i) std::memcpy(&labels[i], bytes.data() + i * width, width);
  const Doubles c = prototypes(assigned.prototypes, int64_t{1} + *std::ranges::max_element(labels));
  const Doubles x = points(assigned.rows);
  Doubles found;
  for (size_t i = 0; i < labels.size(); ++i) {
    const double* const row = x.data() + static_cast<int64_t>(i) * d;
    found.push_back(prototype_.f64.distance(row, c.data() + labels[i] * memory_.width(), d));
  }
  return found;
}

void HostRows::add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) {
  const Doubles all = assigned_distances(assigned);
  TermSums found;
  queue_.read_back(&found, sums, sizeof(found), "summing distances");
  for (int64_t i = 0; i < assigned.rows.count; i += step) {
    found.add(input_.weight(assigned.rows.first + i), all[static_cast<size_t>(i)], format, input_.points.n);
  }
  const Settled settled(queue_);
  queue_.copy_to_device(sums, &found, sizeof(found), "summing distances");
}

void HostRows::distances(const Assigned& assigned, Address out) {
  const Doubles all = assigned_distances(assigned);
  const Settled settled(queue_);
  queue_.copy_to_device(out, all.data(), all.size() * sizeof(double), "computing distances");
}

void HostRows::transform(const device::Rows& rows, Address prototypes_there, int64_t k, Address out) {
  const int64_t d = input_.points.d;
  const Doubles x = points(rows);
  const Doubles c = prototypes(prototypes_there, k);
  std::vector<std::byte> found(static_cast<size_t>(rows.count * k) * size_of(type()));
  for (int64_t at = 0; at < rows.count * k; ++at) {
    const double d2 = prototype_.f64.distance(x.data() + at / k * d, c.data() + at % k * memory_.width(), d);
    const double root = std::sqrt(d2);
    if (type() == DataType::kFloat64) reinterpret_cast<double*>(found.data())[at] = root;
    if (type() == DataType::kFloat32) reinterpret_cast<float*>(found.data())[at] = static_cast<float>(root);
  }
  const Settled settled(queue_);
  queue_.copy_to_device(out, found.data(), found.size(), "computing distances");
}

}  // namespace manymeans::opencl
