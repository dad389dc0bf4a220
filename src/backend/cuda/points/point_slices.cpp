#include "backend/cuda/points/point_slices.h"

#include <algorithm>
#include <cstring>

namespace manymeans::cuda {
namespace {

constexpr size_t kPieceBytes = size_t{16} << 20;
constexpr int64_t kCopyGrain = int64_t{256} << 10;
constexpr size_t kLeastStaged = size_t{64} << 20;  // below, pinning memory costs more than it saves

bool is_pinned(const void* address) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

void wait_for(cudaStream_t stream, const Event& event, const char* what) {
  check(cudaStreamWaitEvent(stream, event, 0), what);
}

}  // namespace

PointCopier::PointCopier(int threads, const Patience& patience) : pool_(threads, patience.abort), stream_(patience) {
  for (Piece& piece : pieces_) piece.memory = PinnedBuffer<std::byte>(kPieceBytes, "pieces of the points");
}

void PointCopier::copy(const std::byte* from, size_t bytes, std::byte* to) {
  if (is_pinned(from)) return copy_to_device(to, from, bytes, stream_, "the points");
  for (size_t at = 0; at < bytes; at += kPieceBytes) {
    Piece& piece = pieces_[next_++ % pieces_.size()];
    piece.sent.synchronize(stream_, "copying the points");
    const size_t some = std::min(kPieceBytes, bytes - at);
    std::byte* const staged = piece.memory.data();
    pool_.for_each_range(static_cast<int64_t>(some), kCopyGrain, [&](int, int64_t first, int64_t last) {
      std::memcpy(staged + first, from + at + first, static_cast<size_t>(last - first));
    });
    copy_to_device(to + at, staged, some, stream_, "the points");
    piece.sent.record(stream_);
  }
}

PointSlices::PointSlices(const Input& input, const SlicePlan& plan, const BackendOptions& options,
                         const SliceFrames& frames, const Stream& stream)
    : input_(input), plan_(plan), options_(options), frames_(frames) {
  const PointsView& from = input.points;
  points_ = {from.on_device() ? from.data : nullptr, from.type, from.n, from.d, nullptr, 0, input.shard.first};
  upload_weights(stream);
  upload_resident(stream);
  make_room();
  left_.record(stream);
  if (!whole()) return;
  copier_.reset();
  whole_.points = points_;
  prepare(whole_, stream);
}

// Copies of a slice may be under way.
PointSlices::~PointSlices() {
  if (copier_) copier_->stream().settle();
}

const std::byte* PointSlices::host_row(int64_t row) const {
  return static_cast<const std::byte*>(input_.points.data) + static_cast<size_t>(row) * row_bytes();
}

void PointSlices::upload_weights(cudaStream_t stream) {
  if (input_.weights.empty()) return;
  weights_ = DeviceBuffer<double>(input_.weights.size(), "the weights");
  copy_to_device(weights_.data(), input_.weights.data(), input_.weights.size(), stream, "the weights");
  points_.weights = weights_.data();
}

// What stays on the device for good.
void PointSlices::upload_resident(const Stream& stream) {
  if (input_.points.on_device()) return;
  const size_t bytes = static_cast<size_t>(plan_.resident_rows) * row_bytes();
  const bool all = plan_.resident_rows == points_.n;
  if (!all || bytes >= kLeastStaged) {
    const int threads = options_.threads > 0 ? options_.threads : usable_threads();
    copier_ = std::make_unique<PointCopier>(threads, stream.patience());
  }
  resident_ = DeviceBuffer<std::byte>(bytes, "the points");
  if (all) points_.data = resident_.data();
  if (bytes == 0) return;
  if (!copier_) return copy_to_device(resident_.data(), host_row(0), bytes, stream, "the points");
  copier_->copy(host_row(0), bytes, resident_.data());
  copier_->stream().synchronize("uploading the points");
}

void PointSlices::make_room() {
  for (Buffer& buffer : buffers_) {
    if (!streams()) break;
    buffer.points = DeviceBuffer<std::byte>(static_cast<size_t>(plan_.slice_rows) * row_bytes(), "a slice of points");
  }
  const auto rows = static_cast<size_t>((plan_.slice_rows + kRowBlock - 1) / kRowBlock * kRowBlock);
  if (plan_.screen == ScreenKind::kMatrix) {
    halves_ = DeviceBuffer<uint16_t>(rows * static_cast<size_t>(plan_.padded_columns), "the packed points");
    radii_ = DeviceBuffer<float>(rows, "radii of the points");
    half_norms_ = DeviceBuffer<float>(rows, "norms of the points");
  }
  if (plan_.screen != ScreenKind::kNone && points_.d > kLowColumns) {
    norms_ = DeviceBuffer<float>(rows, "norms of the points");
  }
}

DevicePoints PointSlices::part(int64_t first, int64_t rows, const void* data) const {
  const double* weights = points_.weights == nullptr ? nullptr : points_.weights + first;
  return {data, points_.type, rows, points_.d, weights, first, points_.number + first};
}

// Rows on the device, at the latest when what `stream` holds now is done.
DevicePoints PointSlices::fetch(int64_t first, int64_t rows, cudaStream_t stream) {
  const size_t offset = static_cast<size_t>(first) * row_bytes();
  if (!streams()) return part(first, rows, static_cast<const std::byte*>(points_.data) + offset);
  if (first < plan_.resident_rows) return part(first, rows, resident_.data() + offset);
  Buffer& buffer = buffers_[next_buffer_ % buffers_.size()];
  wait_for(copier_->stream(), buffer.read, "waiting for a slice to be read");
  copier_->copy(host_row(first), static_cast<size_t>(rows) * row_bytes(), buffer.points.data());
  buffer.come.record(copier_->stream());
  wait_for(stream, buffer.come, "waiting for a slice");
  return part(first, rows, buffer.points.data());
}

// The screens' copies of the slice's rows.
void PointSlices::prepare(PointSlice& slice, cudaStream_t stream) {
  if (plan_.screen == ScreenKind::kMatrix) {
    PackedRows& packed = slice.packed;
    packed.rows = slice.points.n;
    packed.padded_rows = (packed.rows + kRowBlock - 1) / kRowBlock * kRowBlock;
    packed.padded_columns = plan_.padded_columns;
    packed.values = halves_.data();
    packed.radii = radii_.data();
    packed.norms = half_norms_.data();
    pack_rows(slice.points, frames_.half, packed, stream);
  }
  if (norms_.empty()) return;
  float_norms(slice.points, frames_.full, norms_.data(), stream);
  slice.norms = norms_.data();
}

// The first rows of `most` slices. Those that stay on the device stand evenly among those that come, so that there is
// work while they do.
std::vector<int64_t> PointSlices::order(int64_t most) const {
  std::vector<int64_t> first_rows;
  const int64_t here = std::min(plan_.resident_rows, points_.n);
  const auto share = static_cast<double>(here) / static_cast<double>(points_.n);
  int64_t resident = 0;
  int64_t streamed = here;
  while (static_cast<int64_t>(first_rows.size()) < most && (resident < here || streamed < points_.n)) {
    const auto wanted = static_cast<int64_t>(share * static_cast<double>(resident + streamed - here));
    int64_t& next = resident < here && (resident <= wanted || streamed >= points_.n) ? resident : streamed;
    first_rows.push_back(next);
    next += plan_.slice_rows;
  }
  return first_rows;
}

// What the next one waits for, of this session and of the others: all that this one has read, or begun to make. Also
// where an exception ends the work, since what was begun goes on. A stream that cannot take an event is one of a device
// that nothing works on any more; the next call says so.
void PointSlices::leave(cudaStream_t stream, bool in_the_middle) noexcept {
  for (Buffer& buffer : buffers_) {
    if (in_the_middle) cudaEventRecord(buffer.read, stream);
  }
  cudaEventRecord(left_, stream);
}

void PointSlices::for_each(const Stream& stream, Use use, const std::function<void(const PointSlice&)>& body,
                           int64_t most) {
  // The runtime holds about a thousand launches and then waits for the device by itself: for ever, if that hangs.
  constexpr int kSlicesUnderWay = 32;
  if (whole()) return body(whole_);
  const std::lock_guard lock(mutex_);
  wait_for(stream, left_, "waiting for another session");
  struct Leaving {
    PointSlices& slices;
    cudaStream_t stream;
    bool in_the_middle = true;
    ~Leaving() { slices.leave(stream, in_the_middle); }
  } leaving{*this, stream};
  int under_way = 0;
  for (const int64_t first : order(most)) {
    check_abort(options_.abort);
    if (++under_way % kSlicesUnderWay == 0) stream.synchronize("a part of the points");
    PointSlice slice;
    slice.points = fetch(first, std::min(plan_.slice_rows, points_.n - first), stream);
    if (use == Use::kScreen) prepare(slice, stream);
    body(slice);
    if (streams() && first >= plan_.resident_rows) {
      buffers_[next_buffer_++ % buffers_.size()].read.record(stream);
    }
  }
  leaving.in_the_middle = false;
}

DevicePoints PointSlices::row(int64_t row, DeviceBuffer<std::byte>& buffer, const Stream& stream) const {
  if (!streams()) {
    return part(row, 1, static_cast<const std::byte*>(points_.data) + static_cast<size_t>(row) * row_bytes());
  }
  buffer.reserve(row_bytes(), "a row");
  copy_to_device(buffer.data(), host_row(row), row_bytes(), stream, "a row");
  stream.synchronize("copying a row");
  return part(row, 1, buffer.data());
}

}  // namespace manymeans::cuda
