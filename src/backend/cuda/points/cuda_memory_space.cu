// Points that their owner keeps on a device, read by the host.
#include <manymeans/error.h>

#include "backend/cuda/points/scan_columns.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/on_device.h"
#include "core/memory_space.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

namespace manymeans {
namespace {

Error wrong_place(const std::string& what) {
  return Error(ErrorCode::kUsage, "points", "place: " + what);
}

// Throws unless the address can be read by kernels on that device.
void check_place(const PointsView& points) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    count = 0;
  }
  if (points.place.device < 0 || points.place.device >= count) {
    throw wrong_place("there is no device " + std::to_string(points.place.device) + "; there are " +
                      std::to_string(count));
  }
  cudaPointerAttributes attributes;
  cuda::check(cudaPointerGetAttributes(&attributes, points.data), "asking where the points lie");
  const bool managed = attributes.type == cudaMemoryTypeManaged;
  if (!managed && attributes.type != cudaMemoryTypeDevice) {
    throw wrong_place("the values lie in the host's memory; leave the place out for those");
  }
  if (!managed && attributes.device != points.place.device) {
    throw wrong_place("the values lie on device " + std::to_string(attributes.device) + ", not " +
                      std::to_string(points.place.device));
  }
  if (reinterpret_cast<uintptr_t>(points.data) % size_of(points.type) != 0) {
    throw wrong_place("the address is no multiple of the size of a value");
  }
}

// The work of a call in the thread's own stream, which holds nothing else and takes milliseconds. It is over before its
// operands are freed, also when an exception passes.
struct OwnWork {
  ~OwnWork() { cudaStreamSynchronize(cudaStreamPerThread); }
};

// A block a row.
template <class Word>
__global__ void gather_kernel(const Word* points, const int64_t* rows, int64_t words, Word* out) {
  const Word* from = points + rows[blockIdx.x] * words;
  Word* to = out + blockIdx.x * words;
  for (int64_t at = threadIdx.x; at < words; at += blockDim.x) to[at] = from[at];
}

template <class Word>
void gather_words(const PointsView& points, std::span<const int64_t> rows, void* out) {
  const cudaStream_t stream = cudaStreamPerThread;
  constexpr size_t kTogether = size_t{1} << 24;  // rows whose numbers are on the device at a time
  const auto words = static_cast<int64_t>(static_cast<size_t>(points.d) * size_of(points.type) / sizeof(Word));
  cuda::DeviceBuffer<int64_t> numbers(std::min(rows.size(), kTogether), "numbers of rows");
  const OwnWork settled;
  for (size_t first = 0; first < rows.size(); first += kTogether) {
    const std::span<const int64_t> some = rows.subspan(first, std::min(kTogether, rows.size() - first));
    cuda::copy_to_device(numbers.data(), some.data(), some.size(), stream, "gathering rows");
    gather_kernel<<<static_cast<unsigned>(some.size()), 128, 0, stream>>>(
        static_cast<const Word*>(points.data), numbers.data(), words,
        static_cast<Word*>(out) + static_cast<int64_t>(first) * words);
    cuda::check_launch("gathering rows");
  }
  cuda::check(cudaStreamSynchronize(stream), "gathering rows");
}

// Into memory of the device, by the widest words that the rows allow.
void gather_rows(const PointsView& points, std::span<const int64_t> rows, void* out) {
  const size_t row_bytes = static_cast<size_t>(points.d) * size_of(points.type);
  const bool wide = row_bytes % sizeof(uint4) == 0 && reinterpret_cast<uintptr_t>(points.data) % sizeof(uint4) == 0;
  wide ? gather_words<uint4>(points, rows, out) : gather_words<char>(points, rows, out);
}

class CudaMemorySpace final : public MemorySpace {
 public:
  std::string_view backend() const override { return "cuda"; }
  int device_of(const void* address) const override;
  void await(const PointsView& points) const override;
  void check(const PointsView& points) const override { check_place(points); }
  void fetch_bytes(const PointsView& points, size_t first, size_t count, void* out) const override;
  void fetch_rows(const PointsView& points, std::span<const int64_t> rows, void* out) const override;
  int64_t gather_bytes(const PointsView& points) const override;
  std::shared_ptr<const void> gather(const PointsView& points, std::span<const int64_t> rows,
                                     PointsView& copy) const override;
  void store_bytes(const ResultRoom& room, size_t first, size_t count, const void* from) const override;
  DeviceScan scan_columns(const PointsView& points, std::span<const double> weights) const override {
    return cuda::scan_columns(points, weights);
  }
  std::vector<MomentSums> sum_moments(const PointsView& points, std::span<const MomentFormats> formats) const override {
    return cuda::sum_moments(points, formats);
  }
};

