#include "backend/cuda/queries/device_swap_scores.h"

#include "core/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace manymeans::cuda {
namespace {

constexpr int64_t kMaxColumns = 2048;      // their sums are in shared memory
constexpr int64_t kMaxClusters = 1 << 16;  // arrays have a place for each candidate and cluster
constexpr int64_t kFewCandidates = 64;     // as many as are compared with rows together
constexpr int64_t kMaxCandidateBytes = int64_t{1} << 30;
constexpr size_t kPiece = size_t{1} << 17;  // values that the host adds up while the next ones come

constexpr const char* kRows = "rows of swaps";
constexpr const char* kCandidates = "candidates of swaps";

int64_t bytes_of_candidate(const DevicePoints& points, int64_t k) {
  const int64_t tiles = points.n / kSwapTile + k;
  return tiles * 8 + k * static_cast<int64_t>(sizeof(uint32_t) + 1 + 2 * sizeof(double)) + points.d * 8 +
         static_cast<int64_t>(sizeof(FoundSwap) + sizeof(uint32_t));
}

}  // namespace

SwapRoom SwapRoom::make(const DevicePoints& points, int64_t k, int64_t free) {
  SwapRoom room;
  const auto refuse = [&](std::string why) {
    room.refusal = std::move(why);
    return room;
  };
  if (points.data == nullptr) return refuse("the points are not all on the device");
  if (points.n > std::numeric_limits<int32_t>::max()) return refuse("there are more than 2^31 rows");
  if (points.d > kMaxColumns) return refuse(fmt::format("there are more than {} columns", kMaxColumns));
  if (k > kMaxClusters) return refuse(fmt::format("there are more than {} clusters", kMaxClusters));
  constexpr int64_t kBytesOfRow = 5 * 8 + 6 * 4 + 8;
  room.rows_bytes =
      points.n * kBytesOfRow + static_cast<int64_t>(swap_scratch_bytes(points.n)) + k * (points.d + 8) * 8;
  room.candidate_bytes = bytes_of_candidate(points, k);
  const int64_t usable = free / 2 - room.rows_bytes;  // sessions of the search take some, and they come later
  room.candidates =
      std::min({k, usable / room.candidate_bytes, std::max(kFewCandidates, kMaxCandidateBytes / room.candidate_bytes)});
  if (room.candidates >= std::min(k, kFewCandidates)) return room;
  return refuse(fmt::format("that takes {} MB of the device's memory, half of which is {} MB",
                            (room.rows_bytes + std::min(k, kFewCandidates) * room.candidate_bytes) >> 20, free >> 21));
}

DeviceSwapScores::DeviceSwapScores(const Input& input, const DevicePoints& points, int64_t k, const SwapRoom& room,
                                   const Patience& patience)
    : SwapScores(input), room_(room), stream_(patience), copies_(patience) {
  check(cudaGetDevice(&device_), "asking for the device");
  model_.points = points;
  model_.k = static_cast<int32_t>(k);
  model_.key_bits = std::bit_width(static_cast<uint64_t>(k - 1));
  const Settled settled(stream_);
  make_room();
  number_rows(numbers_.data(), points.n, stream_);
}

DeviceSwapScores::~DeviceSwapScores() {
  cudaSetDevice(device_);
  stream_.settle();
  copies_.settle();
}

void DeviceSwapScores::use_device() const {
  check(cudaSetDevice(device_), "choosing the device");
}

void DeviceSwapScores::make_room() {
  const auto n = static_cast<size_t>(model_.points.n);
  const auto d = static_cast<size_t>(model_.points.d);
  const auto k = static_cast<size_t>(model_.k);
  const auto c = static_cast<size_t>(room_.candidates);
  const auto hold = [](auto& buffer, size_t count, const char* what) {
    buffer = std::remove_reference_t<decltype(buffer)>(count, what);
    return buffer.data();
  };
  model_.centroids = hold(centroids_, k * d, kRows);
  model_.least = hold(least_, n, kRows);
  model_.second_least = hold(second_least_, n, kRows);
  model_.products = hold(products_, n, kRows);
  model_.bonuses = hold(bonuses_, n, kRows);
  model_.nearest = hold(nearest_, n, kRows);
  model_.second = hold(second_, n, kRows);
  model_.numbers = hold(numbers_, n, kRows);
  model_.by_cluster = hold(by_cluster_, n, kRows);
  model_.by_pair = hold(by_pair_, n, kRows);
  model_.pairs = hold(pairs_, n, kRows);
  model_.keys = hold(keys_, n, kRows);
  model_.sorted_keys = hold(sorted_keys_, n, kRows);
  model_.scratch_bytes = swap_scratch_bytes(model_.points.n);
  model_.scratch = hold(scratch_, model_.scratch_bytes, kRows);
  model_.first = hold(places_, 2 * (k + 1) + 1, kRows);
  model_.first_tile = model_.first + k + 1;
  model_.pair_count = model_.first_tile + k + 1;
  model_.weights = hold(of_clusters_, 4 * k, kRows);
  model_.reaches = model_.weights + k;
  model_.raw_costs = model_.reaches + k;
  model_.costs = model_.raw_costs + k;
  candidates_.rows = hold(rows_, c, kCandidates);
  candidates_.points = hold(points_, c * d, kCandidates);
  candidates_.listed = hold(listed_, c * k, kCandidates);
  candidates_.lengths = hold(lengths_, k, kCandidates);
  candidates_.mark_stride = model_.max_tiles();
  candidates_.marks = hold(marks_, c * static_cast<size_t>(candidates_.mark_stride), kCandidates);
  candidates_.touched = hold(touched_, c * k, kCandidates);
  candidates_.removals = hold(removals_, 2 * c * k, kCandidates);
  candidates_.recoveries = candidates_.removals + c * k;
  candidates_.found = hold(swaps_, c, kCandidates);
  pieces_ = PinnedBuffer<double>(2 * std::min(n, kPiece), kRows);
}

