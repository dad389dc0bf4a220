#include "backend/device/device_row_queries.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace manymeans::device {
namespace {

constexpr size_t kChunkBytes = size_t{8} << 20;  // of answers that come together

// Returns whether `count` terms of this size have room in the format.
bool holds(const SumFormat& format, double term, int64_t count) {
  return std::ldexp(term, format.shift - (format.limbs - 1) * format.bits) * static_cast<double>(count) < 0x1p63;
}

}  // namespace

void RowKernels::TermSums::add(double weight, double d2, const SumFormat& format, int64_t rows) {
  if (!(weight > 0)) return;
  SumFormat larger = format;
  larger.shift -= 1;
  const double term = weight * d2;
  if (holds(format, term, rows)) add_term(term, format, 1, limbs[0]);
  if (holds(larger, term, rows)) add_term(term, larger, 1, limbs[1]);
  farthest = std::max(farthest, std::bit_cast<int64_t>(d2));
}

DeviceRowQueries::DeviceRowQueries(const SessionMemory& memory, RowSlices& slices, RowKernels& kernels, Session session)
    : memory_(memory), slices_(slices), kernels_(kernels), session_(std::move(session)) {}

void DeviceRowQueries::upload(int slot, const Matrix& prototypes) {
  const auto bytes = prototypes.bytes();
  queue().copy_to_device(session_.memory_of(slot).prototypes, bytes.data(), bytes.size(), "prototypes");
}

RowKernels::Assigned DeviceRowQueries::assigned(int slot, const Rows& rows) {
  const Address labels = session_.labels_of(slot) + static_cast<size_t>(rows.first * memory_.label_width());
  return {rows, labels, session_.memory_of(slot).prototypes};
}

// Returns for each model the sums and the farthest distance of every `step`-th row. If points come in slices, it is a
// part of such rows. Sums are in `format` and in the format for terms twice as large.
std::vector<RowKernels::TermSums> DeviceRowQueries::sum_rows(std::span<const int> slots, const SumFormat& format,
                                                             int64_t step) {
  const size_t bytes = slots.size() * sizeof(TermSums);
  sums_.reserve(queue().runtime(), bytes, "sums of distances");
  queue().fill(sums_.at(), std::byte{0}, bytes, "clearing sums of distances");
  const auto add = [&](const Rows& rows) {
    for (size_t i = 0; i < slots.size(); ++i) {
      kernels_.add_terms(assigned(slots[i], rows), format, step, sums_.at(i * sizeof(TermSums)));
    }
  };
  slices_.for_each(queue(), add, step > 1 ? 1 : kAllSlices);
  std::vector<TermSums> sums(slots.size());
  queue().read_back(sums.data(), sums_.at(), bytes, "summing distances");
  return sums;
}

std::vector<InertiaSum> DeviceRowQueries::inertias(std::span<const ModelPrototypes> models) {
  constexpr int64_t kSample = 4096;
  session_.use_device();
  const Settled settled(queue());
  struct Left {
    std::vector<int> slots;
    std::vector<size_t> places;  // among the answers
  } left;
  for (const ModelPrototypes& model : models) {
    upload(model.slot, *model.prototypes);
    left.places.push_back(left.slots.size());
    left.slots.push_back(model.slot);
  }
  const Input& input = memory_.input();
  const int64_t step = (n() + kSample - 1) / kSample;
  SumFormat guess = last_.value_or(distance_format(input, 1));
  if (step > 1 && !last_ && !models.empty()) {
    const TermSums sample = sum_rows(std::span(left.slots).first(1), guess, step)[0];
    guess = distance_format(input, std::bit_cast<double>(sample.farthest));
  }
  std::vector<InertiaSum> inertias(models.size());
  while (!left.slots.empty()) {  // every guess after the first is right for one at least
    const std::vector<TermSums> sums = sum_rows(left.slots, guess, 1);
    Left missed;
    SumFormat next = guess;
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto farthest = std::bit_cast<double>(sums[i].farthest);
      const SumFormat format = distance_format(input, farthest);
      const int which = guess.shift - format.shift;
      if (which == 0 || which == 1) {
        const int64_t* limbs = sums[i].limbs[which];
        inertias[left.places[i]] = {farthest, format, {limbs, limbs + kDistanceLimbs}};
      } else {
        missed.slots.push_back(left.slots[i]);
        missed.places.push_back(left.places[i]);
        next = format;
      }
    }
    left = std::move(missed);
    last_ = guess = next;
  }
  return inertias;
}

std::vector<int64_t> DeviceRowQueries::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  session_.use_device();
  const Settled settled(queue());
  upload(slot, prototypes);
  const TermSums sums = sum_rows({&slot, 1}, format, 1)[0];
  return {sums.limbs[0], sums.limbs[0] + kDistanceLimbs};
}

// Calls body(part) for all rows, `most` at a time.
template <class Body>
void DeviceRowQueries::for_each_chunk(int64_t most, Body&& body) {
  const PointsView& points = memory_.input().points;
  const size_t row_bytes = static_cast<size_t>(points.d) * size_of(points.type);
  slices_.for_each(queue(), [&](const Rows& rows) {
    for (int64_t first = 0; first < rows.count; first += most) {
      body(rows.part(first, std::min(most, rows.count - first), row_bytes));
    }
  });
}

std::vector<double> DeviceRowQueries::distances(int slot, const Matrix& prototypes) {
  session_.use_device();
  const Settled settled(queue());
  upload(slot, prototypes);
  return distances_of(slot);
}

