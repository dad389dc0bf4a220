// Any bytes as a message between shards and their fit: an answer, a result, or an Error.
#include <manymeans/error.h>
#include <manymeans/row_shards.h>

#include "backend/remote/byte_stream.h"
#include "backend/remote/question.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <vector>

namespace {
using namespace manymeans;

constexpr int64_t kRows = 9;
constexpr float kPoints[kRows * 2] = {1, 2, 1, 4, 1, 0, 10, 2, 10, 4, 10, 0, 10, 0, -3, 0.5, 1e30F, -1e-30F};
constexpr double kWeights[kRows] = {1, 2, 0, 0.5, 3, 1, 1, 1, 7};

RowShard some_rows(int64_t first, int64_t rows, bool weighted) {
  const std::span<const double> weights(kWeights + first, weighted ? static_cast<size_t>(rows) : 0);
  return {PointsView(kPoints + 2 * first, rows, 2), weights, first, {"cpu", "auto", 1}};
}

// A fuzzer that had to guess the hash at the end would never reach what stands behind it.
Bytes sealed(std::span<const std::byte> begin, std::span<const uint8_t> rest) {
  Bytes bytes(begin.begin(), begin.end());
  for (const uint8_t byte : rest) bytes.push_back(std::byte{byte});
  const uint64_t hash = hash_of_bytes(bytes);
  const auto* end = reinterpret_cast<const std::byte*>(&hash);
  bytes.insert(bytes.end(), end, end + sizeof hash);
  return bytes;
}

void expect_error_of_message(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
}

void as_question(std::span<const uint8_t> rest, bool weighted) {
  const Bytes question = sealed({}, rest);
  RowShard shard = some_rows(0, kRows, weighted), part = some_rows(4, 3, weighted);
  expect_error_of_message([&] {
    // A few bytes may ask for any K, and its memory.
    if (std::ranges::any_of(Question::decode(question).clusters, [](int64_t k) { return k > 100'000; })) return;
    const Bytes answer = shard.answer(question), again = shard.answer(question);
    if (answer != again) std::abort();
    read_statistics({question, answer});
    solve({question, answer});
  });
  expect_error_of_message([&] { part.answer(question); });
}

// What is left of the answer to one question of a fit: its version, and which question it answers.
void as_answer(std::span<const uint8_t> rest, bool weighted, int place) {
  constexpr size_t kBegin = 16;
  RowShard shard = some_rows(0, kRows, weighted);
  FitOptions options;
  options.k = {3};
  options.max_iter = 2;
  options.init = place % 2 == 0 ? "k-means||" : "k-means++";
  options.threads = 1;
  expect_error_of_message([&] {
    fit_shards(
        [&](std::span<const std::byte> question) {
          const Bytes answer = shard.answer(question);
          return place-- == 0 ? sealed(std::span(answer).first(kBegin), rest) : answer;
        },
        options);
  });
  const Bytes shape = shard.answer(shape_question()), answer = sealed(std::span(shape).first(kBegin), rest);
  expect_error_of_message([&] { merge_answers(answer, some_rows(4, 3, weighted).answer(shape_question())); });
  expect_error_of_message([&] { scan_question(answer); });
}

}  // namespace

// The first byte says what the rest is: bit 0 a question or an answer, bit 1 weights, the others to which question.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(data + 1, size - 1);
  const bool weighted = (data[0] & 2) != 0;
  (data[0] & 1) == 0 ? as_question(rest, weighted) : as_answer(rest, weighted, data[0] >> 2);
  return 0;
}
