// Large copies by threads that fill pieces, to a queue that is late.
#include "backend/device/uploader.h"

#include <manymeans/error.h>

#include "backend/device/async_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using device::Buffer;
using device::Uploader;

constexpr size_t kPiece = size_t{512} << 10;

std::vector<std::byte> random_bytes(size_t count) {
  static std::mt19937 random(3);
  std::vector<std::byte> values(count);
  for (std::byte& value : values) value = static_cast<std::byte>(random());
  return values;
}

std::vector<std::byte> read_all(const Buffer& from, const AsyncQueue& queue) {
  std::vector<std::byte> found(from.bytes());
  queue.read_back(found.data(), from.at(), found.size(), "reading a test's data");
  return found;
}

// Fewer pieces than places and more, several calls by the same places; the source goes at once.
TEST(Uploader, SourcesMayGoAtOnce) {
  const AsyncQueue queue{{}};
  for (const int threads : {1, 2, 3, 9}) {
    for (const size_t most : {size_t{1}, 3 * kPiece, 100 * kPiece}) {
      Uploader uploader(async_runtime(), most, {threads});
      const std::vector<std::byte> all = random_bytes(45 * kPiece + 77);
      const Buffer there(async_runtime(), all.size(), "test data");
      size_t at = 0;
      for (const size_t some : {size_t{0}, size_t{1}, kPiece, 2 * kPiece + 5, 37 * kPiece, all.size()}) {
        const size_t count = std::min(some, all.size() - at);
        std::vector<std::byte> source(all.begin() + static_cast<int64_t>(at),
                                      all.begin() + static_cast<int64_t>(at + count));
        uploader.send(there.at(at), source.data(), count, queue, "test data");
        std::ranges::fill(source, std::byte{0});
        at += count;
      }
      EXPECT_EQ(read_all(there, queue), all) << threads << " threads, places for " << most << " bytes";
    }
  }
}

// Nobody waits for a piece that no longer comes.
TEST(Uploader, EndsWhereTheCallerDoes) {
  const AsyncQueue queue{{}};
  std::atomic<bool> abort{true};
  const std::vector<std::byte> all = random_bytes(40 * kPiece);
  const Buffer there(async_runtime(), all.size(), "test data");
  for (const int threads : {1, 8}) {
    Uploader uploader(async_runtime(), all.size(), {threads, &abort});
    abort = true;
    EXPECT_THROW(uploader.send(there.at(), all.data(), all.size(), queue, "test data"), Error);
    abort = false;
    uploader.send(there.at(), all.data(), all.size(), queue, "test data");
    EXPECT_EQ(read_all(there, queue), all) << threads << " threads";
  }
}

}  // namespace
}  // namespace manymeans::test
