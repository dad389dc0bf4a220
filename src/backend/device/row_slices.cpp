#include "backend/device/row_slices.h"

#include <algorithm>

namespace manymeans::device {
namespace {

constexpr size_t kMinUploaded = size_t{128} << 10;  // below, one thread that copies is as fast

}  // namespace

void upload_points(const Runtime& runtime, Address to, std::span<const std::byte> from, const Uploader::Host& host,
                   const Queue& queue) {
  if (from.size() < kMinUploaded) {
    return queue.copy_to_device(to, from.data(), from.size(), "the points");
  }
  Uploader uploader(runtime, from.size(), host);
  const Settled settled(queue);
  uploader.send(to, from.data(), from.size(), queue, "copying the points");
  queue.synchronize("uploading the points");
}

RowSlices::RowSlices(const Input& input, const SlicePlan& plan, const Host& host, const Queue& queue)
    : input_(input), runtime_(queue.runtime()), plan_(plan), host_(host), left_(runtime_.make_event()) {
  const Settled settled(queue);  // what is made after these may fail
  for (Room& room : rooms_) {
    room.come = runtime_.make_event();
    room.read = runtime_.make_event();
  }
  const PointsView& from = input.points;
  all_.count = from.n;
  if (from.on_device()) all_.points = {const_cast<void*>(from.data), 0};  // which is never written
  upload_weights(queue);
  upload_resident(queue);
  for (Room& room : rooms_) {
    if (!streams()) break;
    room.points = Buffer(runtime_, static_cast<size_t>(plan_.slice_rows) * row_bytes(), "a slice of points");
  }
  left_->record(queue);
}

// Copies of a slice may be under way.
RowSlices::~RowSlices() {
  if (copies_) copies_->settle();
}

const std::byte* RowSlices::host_row(int64_t row) const {
  return static_cast<const std::byte*>(input_.points.data) + static_cast<size_t>(row) * row_bytes();
}

void RowSlices::upload_weights(const Queue& queue) {
  if (input_.weights.empty()) return;
  const size_t bytes = input_.weights.size() * sizeof(double);
  weights_ = Buffer(runtime_, bytes, "the weights");
  queue.copy_to_device(weights_.at(), input_.weights.data(), bytes, "the weights");
  all_.weights = weights_.at();
}

// Uploads the rows that stay on the device.
void RowSlices::upload_resident(const Queue& queue) {
  if (input_.points.on_device()) return;
  const size_t bytes = static_cast<size_t>(plan_.resident_rows) * row_bytes();
  resident_ = Buffer(runtime_, bytes, "the points");
  if (plan_.resident_rows == input_.points.n) {
    all_.points = resident_.at();
    return upload_points(runtime_, resident_.at(), {host_row(0), bytes}, host_, queue);
  }
  const size_t slice_bytes = static_cast<size_t>(plan_.slice_rows) * row_bytes();
  uploader_ = std::make_unique<Uploader>(runtime_, std::max(bytes, slice_bytes), host_);
  copies_ = runtime_.make_queue(queue.patience());
  uploader_->send(resident_.at(), host_row(0), bytes, *copies_, "copying the points");
  copies_->synchronize("uploading the points");
}

Rows RowSlices::part(int64_t first, int64_t rows, Address points) const {
  const Address weights = all_.weights ? all_.weights + static_cast<size_t>(first) * sizeof(double) : Address();
  return {points, weights, first, rows};
}

// Rows on the device, at the latest when what `queue` holds now is done.
Rows RowSlices::fetch(int64_t first, int64_t rows, const Queue& queue) {
  const size_t offset = static_cast<size_t>(first) * row_bytes();
  if (!streams()) return part(first, rows, all_.points + offset);
  if (first < plan_.resident_rows) return part(first, rows, resident_.at(offset));
  Room& room = rooms_[next_room_ % rooms_.size()];
  copies_->wait_for(*room.read, "waiting for a slice to be read");
  const size_t bytes = static_cast<size_t>(rows) * row_bytes();
  uploader_->send(room.points.at(), host_row(first), bytes, *copies_, "copying the points");
  room.come->record(*copies_);
  queue.wait_for(*room.come, "waiting for a slice");
  return part(first, rows, room.points.at());
}

// The first rows of `most` slices. Slices that stay on the device are spread evenly among the others, so that there is
// work while those come.
std::vector<int64_t> RowSlices::order(int64_t most) const {
  std::vector<int64_t> first_rows;
  const int64_t n = input_.points.n;
  const int64_t here = std::min(plan_.resident_rows, n);
  const auto share = static_cast<double>(here) / static_cast<double>(n);
  int64_t resident = 0;
  int64_t streamed = here;
  while (static_cast<int64_t>(first_rows.size()) < most && (resident < here || streamed < n)) {
    const auto wanted = static_cast<int64_t>(share * static_cast<double>(resident + streamed - here));
    int64_t& next = resident < here && (resident <= wanted || streamed >= n) ? resident : streamed;
    first_rows.push_back(next);
    next += plan_.slice_rows;
  }
  return first_rows;
}

// The next one, of this session and of the others, waits for all that this one has read, or begun to make. This also
// holds if an exception ends the work, since begun work continues.
void RowSlices::leave(const Queue& queue, bool in_the_middle) noexcept {
  for (Room& room : rooms_) {
    if (in_the_middle) room.read->try_record(queue);
  }
  left_->try_record(queue);
}

void RowSlices::for_each(const Queue& queue, const std::function<void(const Rows&)>& body, int64_t most) {
  // Runtimes hold about a thousand launches and then wait for the device on their own: for ever, if it hangs.
  constexpr int kSlicesUnderWay = 32;
  if (whole()) return body(all_);
  const std::lock_guard lock(mutex_);
  queue.wait_for(*left_, "waiting for another session");
  struct Leaving {
    RowSlices& slices;
    const Queue& queue;
    bool in_the_middle = true;
    ~Leaving() { slices.leave(queue, in_the_middle); }
  } leaving{*this, queue};
  int under_way = 0;
  for (const int64_t first : order(most)) {
    check_abort(host_.abort);
    if (++under_way % kSlicesUnderWay == 0) queue.synchronize("a part of the points");
    body(fetch(first, std::min(plan_.slice_rows, input_.points.n - first), queue));
    if (streams() && first >= plan_.resident_rows) rooms_[next_room_++ % rooms_.size()].read->record(queue);
  }
  leaving.in_the_middle = false;
}

Rows RowSlices::row(int64_t row, Buffer& buffer, const Queue& queue) const {
  if (!streams()) return part(row, 1, all_.points + static_cast<size_t>(row) * row_bytes());
  buffer.reserve(runtime_, row_bytes(), "a row");
  queue.copy_to_device(buffer.at(), host_row(row), row_bytes(), "a row");
  queue.synchronize("copying a row");
  return part(row, 1, buffer.at());
}

}  // namespace manymeans::device
