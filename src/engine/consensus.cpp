#include <manymeans/compare.h>
#include <manymeans/consensus.h>
#include <manymeans/error.h>
#include <manymeans/fit.h>

#include "core/data_type.h"
#include "core/digest.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/memory_space.h"
#include "core/out_of_memory.h"
#include "core/threads.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/unit_rows.h"
#include "engine/row_pairs.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kMaxPairs = int64_t{1} << 30;     // products of their numbers stay below 2^62
constexpr int64_t kBlockLabels = int64_t{1} << 22;  // of all members, in memory at once
constexpr int64_t kBlockValues = int64_t{1} << 22;  // of rows that are gathered at once
constexpr int64_t kGrain = 1024;                    // rows that a thread takes at a time

using Members = std::span<const ConsensusMember>;

bool has_labels(const ConsensusMember& member) {
  return member.labels.data != nullptr;
}

void check_number(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(ErrorCode::kUsage, what, fmt::format("is {}; {} to {} are possible", value, least, most));
}

void check_member(const ConsensusMember& member, size_t number, const ConsensusMember& first) {
  if (member.prototypes.n < 1 || member.prototypes.d < 1) {
    throw Error(ErrorCode::kUsage, "members", fmt::format("model {} has no centroids", number));
  }
  if (member.prototypes.d != first.prototypes.d) {
    throw Error(ErrorCode::kUsage, "members",
                fmt::format("model {} has {} columns, model 0 has {}; models of the same points are needed", number,
                            member.prototypes.d, first.prototypes.d));
  }
  if (std::ssize(member.counts) != member.prototypes.n) {
    throw Error(ErrorCode::kUsage, "members",
                fmt::format("model {} has {} centroids and counts of {} clusters", number, member.prototypes.n,
                            member.counts.size()));
  }
}

void check_k(Members members, const ConsensusOptions& options) {
  int64_t centroids = 0;
  for (size_t m = 0; m < members.size(); ++m) {
    const int64_t its = members[m].prototypes.n;
    centroids += its;
    if (options.method != ConsensusMethod::kMatched || its == options.k) continue;
    throw Error(ErrorCode::kUsage, "method",
                fmt::format("matched needs models of {} clusters, but model {} has {}; 'centroids' takes any number",
                            options.k, m, its));
  }
  if (options.k <= centroids) return;
  throw Error(ErrorCode::kUsage, "k",
              fmt::format("is {}, but the models have {} centroids altogether", options.k, centroids));
}

// The number of rows.
int64_t checked_rows(const PointsView& points, Members members) {
  const bool given = points.data != nullptr || points.n > 0;
  int64_t rows = given ? points.n : -1;
  for (size_t m = 0; m < members.size(); ++m) {
    if (!has_labels(members[m])) {
      if (given) continue;
      throw Error(ErrorCode::kUsage, "points", fmt::format("are needed: model {} has no labels of rows", m));
    }
    if (rows < 0) rows = members[m].labels.n;
    if (members[m].labels.n == rows) continue;
    throw Error(ErrorCode::kUsage, "labels",
                fmt::format("model {} has labels of {} rows; there are {}", m, members[m].labels.n, rows));
  }
  if (rows < 1) throw Error(ErrorCode::kBadData, "points", "have no rows");
  if (given && points.d != members[0].prototypes.d) {
    throw Error(ErrorCode::kBadData, "points",
                fmt::format("they have {} columns, the models have {}", points.d, members[0].prototypes.d));
  }
  return rows;
}

void check(Members members, const ConsensusOptions& options) {
  check_number("k", options.k, 1, kMaxClusters);
  check_number("fits", options.fits, 1, int64_t{1} << 31);
  check_number("pairs", options.pairs, 0, kMaxPairs);
  if (members.empty()) throw Error(ErrorCode::kUsage, "members", "there are none; an ensemble of models is needed");
  for (size_t m = 0; m < members.size(); ++m) check_member(members[m], m, members[0]);
  check_k(members, options);
}

// Consensus clusters: their prototypes, and for which one a cluster of each member votes.
struct Clusters {
  Matrix prototypes = {};
  std::vector<std::vector<uint32_t>> of = {};
  std::vector<std::string> warnings = {};
};

