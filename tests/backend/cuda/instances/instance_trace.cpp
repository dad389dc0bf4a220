#include "instance_trace.h"

#include "backend/make_seeding.h"
#include "backend/seed_steps.h"
#include "core/data_type.h"
#include "core/fixed_point.h"
#include "data/gather.h"
#include "engine/best_labels.h"
#include "engine/host_swap_scores.h"
#include "engine/removal_costs.h"
#include "prototype/linear_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace manymeans::test {
namespace {

constexpr int64_t kTightEvery = 32;
constexpr int64_t kTightPrototypes = 16;
constexpr uint64_t kGroups = 500;

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// About N(0, 1): four numbers of 16 bits added.
float noise(uint64_t seed) {
  const uint64_t bits = mixed(seed);
  const auto sum = static_cast<int>(bits & 0xffff) + static_cast<int>(bits >> 16 & 0xffff) +
                   static_cast<int>(bits >> 32 & 0xffff) + static_cast<int>(bits >> 48);
  return static_cast<float>(sum - 2 * 0xffff) * 0x1.bb8p-17F;
}

bool is_tight(int64_t row) {
  return row % kTightEvery == 7;
}

// Sums of so many limbs: more than are needed change nothing, and with fewer terms are rounded, everywhere alike.
void force_limbs(Input& input, int limbs) {
  for (SumFormat& format : input.columns) format.shift += (limbs - format.limbs) * format.bits;
  for (SumFormat& format : input.columns) format.limbs = limbs;
  input.limbs = limbs;
}

Input input_of(const InstanceCase& one, const PointsView& points, std::span<const double> weights, ThreadPool& pool) {
  Input input = prepare_input(points, weights, pool);
  if (one.linear) use_prototype(input, linear_model(), pool);
  input.linear.largest = largest_coefficient(prototype_type(points.type));
  if (one.limbs != 0) force_limbs(input, one.limbs);
  return input;
}

void fill_row(const InstanceCase& one, int64_t row, float* to) {
  const uint64_t group = is_tight(row) ? 0xffff : mixed(static_cast<uint64_t>(row) ^ 0x5555) % kGroups;
  const float scatter = is_tight(row) ? 0x1p-13F : 1;
  for (int64_t j = 0; j < one.columns; ++j) {
    const auto column = static_cast<uint64_t>(j);
    const float centre = 0.75F * noise(0xabcdef0000000000 + group * 1000003 + column);
    to[j] = centre + scatter * noise(static_cast<uint64_t>(row) * 1000003 + column);
  }
}

// As other types have them: integers and halves of the small ones.
void store_row(DataType type, const float* from, int64_t count, std::byte* to) {
  for (int64_t j = 0; j < count; ++j) {
    const float v = from[j];
    switch (type) {
      case DataType::kFloat64: reinterpret_cast<double*>(to)[j] = static_cast<double>(v) * (1 + 0x1p-30); break;
      case DataType::kUInt8:
        reinterpret_cast<uint8_t*>(to)[j] = static_cast<uint8_t>(std::clamp(128 + v * 20, 0.0F, 255.0F));
        break;
      case DataType::kInt8:
        reinterpret_cast<int8_t*>(to)[j] = static_cast<int8_t>(std::clamp(v * 20, -128.0F, 127.0F));
        break;
      case DataType::kBFloat16: {
        uint32_t bits = 0;
        std::memcpy(&bits, &v, 4);
        reinterpret_cast<uint16_t*>(to)[j] = static_cast<uint16_t>(bits >> 16);
        break;
      }
      case DataType::kFloat16: reinterpret_cast<_Float16*>(to)[j] = static_cast<_Float16>(v); break;
      default: reinterpret_cast<float*>(to)[j] = v; break;
    }
  }
}

void add_passes(std::vector<std::vector<PassResult>>& to, std::span<const PassModel> models, int some) {
  for (size_t m = 0; m < models.size(); ++m) {
    for (int p = 0; p + 1 < some; ++p) to[m].push_back(models[m].earlier[static_cast<size_t>(p)]);
    to[m].push_back(models[m].result);
  }
}

// So many passes from these prototypes, which are those of the last pass afterwards.
void pass(Session& session, const CasePoints& points, std::vector<Matrix>& prototypes, int passes, ThreadPool& pool,
          Trace& to) {
  to.passes.resize(prototypes.size());
  for (int done = 0; done < passes;) {
    std::vector<PassModel> models;
    for (size_t m = 0; m < prototypes.size(); ++m) models.push_back({static_cast<int>(m), &prototypes[m], {}});
    PassLimits limits(passes - done);
    limits.shifts.sum = 0;  // so that updates are judged
    const int some = session.advance(models, limits);
    add_passes(to.passes, models, some);
    done += some;
    for (size_t m = 0; m < models.size(); ++m) {
      if (some > 1) prototypes[m] = std::move(models[m].last_prototypes);
      if (done == passes) continue;
      prototypes[m] = solve_prototypes(session.statistics(static_cast<int>(m)), points.input(), prototypes[m], pool);
    }
  }
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

std::string label_difference(const Labels& a, const Labels& b) {
  int64_t count = 0;
  int64_t first = -1;
  for (int64_t row = 0; row < a.size(); ++row) {
    if (a[row] == b[row]) continue;
    if (count++ == 0) first = row;
  }
  return fmt::format("{} of {} labels, the first of row {}: {} instead of {}", count, a.size(), first, b[first],
                     a[first]);
}

// How terms are split into limbs is free; the integers that the limbs stand for are not.
bool same_sums(const Statistics& a, const Statistics& b, int bits) {
  if (a.k != b.k || a.d != b.d || a.limbs != b.limbs) return false;
  const SumFormat format{bits, a.limbs, 0};
  for (int64_t cluster = 0; cluster < a.k; ++cluster) {
    for (int64_t j = 0; j < a.d; ++j) {
      if (!(recombine(a.row(cluster) + j, format, a.d) == recombine(b.row(cluster) + j, format, b.d))) return false;
    }
  }
  return true;
}

std::string model_difference(const Trace& expected, const Trace& found, size_t m) {
  for (size_t p = 0; p < expected.passes[m].size(); ++p) {
    const PassResult& a = expected.passes[m][p];
    const PassResult& b = found.passes[m][p];
    if (a.changed != b.changed || a.hash_delta != b.hash_delta) {
      return fmt::format("model {}, pass {}: {} rows changed instead of {}{}", m, p, b.changed, a.changed,
                         a.hash_delta == b.hash_delta ? "" : "; other labels");
    }
  }
  const auto x = expected.labels[m].bytes();
  const auto y = found.labels[m].bytes();
  if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) {
    return fmt::format("model {}: {}", m, label_difference(expected.labels[m], found.labels[m]));
  }
  const Statistics& s = expected.statistics[m];
  const Statistics& t = found.statistics[m];
  if (!same_sums(s, t, expected.bits)) return fmt::format("model {}: sums", m);
  if (!same_bytes(s.weights, t.weights)) return fmt::format("model {}: weights", m);
  if (!same_bytes(s.counts, t.counts)) return fmt::format("model {}: counts", m);
  return "";
}

}  // namespace

