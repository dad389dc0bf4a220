// What kernels count in 32 bits, near its end.
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/runtime/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::DeviceBuffer;
using cuda::kMaxSplit;
using cuda::SplitRow;

// Marks of two models' rows, and the list into which some of them are taken.
class Marked {
 public:
  static constexpr int64_t kRows = 32 * 1024;
  static constexpr int64_t kWords = kRows / 32;

  Marked() : marks_(2 * kWords, "marks"), split_(kMaxSplit, "rows"), numbers_(3, "numbers"), control_(1, "control") {
    fill_zero(control_.data(), 1, stream_, "test data");
    const uint32_t some = 1;  // something is marked
    copy_to_device(numbers_.data() + 1, &some, 1, stream_, "test data");
    task_.points.n = kRows;
    task_.ranges.count = 2;
    task_.ranges.control = control_.data();
    task_.marks = marks_.data();
    task_.mark_stride = kWords;
    task_.marked = numbers_.data() + 1;
    task_.split = split_.data();
    task_.split_count = numbers_.data();
    stream_.synchronize("test data");
  }

  /// Marks all rows of one model and none of the other, and takes what there is room for, as if so many had been taken
  /// before.
  void gather(int model, uint32_t count_before) {
    std::vector<uint32_t> all(2 * kWords, 0);
    std::fill_n(all.begin() + model * kWords, kWords, ~0U);
    copy_to_device(marks_.data(), all.data(), all.size(), stream_, "test data");
    copy_to_device(numbers_.data(), &count_before, 1, stream_, "test data");
    gather_split_rows(task_, stream_);
    stream_.synchronize("gathering");
  }
  uint32_t count() const { return fetched(numbers_.data(), 1)[0]; }
  std::vector<SplitRow> rows() const { return fetched(split_.data(), split_.size()); }
  int64_t still_marked() const {
    int64_t marked = 0;
    for (const uint32_t word : fetched(marks_.data(), marks_.size())) marked += __builtin_popcount(word);
    return marked;
  }

 private:
  template <class T>
  std::vector<T> fetched(const T* from, size_t count) const {
    std::vector<T> values(count);
    cuda::check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "test data");
    return values;
  }

  cuda::Stream stream_;
  DeviceBuffer<uint32_t> marks_;
  DeviceBuffer<SplitRow> split_;
  DeviceBuffer<uint32_t> numbers_;
  DeviceBuffer<cuda::PassControl> control_;
  cuda::ResolveTask task_;
};

// The number of rows that wanted a place comes near 2^32: it must not come round, which would give away places that are
// taken, and lose the rows that had them.
TEST(CudaResolve, PlacesOfRowsAreGivenOnce) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  Marked marked;
  marked.gather(0, 0);
  EXPECT_GE(marked.count(), static_cast<uint32_t>(kMaxSplit));
  EXPECT_EQ(marked.still_marked(), Marked::kRows - kMaxSplit);
  for (const SplitRow& row : marked.rows()) ASSERT_EQ(row.range, 0);
  marked.gather(1, ~0U - 100);  // as if nearly 2^32 had come by
  EXPECT_GE(marked.count(), static_cast<uint32_t>(kMaxSplit));
  EXPECT_EQ(marked.still_marked(), Marked::kRows) << "nobody takes what finds no room";
  for (const SplitRow& row : marked.rows()) ASSERT_EQ(row.range, 0) << "a place was given twice";
}

}  // namespace
}  // namespace manymeans::test