Matrix stacked(Members members) {
  DataType type = DataType::kFloat32;
  int64_t rows = 0;
  for (const ConsensusMember& member : members) {
    if (prototype_type(member.prototypes.type) == DataType::kFloat64) type = DataType::kFloat64;
    rows += member.prototypes.n;
  }
  Matrix all(rows, members[0].prototypes.d, type);
  as_float_type(type, [&]<class T>(T) {
    auto to = all.values<T>().begin();
    for (const ConsensusMember& member : members) {
      const Matrix its = make_prototypes(member.prototypes, type);
      to = std::ranges::copy(its.values<T>(), to).out;
    }
  });
  return all;
}

// The number of each cluster by the votes of one member: its largest cluster names the one that it votes for first.
std::vector<uint32_t> numbers_by(const ConsensusMember& member, std::span<const uint32_t> votes_for) {
  const auto k = votes_for.size();
  std::vector<uint32_t> order(k), numbers(k), left;
  std::vector<bool> named(k);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t j) { return member.counts[j]; });
  for (const uint32_t j : order) {
    if (named[votes_for[j]]) {
      left.push_back(j);
    } else {
      named[votes_for[j]] = true;
      numbers[votes_for[j]] = j;
    }
  }
  std::ranges::sort(left);
  auto next = left.begin();
  for (size_t c = 0; c < k; ++c) {
    if (!named[c]) numbers[c] = *next++;
  }
  return numbers;
}

// Gives the clusters the numbers of the best member with as many clusters, if there is one.
void number_by_best(Members members, Clusters& found) {
  const auto k = found.prototypes.rows();
  const ConsensusMember* best = nullptr;
  for (const ConsensusMember& member : members) {
    if (member.prototypes.n == k && (best == nullptr || member.inertia < best->inertia)) best = &member;
  }
  if (best == nullptr) return;
  const std::vector<uint32_t> numbers = numbers_by(*best, found.of[static_cast<size_t>(best - members.data())]);
  for (auto& votes_for : found.of) {
    for (uint32_t& cluster : votes_for) cluster = numbers[cluster];
  }
  std::vector<int64_t> rows(numbers.size());
  for (size_t c = 0; c < numbers.size(); ++c) rows[numbers[c]] = static_cast<int64_t>(c);
  found.prototypes = gather_rows(found.prototypes.view(), rows);
}

Clusters by_centroids(Members members, const ConsensusOptions& options) {
  const Matrix centroids = stacked(members);
  std::vector<double> weights;
  for (const ConsensusMember& member : members)
    weights.insert(weights.end(), member.counts.begin(), member.counts.end());
  FitOptions how;
  how.k = {options.k};
  how.models = options.fits;
  how.seed = options.seed;
  how.metric = options.metric;
  how.backend = options.backend;
  how.threads = options.threads;
  FitHooks hooks;
  hooks.abort = options.abort;
  FitResult fitted = fit(centroids.view(), weights, how, hooks);
  ModelResult& best = fitted.models[static_cast<size_t>(fitted.best(options.k))];
  Clusters found{.prototypes = std::move(best.prototypes), .of = {}, .warnings = std::move(fitted.warnings)};
  int64_t row = 0;
  for (const ConsensusMember& member : members) {
    found.of.emplace_back(static_cast<size_t>(member.prototypes.n));
    best.labels.read(row, member.prototypes.n, found.of.back().data());
    row += member.prototypes.n;
  }
  number_by_best(members, found);
  return found;
}

std::vector<double> in_binary64(const PointsView& prototypes) {
  const Matrix values = make_prototypes(prototypes, DataType::kFloat64);
  return {values.values<double>().begin(), values.values<double>().end()};
}

Clusters by_matching(Members members, const std::atomic<bool>* abort) {
  const ConsensusMember& first = *std::ranges::min_element(members, {}, &ConsensusMember::inertia);
  const std::vector<double> wanted = in_binary64(first.prototypes);
  Clusters found{.prototypes = make_prototypes(first.prototypes, prototype_type(first.prototypes.type))};
  for (const ConsensusMember& member : members) {
    found.of.emplace_back(static_cast<size_t>(member.prototypes.n));
    for (const PrototypeMatch& match :
         match_prototypes(wanted, in_binary64(member.prototypes), first.prototypes.d, abort)) {
      found.of.back()[static_cast<size_t>(match.b)] = static_cast<uint32_t>(match.a);
    }
  }
  return found;
}

