#include "engine/members.h"

#include <manymeans/error.h>

#include "core/random.h"
#include "data/gather.h"
#include "init/init.h"
#include "prototype/direction.h"
#include "prototype/prototype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace manymeans {

std::vector<Member> make_members(const FitOptions& options, bool given, const Input& input) {
  const auto init_of = [&](int64_t k) {
    return find_init(options.init, prototype_of(input), input.shard.all, k, input.points.d).name;
  };
  std::vector<Member> members;
  for (const int64_t k : options.k) {
    for (int64_t replica = 0; replica < options.models; ++replica) {
      Member member;
      member.result.k = member.result.k_requested = k;
      member.result.replica = replica;
      member.result.seed = options.model_seed.value_or(member_seed(options.seed, k, replica));
      member.result.init = given ? "given" : std::string(init_of(k));
      member.index = static_cast<int64_t>(members.size());
      members.push_back(std::move(member));
    }
  }
  return members;
}

void check_given(const PointsView& initial, const FitOptions& options, int64_t width) {
  const int64_t of_each = std::accumulate(options.k.begin(), options.k.end(), int64_t{0});
  if (initial.n != of_each * options.models) {
    throw Error(ErrorCode::kUsage, "initial prototypes",
                fmt::format("{} rows are given, k is {} and models {}; {} rows are right", initial.n,
                            fmt::join(options.k, ", "), options.models, of_each * options.models));
  }
  if (initial.d != width) {
    throw Error(ErrorCode::kBadData, "initial prototypes",
                fmt::format("they have {} columns, the points have {}", initial.d, width));
  }
}

void give_prototypes(const PointsView& initial, const Input& input, Metric metric, std::span<Member> members) {
  Matrix all = make_prototypes(initial, prototype_type(input.points.type));
  if (metric == Metric::kCosine) all = unit_prototypes(std::move(all));
  check_overflow(input, std::max(input.max_magnitude(), largest_magnitude(all)));
  int64_t first = 0;
  for (Member& member : members) {
    std::vector<int64_t> rows(static_cast<size_t>(member.result.k));
    std::iota(rows.begin(), rows.end(), first);
    member.given = gather_rows(all.view(), rows);
    first += member.result.k;
  }
}

}  // namespace manymeans
