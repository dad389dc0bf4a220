// The points on a device: all at once if they fit, else in slices of rows. A slice is copied while the device works on
// the slice before.
#pragma once

#include "backend/device/queue.h"
#include "backend/device/uploader.h"
#include "data/input.h"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace manymeans::device {

/// Used if not everything fits: the rows that a pass has on the device together, and the first rows, whole slices,
/// whose points stay there. All points that lie on the device already stay there.
struct SlicePlan {
  int64_t slice_rows = 0;
  int64_t resident_rows = 0;

  /// All rows at once.
  bool whole(int64_t n) const { return slice_rows >= n; }
};
constexpr int64_t kAllSlices = int64_t{1} << 62;

/// Rows that are on the device together: row-major without gaps, in the type they came in.
struct Rows {
  Address points;
  Address weights;    ///< w' of Input, as binary64; null: all one
  int64_t first = 0;  ///< the number of the first row among all
  int64_t count = 0;

  /// `some` of the rows, from number `from` on.
  Rows part(int64_t from, int64_t some, size_t row_bytes) const {
    const auto at = static_cast<size_t>(from);
    return {points + at * row_bytes, weights ? weights + at * sizeof(double) : Address(), first + from, some};
  }
};

/// Copies points of the host's memory to the device's. Few bytes may still be under way when this returns.
void upload_points(const Runtime& runtime, Address to, std::span<const std::byte> from, const Uploader::Host& host,
                   const Queue& queue);

class RowSlices {
 public:
  using Host = Uploader::Host;
  /// `input` and the runtime must outlive this. Enqueues uploads in `queue`; the last of them may still be under way
  /// when this returns.
  RowSlices(const Input& input, const SlicePlan& plan, const Host& host, const Queue& queue);
  ~RowSlices();

  bool whole() const { return plan_.whole(input_.points.n); }
  /// All rows; `points` is null where they are not all on the device.
  const Rows& all() const { return all_; }

  /// Calls body(rows) for all slices in some order, of plan.slice_rows or fewer, or for `most` of them. It enqueues in
  /// `queue` what reads them. One thread after the other. Throws Error(kInterrupted) once `abort` is set.
  void for_each(const Queue& queue, const std::function<void(const Rows&)>& body, int64_t most = kAllSlices);

  /// One row, in `buffer` where it does not stay on the device. Waits for the copy.
  Rows row(int64_t row, Buffer& buffer, const Queue& queue) const;

 private:
  struct Room {  // for a slice
    Buffer points;
    std::unique_ptr<Event> come, read;
  };

  bool streams() const { return !all_.points; }
  size_t row_bytes() const { return static_cast<size_t>(input_.points.d) * size_of(input_.points.type); }
  const std::byte* host_row(int64_t row) const;
  void upload_weights(const Queue& queue);
  void upload_resident(const Queue& queue);
  Rows part(int64_t first, int64_t rows, Address points) const;
  Rows fetch(int64_t first, int64_t rows, const Queue& queue);
  std::vector<int64_t> order(int64_t most) const;
  void leave(const Queue& queue, bool in_the_middle) noexcept;

  const Input& input_;
  const Runtime& runtime_;
  SlicePlan plan_;
  Host host_;
  Rows all_;
  Buffer weights_;
  Buffer resident_;
  std::array<Room, 2> rooms_;
  size_t next_room_ = 0;
  std::unique_ptr<Event> left_;  // by the session before
  std::mutex mutex_;
  // Copies of their own queue, while others compute; last, so that they are over before what they write goes.
  std::unique_ptr<Uploader> uploader_;
  std::unique_ptr<Queue> copies_;
};

}  // namespace manymeans::device