// The members' labels of some rows after the other.
class Labelling {
 public:
  Labelling(Members members, const ConsensusOptions& options) : members_(members) {
    how_.backend = options.backend;
    how_.threads = options.threads;
    how_.abort = options.abort;
    for (const ConsensusMember& member : members) {
      if (has_labels(member)) {
        predictors_.emplace_back();
      } else {
        predictors_.emplace_back(Predictor(member.prototypes));
      }
    }
  }

  bool reads_points() const {
    return std::ranges::any_of(predictors_, [](const auto& its) { return its.has_value(); });
  }

  // Reads the labels of rows row_of(0), row_of(1), ..., whose values are `values`.
  template <class RowOf>
  void read(size_t member, RowOf&& row_of, const PointsView& values, std::span<uint32_t> out) const {
    const auto& predictor = predictors_[member];
    if (predictor) return predictor->predict(values, how_).labels.read(0, std::ssize(out), out.data());
    for (size_t i = 0; i < out.size(); ++i) out[i] = given(member, row_of(i));
  }

 private:
  uint32_t given(size_t member, int64_t row) const {
    const LabelsView& labels = members_[member].labels;
    const auto width = static_cast<size_t>(labels.width);
    uint32_t label = 0;
    std::memcpy(&label, static_cast<const std::byte*>(labels.data) + static_cast<size_t>(row) * width, width);
    if (label < members_[member].prototypes.n) return label;
    throw Error(ErrorCode::kBadData, "labels",
                fmt::format("row {} has label {} of model {}, which has {} clusters", row + 1, label, member,
                            members_[member].prototypes.n));
  }

  Members members_;
  PredictOptions how_;
  std::vector<std::optional<Predictor>> predictors_;
};

// Counts the votes of rows, a block of them after the other.
class VoteCounter {
 public:
  VoteCounter(const Clusters& clusters, int64_t rows, ThreadPool& pool)
      : clusters_(clusters), members_(std::ssize(clusters.of)), pool_(pool), counts_(static_cast<size_t>(pool.size())) {
    const int64_t k = clusters.prototypes.rows();
    for (auto& counts : counts_) counts.resize(static_cast<size_t>(k));
    found_.labels = Labels(rows, k);
    found_.votes = Labels(rows, members_ + 1);
    found_.counts.resize(static_cast<size_t>(k));
    found_.members = members_;
  }

  // `labels`: of all members, one after the other, of the `count` rows from `first` on.
  void count(int64_t first, int64_t count, std::span<const uint32_t> labels) {
    std::vector<uint32_t> winners(static_cast<size_t>(count)), votes(static_cast<size_t>(count));
    pool_.for_each_range(count, kGrain, [&](int worker, int64_t from, int64_t to) {
      std::vector<uint32_t>& counts = counts_[static_cast<size_t>(worker)];
      for (int64_t i = from; i < to; ++i) {
        const auto at = static_cast<size_t>(i);
        const auto vote = [&](int64_t m) {
          return clusters_.of[static_cast<size_t>(m)][labels[static_cast<size_t>(m * count + i)]];
        };
        for (int64_t m = 0; m < members_; ++m) ++counts[vote(m)];
        for (int64_t m = 0; m < members_; ++m) {
          const uint32_t cluster = vote(m);
          if (counts[cluster] < votes[at] || (counts[cluster] == votes[at] && cluster > winners[at])) continue;
          votes[at] = counts[cluster];
          winners[at] = cluster;
        }
        for (int64_t m = 0; m < members_; ++m) counts[vote(m)] = 0;
      }
    });
    for (const uint32_t winner : winners) ++found_.counts[winner];
    found_.labels.write(first, count, winners.data());
    found_.votes.write(first, count, votes.data());
  }

  Consensus take() { return std::move(found_); }

 private:
  const Clusters& clusters_;
  int64_t members_;
  ThreadPool& pool_;
  Consensus found_;
  std::vector<std::vector<uint32_t>> counts_;  // by cluster, of each thread; all 0 between two rows
};

