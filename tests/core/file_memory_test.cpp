#include "core/file_memory.h"

#include <manymeans/error.h>
#include <manymeans/points.h>

#include "core/aligned_buffer.h"
#include "core/row_window.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

constexpr size_t kSize = size_t{3} << 20;

// Pages of the array that this process has mapped, by /proc/self/smaps: bytes in memory.
int64_t resident_bytes(const void* data) {
  std::ifstream file("/proc/self/smaps");
  const auto at = reinterpret_cast<uintptr_t>(data);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= at && at < end;
    long kibibytes = 0;
    if (inside && std::sscanf(line.c_str(), "Rss: %ld kB", &kibibytes) == 1) return kibibytes * 1024;
  }
  return -1;
}

TEST(FileMemory, KeepsWhatIsGivenBack) {
  AlignedBuffer<uint32_t> buffer(kSize / 4, Storage::kFile);
  EXPECT_EQ(std::count(buffer.data(), buffer.data() + buffer.size(), 0), static_cast<int64_t>(buffer.size()));
  std::iota(buffer.data(), buffer.data() + buffer.size(), 7);
  EXPECT_GE(resident_bytes(buffer.data()), static_cast<int64_t>(kSize));
  buffer.give_back(0, buffer.size());
  EXPECT_EQ(resident_bytes(buffer.data()), 0);
  for (size_t i = 0; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], i + 7);
}

TEST(FileMemory, OrdinaryBuffersAreNeverGivenBack) {
  AlignedBuffer<uint32_t> buffer(kSize / 4, Storage::kMemory);
  std::fill_n(buffer.data(), buffer.size(), 5U);
  buffer.give_back(0, buffer.size());
  EXPECT_EQ(std::count(buffer.data(), buffer.data() + buffer.size(), 5U), static_cast<int64_t>(buffer.size()));
}

TEST(FileMemory, KnowsWhichPagesLieInFiles) {
  const std::vector<char> heap(kSize);
  EXPECT_FALSE(lies_in_file(heap.data(), heap.size()));
  const AlignedBuffer<char> shared(kSize, Storage::kFile);
  EXPECT_TRUE(lies_in_file(shared.data(), shared.size()));
  EXPECT_TRUE(lies_in_file(shared.data() + 5000, 100));
  EXPECT_FALSE(lies_in_file(shared.data(), 0));

  std::string name = testing::TempDir() + "manymeans-XXXXXX";
  const int file = ::mkstemp(name.data());
  ASSERT_EQ(::ftruncate(file, kSize), 0);
  auto* read_only = static_cast<char*>(::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, file, 0));
  auto* changed = static_cast<char*>(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0));
  EXPECT_TRUE(lies_in_file(read_only, kSize));
  EXPECT_FALSE(lies_in_file(changed, kSize));
  changed[kSize / 2] = 1;  // a page of its own, which giving back would lose
  ASSERT_EQ(::mprotect(changed, kSize, PROT_READ), 0);
  EXPECT_FALSE(lies_in_file(changed, kSize));
  ::munmap(read_only, kSize);
  ::munmap(changed, kSize);
  ::close(file);
  ::unlink(name.c_str());
}

TEST(FileMemory, AFullDiskIsAnErrorAtOnce) {
  try {
    map_temporary(size_t{1} << 55);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_NE(std::string(error.what()).find("TMPDIR"), std::string::npos) << error.what();
  }
}

TEST(FileMemory, AFolderThatIsNotThereIsAnError) {
  const char* before = ::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/there/is/no/such/folder", 1);
  EXPECT_THROW(map_temporary(4096), Error);
  EXPECT_THROW(Labels(10, 3, true), Error);
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
}

TEST(FileMemory, BytesThatGrowKeepWhatWasThere) {
  TemporaryBytes bytes;
  bytes.resize(5000);
  std::fill_n(bytes.data(), 5000, std::byte{9});
  bytes.resize(kSize);
  EXPECT_EQ(std::count(bytes.data(), bytes.data() + kSize, std::byte{9}), 5000);
  bytes.resize(100);
  bytes.resize(200);
  EXPECT_EQ(std::count(bytes.data(), bytes.data() + 200, std::byte{9}), 100);
  TemporaryBytes other = std::move(bytes);
  EXPECT_EQ(other.size(), 200U);
  EXPECT_EQ(bytes.data(), nullptr);
}

TEST(Labels, InAFileAreTheSame) {
  for (const int64_t k : {3, 300, 70000}) {
    Labels labels(100'000, k, true);
    EXPECT_TRUE(labels.in_file());
    for (int64_t i = 0; i < labels.size(); ++i) {
      const auto label = static_cast<uint32_t>(i % k);
      labels.write(i, 1, &label);
    }
    const Labels copy = labels;
    Labels moved = std::move(labels);
    moved.give_back(0, moved.size());
    EXPECT_TRUE(labels.empty());
    EXPECT_EQ(copy.width(), moved.width());
    for (int64_t i = 0; i < moved.size(); ++i) {
      ASSERT_EQ(moved[i], static_cast<uint32_t>(i % k));
      ASSERT_EQ(copy[i], moved[i]);
    }
  }
}

// Every chunk is given back once when its last row is done, whoever does it, and all once more at the end.
TEST(RowPass, GivesBackWholeChunksOnce) {
  const PointsView points(static_cast<const void*>(nullptr), 100'000, 3, DataType::kFloat32);
  const RowWindow window(points, false, 777, 0);
  ThreadPool pool(3);
  for (const int64_t grain : {1, 100, 777, 5000}) {
    std::mutex mutex;
    std::map<std::pair<int64_t, int64_t>, int> given;
    {
      RowPass pass(window, 0, points.n, [&](int64_t first, int64_t last) {
        const std::lock_guard lock(mutex);
        ++given[{first, last}];
      });
      pool.for_each_range(points.n, grain, [&](int, int64_t first, int64_t last) { pass.done(first, last); });
      int64_t rows = 0;
      for (const auto& [range, times] : given) {
        EXPECT_EQ(range.first % 777, 0);
        EXPECT_EQ(times, 1);
        rows += range.second - range.first;
      }
      EXPECT_EQ(rows, points.n) << grain;
    }
    EXPECT_EQ((given[{0, points.n}]), 1);
  }
}

TEST(RowPass, LeavesOnlyThePiecesAtWorkInMemory) {
  constexpr int64_t kRows = 400'000;
  AlignedBuffer<float> x(kRows * 16, Storage::kFile);  // 25 MB
  const PointsView points(x.data(), kRows, 16);
  const RowWindow window(points, true, 4096, 8192);  // chunks of 256 KiB; 512 KiB stay
  std::atomic<int64_t> most{0};
  ThreadPool pool(2);
  for (int round = 0; round < 2; ++round) {
    window.for_each_range(pool, kRows, 1024, [&](int, int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) x[static_cast<size_t>(i * 16)] += 1;
      if (first % 32768 != 0) return;
      const int64_t now = resident_bytes(x.data());
      for (int64_t seen = most.load(); now > seen && !most.compare_exchange_weak(seen, now);) {
      }
    });
    EXPECT_LE(resident_bytes(x.data()), (512 + 64) << 10);
  }
  EXPECT_GT(most.load(), 512 << 10);
  EXPECT_LT(most.load(), 6 << 20);  // of 25
  for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(x[static_cast<size_t>(i * 16)], 2);
}

}  // namespace
}  // namespace manymeans::test