CasePoints::CasePoints(const InstanceCase& one, ThreadPool& pool) : case_(one) {
  const size_t row_bytes = static_cast<size_t>(one.columns) * size_of(one.type);
  values_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(one.rows) * row_bytes);
  pool.for_each_range(one.rows, 256, [&](int, int64_t first, int64_t last) {
    std::vector<float> row(static_cast<size_t>(one.columns));
    for (int64_t i = first; i < last; ++i) {
      fill_row(one, i, row.data());
      for (float& value : row) value *= one.scale;
      store_row(one.type, row.data(), one.columns, values_.get() + static_cast<size_t>(i) * row_bytes);
    }
  });
  for (int64_t i = 0; one.weighted && i < one.rows; ++i) {
    weights_.push_back(0.25 * static_cast<double>(1 + mixed(static_cast<uint64_t>(i) + 31) % 7));
  }
  PointsView view;
  view.data = values_.get();
  view.n = one.rows;
  view.d = one.columns;
  view.type = one.type;
  input_ = input_of(one, view, weights_, pool);
}

Input CasePoints::device_input(const void* values, ThreadPool& pool, std::string& wrong) const {
  PointsView view = input_.points;
  view.data = values;
  view.place = {"cuda"};
  Input input = input_of(case_, view, weights_, pool);
  const bool same = input.columns == input_.columns && input.lowest == input_.lowest &&
                    input.minimum == input_.minimum && input.maximum == input_.maximum;
  if (!same) wrong = "ranges of columns";
  const std::vector<Moments> a = column_moments(input_, pool);
  const std::vector<Moments> b = column_moments(input, pool);
  for (size_t j = 0; j < a.size(); ++j) {
    if (a[j].mean != b[j].mean || a[j].variance != b[j].variance) wrong = "moments of columns";
  }
  const Matrix rows = gather_rows(input.points, std::vector<int64_t>{5, 3, case_.rows - 1});
  const Matrix expected = gather_rows(input_.points, std::vector<int64_t>{5, 3, case_.rows - 1});
  if (!std::ranges::equal(rows.bytes(), expected.bytes())) wrong = "rows fetched";
  return input;
}

