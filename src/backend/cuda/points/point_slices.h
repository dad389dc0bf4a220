// The points as a pass reads them: all at once where they fit the device, else in slices of rows, which are copied
// while the device works on the slice before.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/point_slice.h"
#include "backend/cuda/device/screen.h"
#include "backend/cuda/float32/float_screen.h"
#include "backend/cuda/points/slice_plan.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/tensor/matrix_pack.h"
#include "core/threads.h"

#include <array>
#include <functional>
#include <mutex>
#include <vector>

namespace manymeans::cuda {

constexpr int64_t kAllSlices = int64_t{1} << 62;

/// What a screen's copies of the rows are made with.
struct SliceFrames {
  HalfFrame half;
  DeviceFrame full;
};

/// Host memory to the device at the link's rate: threads copy pieces into pinned memory, from where the device fetches
/// them meanwhile.
class PointCopier {
 public:
  PointCopier(int threads, const Patience& patience);
  ~PointCopier() { stream_.settle(); }
  /// Enqueues the copy; the last pieces may still be under way when this returns.
  void copy(const std::byte* from, size_t bytes, std::byte* to);
  const Stream& stream() const { return stream_; }

 private:
  struct Piece {
    PinnedBuffer<std::byte> memory;
    Event sent;
  };

  ThreadPool pool_;
  Stream stream_;
  std::array<Piece, 4> pieces_;
  size_t next_ = 0;
};

class PointSlices {
 public:
  /// The frames' pointers and `input` must outlive this. Enqueues uploads in `stream`.
  PointSlices(const Input& input, const SlicePlan& plan, const BackendOptions& options, const SliceFrames& frames,
              const Stream& stream);
  ~PointSlices();

  bool whole() const { return plan_.whole(input_.points.n); }
  /// All rows; `data` is null where they are not all on the device.
  const DevicePoints& points() const { return points_; }

  enum class Use : uint8_t { kPoints, kScreen };
  /// Calls body(slice) for all slices in some order, of plan.slice_rows or fewer, or for `most` of them. It enqueues in
  /// `stream` what reads them. `packed` and `norms` are there for kScreen only. One thread after the other. Throws
  /// Error(kInterrupted) once options.abort is set.
  void for_each(const Stream& stream, Use use, const std::function<void(const PointSlice&)>& body,
                int64_t most = kAllSlices);

  /// One row, in `buffer` if it was not on the device.
  DevicePoints row(int64_t row, DeviceBuffer<std::byte>& buffer, const Stream& stream) const;

 private:
  bool streams() const { return points_.data == nullptr; }
  size_t row_bytes() const { return static_cast<size_t>(points_.d) * size_of(points_.type); }
  const std::byte* host_row(int64_t row) const;
  void upload_weights(cudaStream_t stream);
  void upload_resident(const Stream& stream);
  void make_room();
  DevicePoints part(int64_t first, int64_t rows, const void* data) const;
  DevicePoints fetch(int64_t first, int64_t rows, cudaStream_t stream);
  std::vector<int64_t> order(int64_t most) const;
  void leave(cudaStream_t stream, bool in_the_middle) noexcept;
  void prepare(PointSlice& slice, cudaStream_t stream);

  const Input& input_;
  const SlicePlan& plan_;
  const BackendOptions& options_;
  SliceFrames frames_;
  DevicePoints points_;
  PointSlice whole_;
  DeviceBuffer<std::byte> resident_;  // the first plan.resident_rows rows, of points that the host holds
  DeviceBuffer<double> weights_;
  // Copies of a slice for the screens.
  DeviceBuffer<uint16_t> halves_;
  DeviceBuffer<float> radii_, half_norms_, norms_;
  // Slices that are streamed: one is read while the next one comes.
  struct Buffer {
    DeviceBuffer<std::byte> points;
    Event come, read;
  };
  std::mutex mutex_;
  std::unique_ptr<PointCopier> copier_;
  std::array<Buffer, 2> buffers_;
  size_t next_buffer_ = 0;
  Event left_;  // by whoever called for_each() last
};

}  // namespace manymeans::cuda
