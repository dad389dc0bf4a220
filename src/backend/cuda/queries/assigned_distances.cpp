#include "backend/cuda/queries/assigned_distances.h"

#include "backend/cuda/points/point_slices.h"

#include <algorithm>
#include <bit>

namespace manymeans::cuda {
namespace {

// Finds the digit of the `wanted`-th remaining row, counted from the largest digit or from the smallest. Subtracts the
// rows before that digit from `wanted`. Returns -1 if there are fewer rows.
int64_t find_digit(const std::vector<unsigned long long>& counts, bool from_largest, int64_t& wanted) {
  for (int64_t i = 0; i < kDigits; ++i) {
    const int64_t digit = from_largest ? kDigits - 1 - i : i;
    const auto here = static_cast<int64_t>(counts[static_cast<size_t>(digit)]);
    if (wanted <= here) return digit;
    wanted -= here;
  }
  return -1;
}

LastRow find_last(const RowDistances& all, int64_t count, const Stream& stream) {
  DeviceBuffer<unsigned long long> counts(kDigits, "digits of distances");
  const Settled settled(stream);
  std::vector<unsigned long long> host(kDigits);
  DigitPrefix prefix;
  int64_t wanted = count;
  const auto next_digit = [&](bool of_row, int shift) {
    fill_zero(counts.data(), counts.size(), stream, "clearing digits of distances");
    count_digits(all, prefix, {of_row, shift}, counts.data(), stream);
    read_back(host.data(), counts.data(), host.size(), stream, "counting digits of distances");
    return find_digit(host, !of_row, wanted);
  };
  for (int shift = 60; shift >= 0; shift -= kDigitBits) {
    const int64_t digit = next_digit(false, shift);
    if (digit < 0) return {0, all.n};
    prefix.distance = prefix.distance << kDigitBits | static_cast<uint64_t>(digit);
    prefix.distance_shift = shift;
  }
  const int width = std::bit_width(static_cast<uint64_t>(all.n - 1));
  for (int shift = (width + kDigitBits - 1) / kDigitBits * kDigitBits - kDigitBits; shift >= 0; shift -= kDigitBits) {
    const int64_t digit = next_digit(true, shift);
    prefix.row = prefix.row << kDigitBits | static_cast<uint64_t>(digit);
    prefix.row_shift = shift;
  }
  return {prefix.distance, static_cast<int64_t>(prefix.row)};
}

// Returns the `count` farthest rows, sorted. Reads distances up to 12 times. Waits for the answer.
std::vector<DistantRow> sort_out_farthest(const RowDistances& all, const LabelRows& labels, int64_t count,
                                          const Stream& stream) {
  DeviceBuffer<FoundRow> found(static_cast<size_t>(count), "the farthest rows");
  DeviceBuffer<unsigned long long> length(1, "the number of farthest rows");
  const Settled settled(stream);
  const LastRow last = find_last(all, count, stream);
  fill_zero(length.data(), 1, stream, "clearing a counter");
  list_farthest(all, last, labels, {found.data(), count, length.data()}, stream);
  unsigned long long listed = 0;
  std::vector<FoundRow> host(static_cast<size_t>(count));
  read_back(&listed, length.data(), 1, stream, "listing the farthest rows");
  read_back(host.data(), found.data(), host.size(), stream, "listing the farthest rows");
  host.resize(static_cast<size_t>(listed));
  std::vector<DistantRow> result;
  for (const FoundRow& f : host) result.push_back({f.distance, f.row, f.label});
  std::sort(result.begin(), result.end(), DistantRow::is_farther);
  return result;
}

}  // namespace

AssignedRows AssignedKernels::every(int64_t step, const Assigned& assigned) const {
  const DevicePoints points = points_of(input_, assigned.rows);
  return {points,
          {pointer_to(assigned.labels), 0, label_width_},
          pointer_to(assigned.prototypes),
          step,
          (points.n + step - 1) / step};
}

void AssignedKernels::add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, device::Address sums) {
  static_assert(sizeof(TermSums) == (2 * kDistanceLimbs + 1) * sizeof(int64_t));
  SumFormat larger = format;
  larger.shift -= 1;
  sum(every(step, assigned), TermSplitter(format), TermSplitter(larger), pointer_to<int64_t>(sums));
}

void AssignedKernels::add_label_terms(const NumberedLabels& labels, device::Address sums) {
  sum_label_terms({pointer_to(labels.labels), 0, label_width_}, labels.first, labels.count, pointer_to<int64_t>(sums),
                  stream_);
}

device::Address AssignedKernels::address_of(const ResultRoom& room) const {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  if (room.place.space != "cuda" || room.place.device != device) return {};
  return {room.data};
}

void AssignedKernels::widen_labels(device::Address labels, int64_t count, device::Address out) {
  cuda::widen_labels({pointer_to(labels), 0, label_width_}, count, pointer_to<int32_t>(out), stream_);
}

void AssignedKernels::distances(const Assigned& assigned, device::Address out) {
  find(every(1, assigned), false, pointer_to<double>(out));
}

std::optional<std::vector<DistantRow>> AssignedKernels::farthest_rows(const Assigned& assigned, int64_t count) {
  const AssignedRows rows = every(1, assigned);
  DeviceBuffer<double> d2(static_cast<size_t>(rows.count), found());
  const Settled settled(stream_);
  find(rows, true, d2.data());
  return sort_out_farthest({d2.data(), rows.count}, rows.labels, count, stream_);
}

void AssignedDistances::transform(const device::Rows& rows, device::Address prototypes, int64_t k,
                                  device::Address out) {
  find_all_distances(points_of(input_, rows), pointer_to(prototypes), k, pointer_to(out), stream_);
}

}  // namespace manymeans::cuda
