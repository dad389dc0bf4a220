#include "engine/problems.h"

#include "core/memory_space.h"
#include "data/content_hash.h"
#include "data/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace manymeans {
namespace {

void check_number(const char* what, size_t given, int64_t needed, const char* of) {
  if (given == 0 || static_cast<int64_t>(given) == needed) return;
  throw Error(ErrorCode::kUsage, what,
              fmt::format("has {} numbers; one for each of the {} {} is right", given, needed, of));
}

void check_groups(std::span<const int64_t> groups, int64_t rows) {
  if (groups.size() < 2) {
    throw Error(ErrorCode::kUsage, "groups",
                fmt::format("{} offsets were given, for no problem; B problems have B + 1", groups.size()));
  }
  for (size_t b = 0; b + 1 < groups.size(); ++b) {
    const int64_t first = groups[b], last = groups[b + 1];
    if (first >= 0 && first <= last && last <= rows) continue;
    throw ProblemError(static_cast<int64_t>(b),
                       {ErrorCode::kUsage, "groups",
                        fmt::format("its offsets are {} and {}; they must ascend from 0 to {}, the number of rows",
                                    first, last, rows)});
  }
  if (groups.front() == 0 && groups.back() == rows) return;
  throw Error(ErrorCode::kUsage, "groups",
              fmt::format("they go from {} to {}; the first must be 0, the last {}, the number of rows", groups.front(),
                          groups.back(), rows));
}

// Copies points that lie on a device, and makes the view one of the copy.
void fetch(PointsView& points, AlignedBuffer<std::byte>& copy) {
  if (!points.on_device()) return;
  await_points(points);
  copy = AlignedBuffer<std::byte>(points.bytes());
  memory_space(points).fetch_bytes(points, 0, points.bytes(), copy.data());
  points = {copy.data(), points.n, points.d, points.type};
}

}  // namespace

Problems::Problems(const PointsView& points, std::span<const double> weights, std::span<const int64_t> groups,
                   const EachOptions& options, const PointsView& initial)
    : points_(points), weights_(weights), groups_(groups), options_(options), initial_(initial) {
  check_groups(groups, points.n);
  check_number("weights", weights.size(), points.n, "rows");
  check_number("k_each", options.k_each.size(), count(), "problems");
  check_number("seed_each", options.seed_each.size(), count(), "problems");
  if (options.model_seed && !options.seed_each.empty()) {
    throw Error(ErrorCode::kUsage, "model_seed", "it takes the place of seeds; leave it or seed_each out");
  }
  FitOptions common = options;
  if (!options.k_each.empty()) common.k = {1};  // each is checked with its problem
  check(common);
  if (initial.data != nullptr) place_initial();
  fetch(initial_, fetched_initial_);
}

void Problems::fetch_points() {
  fetch(points_, fetched_);
}

PointsView Problems::points(int64_t problem) const {
  const int64_t first = first_row(problem), rows = groups_[static_cast<size_t>(problem) + 1] - first;
  if (!is_sparse(points_)) return rows_of_view(points_, first, rows);
  PointsView view = points_;  // whose values stay together: the other points() says where these begin
  view.n = rows;
  return view;
}

PointsView Problems::points(int64_t problem, SparseView& sparse) const {
  const PointsView mine = points(problem);
  if (!is_sparse(points_)) return mine;
  sparse = sparse_view(points_);
  sparse.starts += groups_[static_cast<size_t>(problem)];
  sparse.n = mine.n;
  return sparse.points();
}

std::span<const double> Problems::weights(int64_t problem) const {
  if (weights_.empty()) return weights_;
  const auto first = static_cast<size_t>(groups_[static_cast<size_t>(problem)]);
  return weights_.subspan(first, static_cast<size_t>(points(problem).n));
}

FitOptions Problems::options(int64_t problem) const {
  const auto b = static_cast<size_t>(problem);
  FitOptions options = options_;
  if (!options_.k_each.empty()) options.k = {options_.k_each[b]};
  if (!options_.seed_each.empty()) options.seed = options_.seed_each[b];
  return options;
}

PointsView Problems::initial(int64_t problem) const {
  if (initial_.data == nullptr) return {};
  const auto b = static_cast<size_t>(problem);
  return rows_of_view(initial_, initial_ends_[b], initial_ends_[b + 1] - initial_ends_[b]);
}

size_t Problems::models() const {
  return static_cast<size_t>(options_.models) * (options_.k_each.empty() ? options_.k.size() : 1);
}

int64_t Problems::prototypes(int64_t problem) const {
  const auto within = [](int64_t k) { return std::clamp<int64_t>(k, 0, kMaxClusters); };
  if (!options_.k_each.empty()) return options_.models * within(options_.k_each[static_cast<size_t>(problem)]);
  return options_.models * std::accumulate(options_.k.begin(), options_.k.end(), int64_t{0});
}

FitIdentity Problems::identity(ThreadPool& pool) const {
  Input all;
  all.points = points_;
  all.shard.all = points_.n;
  FitIdentity identity = identity_of(all, weights_, options_, initial_, pool);
  const auto add = [&](const char* name, const auto& numbers) {
    const PointsView bytes{numbers.data(), 1, std::ssize(numbers) * 8, DataType::kUInt8};
    identity.options.emplace_back(name, fmt::format("{} numbers ({:032x})", numbers.size(), content_hash(bytes, pool)));
  };
  add("groups", groups_);
  add("k_each", options_.k_each);
  add("seed_each", options_.seed_each);
  return identity;
}

bool Problems::are_small(std::span<const int64_t> some) const {
  constexpr double kProducts = 5e5;              // of a pass, for each thread: above, a device takes no longer
  constexpr size_t kMaxBytes = size_t{4} << 30;  // of the copy
  const double most = kProducts * thread_count(options_.threads);
  for (const int64_t b : some) {
    const auto rows = static_cast<double>(points(b).n);
    if (rows * static_cast<double>(prototypes(b)) * static_cast<double>(points_.d + 8) > most) return false;
  }
  return points_.bytes() <= kMaxBytes;
}

void Problems::place_initial() {
  initial_ends_ = {0};
  for (int64_t b = 0; b < count() && initial_ends_.back() <= initial_.n; ++b) {
    initial_ends_.push_back(initial_ends_.back() + prototypes(b));
  }
  if (std::ssize(initial_ends_) == count() + 1 && initial_ends_.back() == initial_.n) return;
  throw Error(ErrorCode::kUsage, "initial",
              fmt::format("there are {} initial prototypes; k for each model of each of the {} problems are right",
                          initial_.n, count()));
}

}  // namespace manymeans