std::vector<double> DeviceRowQueries::distances_of(int slot) {
  constexpr int64_t kChunk = kChunkBytes / sizeof(double);
  std::vector<double> result(static_cast<size_t>(n()));
  const Buffer chunk(queue().runtime(), static_cast<size_t>(std::min(n(), kChunk)) * sizeof(double), "distances");
  const Settled settled(queue());
  for_each_chunk(kChunk, [&](const Rows& part) {
    kernels_.distances(assigned(slot, part), chunk.at());
    queue().read_back(result.data() + part.first, chunk.at(), static_cast<size_t>(part.count) * sizeof(double),
                      "computing distances");
  });
  return result;
}

std::vector<DistantRow> DeviceRowQueries::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  count = std::min(count, n());
  if (count <= 0) return {};
  session_.use_device();
  const Settled settled(queue());
  upload(slot, prototypes);
  if (slices_.whole()) {
    std::optional<std::vector<DistantRow>> found = kernels_.farthest_rows(assigned(slot, slices_.all()), count);
    if (found) return std::move(*found);
  }
  return sorted_by_host(slot, count);
}

std::vector<DistantRow> DeviceRowQueries::sorted_by_host(int slot, int64_t count) {
  const std::vector<double> d2 = distances_of(slot);
  std::vector<DistantRow> rows;
  for (int64_t row = 0; row < n(); ++row) {
    const double distance = d2[static_cast<size_t>(row)];
    if (distance > 0 && memory_.input().weight(row) > 0) rows.push_back({distance, row, 0});
    if (static_cast<int64_t>(rows.size()) < 2 * count + 4096) continue;
    std::nth_element(rows.begin(), rows.begin() + count, rows.end(), DistantRow::is_farther);
    rows.resize(static_cast<size_t>(count));
  }
  std::sort(rows.begin(), rows.end(), DistantRow::is_farther);
  if (static_cast<int64_t>(rows.size()) > count) rows.resize(static_cast<size_t>(count));
  read_labels(session_.labels_of(slot), rows);
  return rows;
}

// Of a few rows one by one: each is a transfer, and all are more bytes.
void DeviceRowQueries::read_labels(Address labels, std::vector<DistantRow>& rows) const {
  constexpr size_t kFew = 8;
  const auto width = static_cast<size_t>(memory_.label_width());
  std::vector<std::byte> all(rows.size() > kFew ? static_cast<size_t>(n()) * width : 0);
  if (!all.empty()) queue().read_back(all.data(), labels, all.size(), "reading labels");
  for (DistantRow& row : rows) {  // numbers of `width` bytes, the lowest first
    const size_t at = static_cast<size_t>(row.row) * width;
    if (all.empty()) {
      queue().read_back(&row.label, labels + at, width, "reading labels");
    } else {
      std::memcpy(&row.label, all.data() + at, width);
    }
  }
}

void DeviceRowQueries::transform(const Matrix& prototypes, Matrix& distances) {
  session_.use_device();
  const int64_t k = prototypes.rows();
  const size_t out_bytes = static_cast<size_t>(k) * size_of(distances.type());
  const int64_t most = std::max<int64_t>(1, static_cast<int64_t>(kChunkBytes / out_bytes));
  std::byte* const out = distances.values<std::byte>().data();
  const Runtime& runtime = queue().runtime();
  const Buffer there(runtime, prototypes.bytes().size(), "prototypes");
  const Buffer chunk(runtime, static_cast<size_t>(std::min(n(), most)) * out_bytes, "distances");
  const Settled settled(queue());
  queue().copy_to_device(there.at(), prototypes.bytes().data(), prototypes.bytes().size(), "prototypes");
  for_each_chunk(most, [&](const Rows& part) {
    kernels_.transform(part, there.at(), k, chunk.at());
    queue().read_back(out + static_cast<size_t>(part.first) * out_bytes, chunk.at(),
                      static_cast<size_t>(part.count) * out_bytes, "computing distances");
  });
}

bool DeviceRowQueries::transform_to(const Matrix& prototypes, const ResultRoom& room) {
  const Address out = kernels_.address_of(room);
  if (!out) return false;
  session_.use_device();
  const int64_t k = prototypes.rows();
  const size_t row_bytes = static_cast<size_t>(k) * size_of(prototypes.type());
  const Buffer there(queue().runtime(), prototypes.bytes().size(), "prototypes");
  const Settled settled(queue());
  queue().copy_to_device(there.at(), prototypes.bytes().data(), prototypes.bytes().size(), "prototypes");
  for_each_chunk(n(), [&](const Rows& part) {
    kernels_.transform(part, there.at(), k, out + static_cast<size_t>(part.first) * row_bytes);
  });
  queue().synchronize("computing distances");
  return true;
}

bool DeviceRowQueries::two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) {
  if (!kernels_.finds_two_nearest()) return false;
  constexpr int64_t kChunk = kChunkBytes / sizeof(TwoNearest);
  session_.use_device();
  const Runtime& runtime = queue().runtime();
  std::vector<TwoNearest> here(static_cast<size_t>(std::min(n(), kChunk)));
  const Buffer there(runtime, prototypes.bytes().size(), "prototypes");
  const Buffer chunk(runtime, here.size() * sizeof(TwoNearest), "the nearest prototypes");
  const Settled settled(queue());
  queue().copy_to_device(there.at(), prototypes.bytes().data(), prototypes.bytes().size(), "prototypes");
  for_each_chunk(kChunk, [&](const Rows& part) {
    kernels_.two_nearest(part, {there.at(), prototypes.rows()}, chunk.at());
    const auto count = static_cast<size_t>(part.count);
    queue().read_back(here.data(), chunk.at(), count * sizeof(TwoNearest), "finding the nearest prototypes");
    take(part.first, std::span(here).first(count));
  });
  return true;
}

}  // namespace manymeans::device