int CudaMemorySpace::device_of(const void* address) const {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    cudaGetLastError();
    return -1;
  }
  const bool here = attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return here ? attributes.device : -1;
}

void CudaMemorySpace::await(const PointsView& points) const {
  check_place(points);
  const cuda::OnDevice here(points.place.device);
  const auto stream = static_cast<cudaStream_t>(points.place.queue);
  // Each thread has a stream of this name; which one is meant cannot be known here.
  const bool whose = stream == cudaStreamPerThread;
  // The owner's work there has no known time limit.
  cuda::check(whose ? cudaDeviceSynchronize() : cudaStreamSynchronize(stream), "waiting for the points");
}

void CudaMemorySpace::fetch_bytes(const PointsView& points, size_t first, size_t count, void* out) const {
  const cuda::OnDevice here(points.place.device);
  const void* from = static_cast<const std::byte*>(points.data) + first;
  const OwnWork settled;
  cuda::check(cudaMemcpyAsync(out, from, count, cudaMemcpyDeviceToHost, cudaStreamPerThread), "fetching points");
  cuda::check(cudaStreamSynchronize(cudaStreamPerThread), "fetching points");
}

void CudaMemorySpace::store_bytes(const ResultRoom& room, size_t first, size_t count, const void* from) const {
  const cuda::OnDevice here(room.place.device);
  const OwnWork settled;
  cuda::check(cudaMemcpyAsync(static_cast<std::byte*>(room.data) + first, from, count, cudaMemcpyHostToDevice,
                              cudaStreamPerThread),
              "storing results");
  cuda::check(cudaStreamSynchronize(cudaStreamPerThread), "storing results");
}

void CudaMemorySpace::fetch_rows(const PointsView& points, std::span<const int64_t> rows, void* out) const {
  constexpr size_t kMaxBytes = size_t{64} << 20;  // of scratch on a device that may be nearly full
  const cuda::OnDevice here(points.place.device);
  const size_t row_bytes = static_cast<size_t>(points.d) * size_of(points.type);
  const size_t together =
      std::clamp<size_t>(kMaxBytes / (row_bytes + sizeof(int64_t)), 1, std::max<size_t>(1, rows.size()));
  cuda::DeviceBuffer<char> gathered(together * row_bytes, "rows to fetch");
  for (size_t first = 0; first < rows.size(); first += together) {
    const std::span<const int64_t> some = rows.subspan(first, std::min(together, rows.size() - first));
    gather_rows(points, some, gathered.data());
    const OwnWork settled;
    cuda::check(cudaMemcpyAsync(static_cast<char*>(out) + first * row_bytes, gathered.data(), some.size() * row_bytes,
                                cudaMemcpyDeviceToHost, cudaStreamPerThread),
                "fetching rows");
    cuda::check(cudaStreamSynchronize(cudaStreamPerThread), "fetching rows");
  }
}

// Sessions of the rows need memory, too.
int64_t CudaMemorySpace::gather_bytes(const PointsView& points) const {
  const cuda::OnDevice here(points.place.device);
  return cuda::free_device_memory() / 4;
}

std::shared_ptr<const void> CudaMemorySpace::gather(const PointsView& points, std::span<const int64_t> rows,
                                                    PointsView& copy) const {
  const cuda::OnDevice here(points.place.device);
  copy = points;
  copy.n = std::ssize(rows);
  auto values = std::make_shared<cuda::DeviceBuffer<char>>(copy.bytes(), "rows of the points");
  gather_rows(points, rows, values->data());
  copy.data = values->data();
  return values;
}

}  // namespace

const MemorySpace& cuda_memory_space() {
  static const CudaMemorySpace kSpace;
  return kSpace;
}

}  // namespace manymeans