Consensus elect(const PointsView& points, int64_t rows, const Labelling& labelling, const Clusters& clusters,
                ThreadPool& pool) {
  VoteCounter counter(clusters, rows, pool);
  const auto members = clusters.of.size();
  const int64_t block = std::clamp<int64_t>(kBlockLabels / static_cast<int64_t>(members), kGrain, rows + kGrain);
  std::vector<uint32_t> labels;
  std::vector<std::byte> fetched;
  for (int64_t first = 0; first < rows; first += block) {
    check_abort(pool.abort());
    const int64_t count = std::min(block, rows - first);
    const PointsView values = labelling.reads_points() ? host_rows(points, first, count, fetched) : PointsView();
    const auto size = static_cast<size_t>(count);
    labels.resize(members * size);
    const auto row_of = [first](size_t i) { return first + static_cast<int64_t>(i); };
    for (size_t m = 0; m < members; ++m) labelling.read(m, row_of, values, {labels.data() + m * size, size});
    counter.count(first, count, labels);
  }
  return counter.take();
}

void compare_members(const PointsView& points, RowPairs pairs, const Labelling& labelling,
                     const std::atomic<bool>* abort, Consensus& found) {
  const auto members = static_cast<size_t>(found.members);
  CoAssociation together(members);
  const int64_t most = std::clamp<int64_t>(kBlockValues / std::max<int64_t>(1, points.d) / 128, 1, 512) * 64;
  for (int64_t done = 0; done < pairs.size(); done += most) {
    const std::vector<int64_t> rows = pairs.next(most);
    const Matrix values = labelling.reads_points() ? gather_rows(points, rows) : Matrix();
    std::vector<uint32_t> labels(rows.size());
    for (size_t m = 0; m < members; ++m) {
      check_abort(abort);
      labelling.read(m, [&rows](size_t i) { return rows[i]; }, values.view(), labels);
      together.add(m, labels);
    }
  }
  found.pairs = together.pairs();
  if (found.pairs == 0) return;
  found.between.resize(members * members);
  double sum = 0;
  for (size_t a = 0; a < members; ++a) {
    check_abort(abort);
    for (size_t b = 0; b < members; ++b) {
      found.between[a * members + b] = b < a ? found.between[b * members + a] : together.adjusted_rand(a, b);
      if (a < b) sum += found.between[a * members + b];
    }
  }
  if (members < 2) return;
  found.mean_between = sum / static_cast<double>(members * (members - 1) / 2);
  found.ambiguous = together.ambiguous();
}

Consensus find(const PointsView& given, Members members, const ConsensusOptions& options) {
  check(members, options);
  const int64_t rows = checked_rows(given, members);
  ThreadPool pool(thread_count(options.threads), options.abort);
  const Labelling labelling(members, options);
  RowCopy points{given, nullptr};
  if (labelling.reads_points()) {
    prepare_input(given, {}, pool);  // says which row is wrong, before the work
    points = measured_rows(given, options.metric, {.threads = options.threads});
  }
  Clusters clusters = options.method == ConsensusMethod::kCentroids ? by_centroids(members, options)
                                                                    : by_matching(members, options.abort);
  Consensus found = elect(points.view, rows, labelling, clusters, pool);
  if (options.pairs > 0)
    compare_members(points.view, {rows, options.pairs, options.seed}, labelling, options.abort, found);
  if (given.data != nullptr) check_mapped(given.data);
  found.prototypes = std::move(clusters.prototypes);
  found.warnings = std::move(clusters.warnings);
  if (members.size() == 1) found.warnings.emplace_back("one model votes alone, so full agreement is no evidence");
  if (const auto empty = std::ranges::count(found.counts, 0); empty > 0) {
    found.warnings.push_back(fmt::format(
        "{} of {} clusters have the most votes of no row; ask for fewer clusters, or fit models of this k alone", empty,
        found.counts.size()));
  }
  return found;
}

}  // namespace

template <>
std::span<const std::string_view> names_of<ConsensusMethod>() {
  static constexpr std::array<std::string_view, 2> kNames = {"centroids", "matched"};
  return kNames;
}

std::string Consensus::digest() const {
  const LabelSum of_labels = label_sum(labels), of_votes = label_sum(votes);
  return digest_of(std::array{static_cast<uint64_t>(prototypes.rows()), static_cast<uint64_t>(members),
                              static_cast<uint64_t>(of_labels), static_cast<uint64_t>(of_labels >> 64),
                              static_cast<uint64_t>(of_votes), static_cast<uint64_t>(of_votes >> 64)});
}

Consensus consensus(const PointsView& points, std::span<const ConsensusMember> members,
                    const ConsensusOptions& options) {
  const FpEnvironmentGuard guard;
  return or_out_of_memory("memory", "give it fewer models or fewer pairs of rows",
                          [&] { return find(points, members, options); });
}

}  // namespace manymeans