void DeviceSwapScores::assign(const Matrix& centroids, ThreadPool&) {
  use_device();
  std::vector<double> wide;
  as_float_type(centroids.type(), [&]<class T>(T) {
    const std::span<const T> values = centroids.values<T>();
    wide.assign(values.begin(), values.end());
  });
  copies_.synchronize("copying distances");  // of the model before
  staged_.send(address_of(centroids_.data()), wide.data(), wide.size() * sizeof(double), stream_,
               "uploading centroids");
  find_two_nearest(model_, stream_);
  found_.record(stream_);
  copies_.wait_for(found_, "finding the two nearest centroids");
  find_removal_costs(model_, stream_);
  summed_ = false;
}

// A running sum over all rows is as long as a chain of additions can be, and a processor is faster at that than the
// device.
std::span<const double> DeviceSwapScores::prefix() {
  if (summed_) return prefix_;
  use_device();
  const auto n = static_cast<size_t>(model_.points.n);
  const size_t piece = std::min(n, kPiece);
  prefix_.resize(n);
  Event copied[2];
  const auto copy = [&](size_t first, size_t number) {
    if (first >= n) return;
    const size_t count = std::min(piece, n - first);
    check(cudaMemcpyAsync(pieces_.data() + number % 2 * piece, products_.data() + first, count * sizeof(double),
                          cudaMemcpyDeviceToHost, copies_),
          "copying distances");
    copied[number % 2].record(copies_);
  };
  const Settled settled(copies_);
  copy(0, 0);
  double sum = 0;
  for (size_t first = 0, number = 0; first < n; first += piece, ++number) {
    copy(first + piece, number + 1);
    copied[number % 2].synchronize(copies_, "copying distances");
    const double* const values = pieces_.data() + number % 2 * piece;
    const size_t count = std::min(piece, n - first);
    for (size_t i = 0; i < count; ++i) prefix_[first + i] = sum += values[i];
  }
  summed_ = true;
  return prefix_;
}

void DeviceSwapScores::look_at(std::span<const int64_t> rows, std::vector<Swap>& found) {
  const auto count = rows.size();
  const auto k = static_cast<size_t>(model_.k);
  candidates_.count = static_cast<int32_t>(count);
  const std::vector<uint32_t> numbers(rows.begin(), rows.end());
  staged_.send(address_of(rows_.data()), numbers.data(), count * sizeof(uint32_t), stream_, "uploading candidates");
  fill_zero(lengths_.data(), k, stream_, "clearing lists");
  fill_zero(touched_.data(), count * k, stream_, "clearing marks");
  fill_zero(marks_.data(), count * static_cast<size_t>(candidates_.mark_stride), stream_, "clearing marks");
  find_best_swaps(model_, candidates_, stream_);
  std::vector<FoundSwap> swaps(count);
  read_back(swaps.data(), swaps_.data(), count, stream_, "scoring swaps");
  for (size_t i = 0; i < count; ++i) found.push_back({rows[i], swaps[i].removed, swaps[i].cluster, swaps[i].change});
}

std::vector<Swap> DeviceSwapScores::best_swaps(std::span<const int64_t> rows, ThreadPool&) {
  use_device();
  std::vector<Swap> found;
  const auto together = static_cast<size_t>(room_.candidates);
  for (size_t first = 0; first < rows.size(); first += together) {
    look_at(rows.subspan(first, std::min(together, rows.size() - first)), found);
  }
  return found;
}

}  // namespace manymeans::cuda