Matrix CasePoints::first_prototypes(int64_t k, uint64_t seed) const {
  std::vector<int64_t> rows;
  const int64_t tight = k >= 2 * kTightPrototypes ? kTightPrototypes : 0;
  for (int64_t c = 0; c < k; ++c) {
    const int64_t part = case_.rows / k;
    int64_t row =
        part * c + static_cast<int64_t>(mixed(seed * 7919 + static_cast<uint64_t>(c)) % static_cast<uint64_t>(part));
    if (part >= 2 * kTightEvery) row = row / kTightEvery * kTightEvery + (c < tight ? 7 : 8 + c % 16);
    rows.push_back(std::min(row, case_.rows - 1));
  }
  return gather_rows(input_.points, rows);
}

namespace {

// Candidates tried by the tile, by two, and by four; one of them taken; centres that no trial has seen; rows picked and
// drawn; steps that the seeding makes by itself.
void seed(Seeding& seeding, const CasePoints& points, Trace& to) {
  const PointsView& rows = points.input().points;
  const auto add = [&](const Matrix& centres) {
    const SeedCentres added{0, &centres};
    seeding.add({&added, 1});
    to.potentials.push_back(seeding.total(0));
  };
  const Matrix first = points.first_prototypes(1, 71);
  const SeedCentres begun{0, &first};
  seeding.fix_scale(0, seeding.begin({&begun, 1})[0]);
  to.potentials.push_back(seeding.total(0));
  for (const int64_t candidates : {8, 12, 20}) {
    std::vector<int64_t> tried;
    for (int64_t i = 0; i < candidates; ++i) {
      tried.push_back(
          static_cast<int64_t>(mixed(static_cast<uint64_t>(candidates * 100 + i)) % static_cast<uint64_t>(rows.n)));
    }
    const Matrix centres = gather_rows(rows, tried);
    SeedTrial trial{0, &centres};
    seeding.trial({&trial, 1});
    to.potentials.insert(to.potentials.end(), trial.potentials.begin(), trial.potentials.end());
    add(gather_rows(rows, std::vector<int64_t>{tried[3]}));
  }
  add(points.first_prototypes(50, 72));
  const WideInt total = seeding.total(0);
  std::vector<WideInt> targets;
  for (uint64_t i = 0; i < 20; ++i) targets.push_back(total.times(mixed(i)).shift_right_64());
  to.seeds = seeding.pick(0, targets);
  const std::vector<int64_t> sampled = seeding.sample(0, {99, 1, 500, total});
  to.seeds.insert(to.seeds.end(), sampled.begin(), sampled.end());
  SeedRun run{0, 73, 1, 40, 8};
  run_steps(seeding, rows, {&run, 1}, 12);
  to.seeds.insert(to.seeds.end(), run.rows.begin(), run.rows.end());
}

// What swaps of one model would gain.
void swap(Upload& upload, const CasePoints& points, int64_t k, ThreadPool& pool, Trace& to) {
  std::unique_ptr<SwapScores> scores = upload.swap_scores(k);
  std::optional<SearchRows> rows;
  if (!scores) {
    rows.emplace(points.input(), pool);
    scores = std::make_unique<HostSwapScores>(*rows);
  }
  scores->assign(points.first_prototypes(k, 74), pool);
  to.swaps = scores->swaps(scores->draw({75, 1, 0}, k), pool);
}

// Distances to two of the prototypes.
std::vector<double> transformed(RowQueries& rows, int64_t n, const Matrix& prototypes) {
  const std::vector<int64_t> some = {0, prototypes.rows() - 1};
  const Matrix two = gather_rows(prototypes.view(), some);
  Matrix distances(n, 2, two.type());
  rows.transform(two, distances);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.insert(values.end(), {distances.at(i, 0), distances.at(i, 1)});
  return values;
}

// Everything that a session does beside its passes, of its first model.
void serve(Session& session, const CasePoints& points, const std::vector<Matrix>& prototypes, Trace& to) {
  RowQueries& rows = session.rows();
  const ModelPrototypes model{0, &prototypes[0]};
  to.inertias.push_back(rows.inertias({&model, 1})[0]);
  to.farthest = rows.farthest_rows(0, prototypes[0], 20);
  to.distances.push_back(rows.distances(0, prototypes[0]));
  to.distances.push_back(transformed(rows, points.input().points.n, prototypes[0]));
  for (const int64_t row : {int64_t{3}, points.input().points.n / 2}) session.move_row(0, row, 1);
  std::vector<uint32_t> labels;
  std::vector<int64_t> kept;
  for (int64_t c = 0; c < prototypes[0].rows(); ++c) {
    labels.push_back(static_cast<uint32_t>(c));
    kept.push_back(c);
  }
  session.renumber(0, labels, kept);
}

}  // namespace

