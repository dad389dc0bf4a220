#include <manymeans/comm.h>

#include "core/merged_integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace manymeans {
namespace {

class SelfComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void abort(const Error&) noexcept override {}  // nobody waits

 private:
  std::vector<CollectiveHeader> exchange(const CollectiveHeader& mine) override { return {mine}; }
  void reduce(std::span<int64_t>, bool) override {}
  std::vector<std::byte> collect(std::span<const std::byte>, std::span<const uint64_t>) override { return {}; }
  void spread(std::span<std::byte>, int) override {}
};

// The complement turns the order of integers around, and none of them overflows.
void complement(std::span<int64_t> values) {
  for (int64_t& value : values) value = ~value;
}

template <class Reduce>
void reduce_ordered(std::span<double> values, Reduce&& reduce) {
  std::vector<int64_t> integers(values.size());
  std::ranges::transform(values, integers.begin(), in_order);
  reduce(integers);
  std::ranges::transform(integers, values.begin(), from_order);
}

// The error whose what() is this text.
Error error_of(ErrorCode code, const std::string& text) {
  const size_t end = text.find("] ");
  return Error(code, text.substr(1, end - 1), text.substr(end + 2));
}

}  // namespace

bool CollectiveHeader::matches(const CollectiveHeader& other) const {
  return what == other.what && (count == other.count || what == Collective::kGather) && root == other.root &&
         number == other.number && pass == other.pass && options == other.options;
}

std::string CollectiveHeader::text() const {
  const std::string place = fmt::format("as collective {} after {} passes", number, pass);
  switch (what) {
    case Collective::kSum: return fmt::format("a sum of {} values {}", count, place);
    case Collective::kMax: return fmt::format("a maximum of {} values {}", count, place);
    case Collective::kScan: return fmt::format("a scan of {} values {}", count, place);
    case Collective::kGather: return fmt::format("a gather {}", place);
    case Collective::kBroadcast: return fmt::format("a broadcast of {} bytes from rank {} {}", count, root, place);
  }
  return "nothing that is known";
}

// All ranks see the same headers, so that all of them name the same two.
std::vector<CollectiveHeader> Comm::agree(Collective what, uint64_t count, int root) {
  std::vector<CollectiveHeader> all = exchange({what, count, static_cast<uint64_t>(root), ++number_, pass_, options_});
  for (size_t r = 1; r < all.size(); ++r) {
    if (all[r].matches(all[0])) continue;
    if (all[r].options != all[0].options) {
      throw Error(
          ErrorCode::kUsage, "ranks",
          fmt::format("rank 0 was given other options, initial prototypes or columns than rank {} (their hashes "
                      "are {:016x} and {:016x}); give all ranks the same",
                      r, all[0].options, all[r].options));
    }
    throw Error(ErrorCode::kInternal, "ranks",
                fmt::format("rank 0 wants {}, but rank {} wants {}", all[0].text(), r, all[r].text()));
  }
  return all;
}

void Comm::sum(std::span<int64_t> values) {
  if (alone()) return;
  agree(Collective::kSum, values.size());
  reduce(values, false);
}

UInt128 Comm::sum(UInt128 value) {
  if (alone()) return value;
  auto words = words_of(value);
  sum(words);
  return label_sum_of(words);
}

void Comm::max(std::span<int64_t> values) {
  if (alone()) return;
  agree(Collective::kMax, values.size());
  reduce(values, true);
}

void Comm::min(std::span<int64_t> values) {
  if (alone()) return;
  complement(values);
  max(values);
  complement(values);
}

void Comm::max(std::span<double> values) {
  if (alone()) return;
  reduce_ordered(values, [this](std::span<int64_t> integers) { max(integers); });
}

void Comm::min(std::span<double> values) {
  if (alone()) return;
  reduce_ordered(values, [this](std::span<int64_t> integers) { min(integers); });
}

int64_t Comm::max(int64_t value) {
  max(std::span(&value, 1));
  return value;
}

double Comm::max(double value) {
  max(std::span(&value, 1));
  return value;
}

int64_t Comm::min(int64_t value) {
  min(std::span(&value, 1));
  return value;
}

void Comm::scan(std::span<int64_t> values) {
  if (alone()) {
    std::ranges::fill(values, 0);
    return;
  }
  const std::vector<uint64_t> sizes(agree(Collective::kScan, values.size()).size(), values.size_bytes());
  const std::vector<std::byte> all = collect(std::as_bytes(values), sizes);
  std::ranges::fill(values, 0);
  for (size_t r = 0; r < static_cast<size_t>(rank()); ++r) {
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t value = 0;
      std::memcpy(&value, all.data() + (r * values.size() + i) * sizeof value, sizeof value);
      values[i] += value;
    }
  }
}

std::vector<std::vector<std::byte>> Comm::gather(std::span<const std::byte> mine) {
  if (alone()) return {{mine.begin(), mine.end()}};
  std::vector<uint64_t> sizes;
  for (const CollectiveHeader& header : agree(Collective::kGather, mine.size())) sizes.push_back(header.count);
  const std::vector<std::byte> all = collect(mine, sizes);
  std::vector<std::vector<std::byte>> parts;
  auto at = all.begin();
  for (const uint64_t size : sizes) {
    parts.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
    at += static_cast<std::ptrdiff_t>(size);
  }
  return parts;
}

void Comm::broadcast(std::span<std::byte> bytes, int root) {
  if (alone()) return;
  agree(Collective::kBroadcast, bytes.size(), root);
  spread(bytes, root);
}

Comm& self_comm() {
  static SelfComm& comm = *new SelfComm;  // never destroyed
  return comm;
}

namespace {

// Makes it when the library is loaded. A thread that made it in its first fit would leave the lock of the variable to
// the child of a fork, which would wait for ever.
[[maybe_unused]] const Comm& made_at_load = self_comm();

}  // namespace

void check_together(Comm& comm, const std::function<void()>& check) {
  if (comm.alone()) return check();
  // The code of the error and its text as what() gives it; nothing where all is well.
  std::vector<char> mine;
  try {
    check();
  } catch (const Error& error) {
    const std::string text = error.what();
    mine.assign(text.begin(), text.end());
    mine.push_back(static_cast<char>(error.code()));
  }
  for (const std::vector<char>& found : comm.gather(std::span<const char>(mine))) {
    if (!found.empty()) throw error_of(static_cast<ErrorCode>(found.back()), {found.begin(), found.end() - 1});
  }
}

}  // namespace manymeans
