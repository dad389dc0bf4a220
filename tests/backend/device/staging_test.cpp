// Copies through pinned pieces, both ways, by a queue that is late.
#include "backend/device/staging.h"

#include "backend/device/async_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using device::Address;
using device::Buffer;
using device::Staging;

constexpr size_t kPiece = 1000;

std::vector<std::byte> random_bytes(size_t count) {
  static std::mt19937_64 random(3);
  std::vector<std::byte> values(count);
  for (std::byte& value : values) value = static_cast<std::byte>(random());
  return values;
}

std::vector<std::byte> read_all(const Buffer& from, const AsyncQueue& queue) {
  std::vector<std::byte> found(from.bytes());
  queue.read_back(found.data(), from.at(), found.size(), "reading a test's data");
  return found;
}

TEST(Staging, SourcesMayGoAtOnce) {
  const AsyncQueue queue{{}};
  for (const int threads : {1, 3}) {
    for (const size_t least : {size_t{0}, kPiece}) {
      Staging staging(async_runtime(), {least, kPiece}, threads);
      const std::vector<std::byte> all = random_bytes(20 * kPiece);
      const Buffer there(async_runtime(), all.size(), "test data");
      size_t at = 0;
      for (size_t some = 1; at < all.size(); some = some * 3 + 1) {
        some = std::min(some, all.size() - at);
        std::vector<std::byte> source(all.begin() + static_cast<int64_t>(at),
                                      all.begin() + static_cast<int64_t>(at + some));
        staging.send(there.at(at), source.data(), some, queue, "test data");
        std::ranges::fill(source, std::byte{0});
        at += some;
      }
      EXPECT_EQ(read_all(there, queue), all) << threads << " threads";
    }
  }
}

TEST(Staging, FetchesSeveralThroughOnePlace) {
  const AsyncQueue queue{{}};
  for (const int threads : {1, 5}) {
    Staging staging(async_runtime(), {kPiece, kPiece}, threads);
    for (const size_t bytes : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece + 77, size_t{301}}) {
      for (const size_t models : {0, 1, 2, 7}) {
        const std::vector<std::byte> values = random_bytes(models * bytes);
        const Buffer place(async_runtime(), bytes, "test data");
        std::vector<std::vector<std::byte>> found(models, std::vector<std::byte>(bytes));
        std::vector<std::byte*> to;
        for (std::vector<std::byte>& each : found) to.push_back(each.data());
        const auto from = [&](size_t i) {
          queue.copy_to_device(place.at(), values.data() + i * bytes, bytes, "test data");
          return place.at();
        };
        staging.fetch(bytes, to, from, queue, "test data");
        for (size_t i = 0; i < models; ++i) {
          EXPECT_TRUE(std::equal(found[i].begin(), found[i].end(), values.begin() + static_cast<int64_t>(i * bytes)))
              << bytes << " bytes, model " << i << " of " << models << ", " << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