Trace trace_of(Upload& upload, const CasePoints& points, const InstanceCase& one, const std::vector<int64_t>& k,
               ThreadPool& pool) {
  Trace trace;
  trace.bits = points.input().bits;
  const std::unique_ptr<Session> session = upload.session(k, 0);
  std::vector<Matrix> prototypes;
  for (size_t m = 0; m < k.size(); ++m) prototypes.push_back(points.first_prototypes(k[m], m));
  pass(*session, points, prototypes, one.passes, pool, trace);
  if (one.services) {
    serve(*session, points, prototypes, trace);
    const Matrix* const first = &prototypes[0];
    if (one.linear) trace.removals = removal_costs(points.input(), {&first, 1}, session->rows(), pool);
    seed(*make_seeding(upload, points.input(), k, pool).seeding, points, trace);
    constexpr int64_t kMaxToSwap = 100;  // with more clusters the host takes long
    if (!one.linear && k[0] <= kMaxToSwap) swap(upload, points, k[0], pool, trace);
  }
  for (size_t m = 0; m < k.size(); ++m) {
    const auto slot = static_cast<int>(m);
    trace.statistics.push_back(session->statistics(slot));
    constexpr int64_t kFirstRow = 7;
    const std::vector<LabelSum> sums = session->label_sums({&slot, 1}, kFirstRow);
    trace.labels.push_back(session->take_labels(slot));
    trace.label_sums.push_back(sums.empty() ? label_sum(trace.labels.back(), kFirstRow, pool) : sums[0]);
  }
  return trace;
}

std::string difference(const Trace& expected, const Trace& found) {
  for (size_t m = 0; m < expected.labels.size(); ++m) {
    const std::string text = model_difference(expected, found, m);
    if (!text.empty()) return text;
  }
  if (expected.label_sums != found.label_sums) return "label sums";
  for (size_t m = 0; m < expected.inertias.size(); ++m) {
    const InertiaSum& a = expected.inertias[m];
    const InertiaSum& b = found.inertias[m];
    const bool same = a.farthest == b.farthest && a.format == b.format &&
                      recombine(a.limbs.data(), a.format) == recombine(b.limbs.data(), b.format);
    if (!same) return fmt::format("model {}: inertia", m);
  }
  const auto same_row = [](const DistantRow& a, const DistantRow& b) {
    return a.distance == b.distance && a.row == b.row && a.label == b.label;
  };
  if (!std::ranges::equal(expected.farthest, found.farthest, same_row)) return "farthest rows";
  if (expected.distances != found.distances) return "distances";
  if (expected.removals != found.removals) return "what models are worth";
  if (expected.potentials != found.potentials) return "potentials of seeding";
  if (expected.seeds != found.seeds) return "rows that seeding chose";
  const auto same_swap = [](const Swap& a, const Swap& b) {
    return a.row == b.row && a.removed == b.removed && a.cluster == b.cluster && a.change == b.change;
  };
  if (!std::ranges::equal(expected.swaps, found.swaps, same_swap)) return "swaps";
  return "";
}

uint64_t digest_of(const Trace& trace) {
  uint64_t digest = 0;
  const auto add = [&](const void* bytes, size_t size) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    for (size_t i = 0; i + 8 <= size; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, at + i, 8);
      digest = mixed(digest ^ word);
    }
  };
  for (const Labels& labels : trace.labels) add(labels.bytes().data(), labels.bytes().size());
  for (const Statistics& of_model : trace.statistics) add(of_model.sums.data(), of_model.sums.size() * 8);
  return digest;
}

}  // namespace manymeans::test
