// The side of a shard: questions answered by an ordinary session and an ordinary seeding over its rows. Both are kept
// for the next question, which nearly always continues from there. Otherwise they are made anew from the question.
#include <manymeans/error.h>
#include <manymeans/row_shards.h>

#include "backend/make_seeding.h"
#include "backend/remote/answer.h"
#include "backend/remote/byte_stream.h"
#include "backend/remote/kept_state.h"
#include "backend/remote/question.h"
#include "core/data_type.h"
#include "core/digest.h"
#include "core/fp_environment.h"
#include "core/mapped_range.h"
#include "core/out_of_memory.h"
#include "data/gather.h"
#include "data/unit_rows.h"
#include "data/weight_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

using Words = std::vector<int64_t>;

void append(Words& words, std::span<const int64_t> more) {
  words.insert(words.end(), more.begin(), more.end());
}

// Returns whether both mean one fit of the same rows, as far as their weights depend on it.
bool same_shape(const Question& a, const Question& b) {
  return a.metric == b.metric && a.whole.rows == b.whole.rows && a.whole.weighted == b.whole.weighted &&
         a.whole.largest_weight == b.whole.largest_weight;
}

bool same_whole(const Question& a, const Question& b) {
  return same_shape(a, b) && a.max_weight == b.max_weight && a.scan.minimum == b.scan.minimum &&
         a.scan.maximum == b.scan.maximum && a.scan.largest == b.scan.largest && a.scan.low == b.scan.low;
}

// Returns whether `whole` has seen all rows that `part` has seen.
bool contains(const ColumnScan& whole, const ColumnScan& part) {
  return std::ranges::equal(whole.minimum, part.minimum, std::less_equal()) &&
         std::ranges::equal(whole.maximum, part.maximum, std::greater_equal()) &&
         std::ranges::equal(whole.largest, part.largest, std::greater_equal()) &&
         std::ranges::equal(whole.low, part.low, std::less_equal());
}

BackendOptions backend_options(const RowShardOptions& options) {
  BackendOptions backend;
  backend.threads = options.threads;
  backend.algorithm = options.algorithm;
  return backend;
}

}  // namespace

struct RowShard::State {
  State(const PointsView& given_points, std::span<const double> given_weights, int64_t first,
        const RowShardOptions& options)
      : given(given_points),
        points(given_points),
        weights(given_weights),
        first_row(first),
        backend(make_backend(options.backend, points, backend_options(options))),
        pool(backend->threads()) {
    session.rows_are(first, points.n);
  }

  void answer(const Question& question, Answer& answer);
  void shape(Answer& answer) const;
  void columns(const Question& question, Answer& answer);
  void weights_of_rows(Answer& answer) const;
  void moments(Answer& answer);
  void rows(const Question& question, Answer& answer) const;
  void add_rows(std::span<const int64_t> mine, Answer& answer) const;
  void pass(const Question& question, Answer& answer);
  void farthest_rows(const Question& question, Answer& answer);
  void inertia(const Question& question, Answer& answer);
  void label_sums(const Question& question, Answer& answer);
  void largest_terms(const Question& question, Answer& answer);
  void totals(const Question& question, Answer& answer);
  void pick(const Question& question, Answer& answer);
  void potentials(const Question& question, Answer& answer);
  void sample(const Question& question, Answer& answer);
  void cluster_weights(const Question& question, Answer& answer);

  void begin(const Question& question);
  void measure_by(Metric metric);
  const ColumnScan& scan();
  std::vector<double> farthest(const Question& question);
  void forget() {  // what may be half done
    session.drop();
    seeding.drop();
  }
  void finish(const Question& question);
  Upload& uploaded();
  Session& session_at(const Question& question) {
    return session.at(question, [&](std::span<const int64_t> k) { return uploaded().session(k, pool.size()); });
  }
  auto fresh_seeding() {
    return [&](std::span<const int64_t> k) { return make_seeding(uploaded(), *input, k, pool); };
  }

  PointsView given;
  RowCopy unit;       // the rows scaled to length one, for questions by the metric cosine
  PointsView points;  // as the metric of the last question has them
  std::span<const double> weights;
  int64_t first_row;
  std::mutex turn;
  std::unique_ptr<Backend> backend;
  ThreadPool pool;
  Question about;                // what the rest was made for
  std::unique_ptr<Input> input;  // complete once the columns of all rows are known
  bool finished = false;
  std::optional<ColumnScan> scanned;  // of the shard's rows, with the weights of `input`
  uint64_t measured = 0;              // hash of the question whose largest distances are known
  std::vector<double> distances;
  std::unique_ptr<Upload> upload;
  KeptSession session;
  KeptSeeding seeding;
};

void RowShard::State::begin(const Question& question) {
  if (question.columns != given.d || question.type != given.type) {
    throw Error(ErrorCode::kUsage, "question", "it is about rows of other columns or another type than this shard's");
  }
  if (input && same_whole(question, about)) return;
  forget();
  upload.reset();
  if (!input || !same_shape(question, about)) scanned.reset();
  measure_by(question.metric);
  check_rows(question.whole.weighted == !weights.empty());
  if (!weights.empty()) check_rows(check_weights(weights, points.n, first_row) <= question.whole.largest_weight);
  input = std::make_unique<Input>(begin_shard(points, weights, first_row, question.whole));
  finished = false;
  about = question;
}

void RowShard::State::measure_by(Metric metric) {
  input.reset();
  if (metric != Metric::kCosine) unit = {};
  if (metric == Metric::kCosine && !unit.owner) unit = unit_rows(given, {pool.size(), 0, first_row});
  points = unit.owner ? unit.view : given;
}

// Rows that were made again may have other values than the formats are for.
void RowShard::State::finish(const Question& question) {
  begin(question);
  if (finished) return;
  check_rows(contains(question.scan, scan()) && largest_weight(*input) <= question.max_weight);
  finish_shard(*input, question.scan, question.max_weight);
  finished = true;
}

const ColumnScan& RowShard::State::scan() {
  if (!scanned) scanned = scan_shard(*input, pool);
  return *scanned;
}

Upload& RowShard::State::uploaded() {
  if (!upload) upload = backend->upload(*input, about.workload);
  return *upload;
}

void RowShard::State::answer(const Question& question, Answer& answer) {
  if (question.what == Asked::kShape) return shape(answer);
  if (points.n > question.whole.rows - first_row) {
    throw Error(ErrorCode::kUsage, "first_row",
                fmt::format("rows {} to {}, counted from 0, are said to be among {}", first_row,
                            first_row + points.n - 1, question.whole.rows));
  }
  if (question.what == Asked::kColumns) return columns(question, answer);
  if (question.what == Asked::kWeights) {
    begin(question);
    return weights_of_rows(answer);
  }
  finish(question);
  switch (question.what) {
    case Asked::kMoments: return moments(answer);
    case Asked::kRows: return rows(question, answer);
    case Asked::kPass: return pass(question, answer);
    case Asked::kFarthestRows: return farthest_rows(question, answer);
    case Asked::kFarthestDistance:
    case Asked::kInertia: return inertia(question, answer);
    case Asked::kLabelSum: return label_sums(question, answer);
    case Asked::kLargestTerm: return largest_terms(question, answer);
    case Asked::kTotals: return totals(question, answer);
    case Asked::kPick: return pick(question, answer);
    case Asked::kPotentials: return potentials(question, answer);
    case Asked::kSample: return sample(question, answer);
    case Asked::kClusterWeights: return cluster_weights(question, answer);
    case Asked::kShape:
    case Asked::kColumns:
    case Asked::kWeights: break;
  }
}

void RowShard::State::shape(Answer& answer) const {
  const double largest = weights.empty() ? 0 : check_weights(weights, points.n, first_row);
  answer.add(Merging::kRecords,
             {first_row, given.n, given.d, static_cast<int64_t>(given.type), weights.empty() ? 0 : 1, in_order(largest),
              in_order(smallest_weight(weights))},
             7);
}

void RowShard::State::columns(const Question& question, Answer& answer) {
  begin(question);
  answer.add(Merging::kSmallest, in_order(scan().minimum));
  answer.add(Merging::kLargest, in_order(scan().maximum));
  answer.add(Merging::kLargest, in_order(scan().largest));
  answer.add(Merging::kSmallest, in_order(scan().low));
  answer.add(Merging::kLargest, {in_order(largest_weight(*input))});
}

void RowShard::State::weights_of_rows(Answer& answer) const {
  Words records;
  for (int64_t i = 0; i < points.n; ++i) append(records, {{first_row + i, in_order(input->weight(i))}});
  answer.add(Merging::kRecords, std::move(records), 2);
}

void RowShard::State::moments(Answer& answer) {
  Words sums;
  for (MomentSums& sum : sum_moments(*input, moment_formats(*input), pool)) {
    settle_limbs(sum.y, input->bits, kDistanceLimbs);
    settle_limbs(sum.yy, input->bits, kDistanceLimbs);
    append(sums, sum.y);
    append(sums, sum.yy);
  }
  answer.add(Merging::kSum, std::move(sums));
}

void RowShard::State::rows(const Question& question, Answer& answer) const {
  std::vector<int64_t> mine;
  for (const int64_t row : question.rows) {
    if (input->shard.has(row)) mine.push_back(row - first_row);
  }
  add_rows(mine, answer);
}

// Adds numbers and values of the rows `mine` of the shard.
void RowShard::State::add_rows(std::span<const int64_t> mine, Answer& answer) const {
  const Matrix values = gather_rows(*input, mine);
  const size_t size = static_cast<size_t>(points.d) * size_of(values.type());
  const size_t width = 1 + (size + 7) / 8;
  Words records(mine.size() * width);
  for (size_t i = 0; i < mine.size(); ++i) {
    records[i * width] = first_row + mine[i];
    std::memcpy(records.data() + i * width + 1, values.bytes().data() + i * size, size);
  }
  answer.add(Merging::kRecords, std::move(records), static_cast<int64_t>(width));
}

// Of each model: labels that changed, the change of the label sum, statistics, the label sum where it is wanted. The
// cost of the labels is left out: it depends on what the shard remembers.
void RowShard::State::pass(const Question& question, Answer& answer) {
  Session& at = session_at(question);
  std::vector<PassModel> passes;
  for (const AskedModel& model : question.models) passes.push_back({model.slot, &model.prototypes, {}});
  at.advance(passes, 1);
  for (size_t i = 0; i < passes.size(); ++i) {
    session.labelled(question.models[i]);
    Words sums;
    sums.push_back(passes[i].result.changed);
    append_words(passes[i].result.hash_delta, sums);
    Statistics statistics = at.statistics(passes[i].slot);
    for (int64_t k = 0; k < statistics.k; ++k) {
      int64_t* of_cluster = statistics.row(k);
      for (int64_t j = 0; j < statistics.d; ++j) settle_limbs(of_cluster + j, input->bits, input->limbs, statistics.d);
    }
    for (const auto* part : {&statistics.sums, &statistics.weights, &statistics.counts}) append(sums, *part);
    if (question.label_sums) append_words(label_sum(at.labels(passes[i].slot), first_row), sums);
    answer.add(Merging::kSum, std::move(sums));
  }
}

void RowShard::State::farthest_rows(const Question& question, Answer& answer) {
  Session& at = session_at(question);
  const int64_t most = std::min(question.most, points.n);
  for (const AskedModel& model : question.models) {
    Words records;
    for (const DistantRow& row : at.rows().farthest_rows(model.slot, model.prototypes, most)) {
      append(records, {{in_order(row.distance), first_row + row.row, row.label}});
    }
    answer.add(Merging::kFarthest, std::move(records), 3, question.most);
  }
}

// The largest distance of each model. They are kept, since a question for an inertia comes after one for them.
std::vector<double> RowShard::State::farthest(const Question& question) {
  Question models = question;
  models.what = Asked::kFarthestDistance;
  for (AskedModel& model : models.models) model.format = {};
  const uint64_t asked = hash_of_bytes(models.encode());
  if (asked == measured && distances.size() == models.models.size()) return distances;
  std::vector<ModelPrototypes> prototypes;
  for (const AskedModel& model : question.models) prototypes.push_back({model.slot, &model.prototypes});
  distances.clear();
  for (const InertiaSum& sum : session_at(question).rows().inertias(prototypes)) distances.push_back(sum.farthest);
  measured = asked;
  return distances;
}

// A format is for the largest distance of all shards.
void RowShard::State::inertia(const Question& question, Answer& answer) {
  const std::vector<double> largest = farthest(question);
  if (question.what == Asked::kFarthestDistance) return answer.add(Merging::kLargest, in_order(largest));
  Session& at = session_at(question);
  for (size_t i = 0; i < question.models.size(); ++i) {
    const AskedModel& model = question.models[i];
    const SumFormat mine = distance_format(*input, largest[i]);
    check_rows(model.format.bits == mine.bits && model.format.limbs == mine.limbs &&
               (largest[i] == 0 || model.format.shift <= mine.shift));
    Words limbs = at.rows().inertia_limbs(model.slot, model.prototypes, model.format);
    settle_limbs(limbs.data(), model.format.bits, model.format.limbs);
    answer.add(Merging::kSum, std::move(limbs));
  }
}

void RowShard::State::label_sums(const Question& question, Answer& answer) {
  Session& at = session_at(question);
  Words words;
  for (const AskedModel& model : question.models) append_words(label_sum(at.labels(model.slot), first_row), words);
  answer.add(Merging::kSum, std::move(words));
}

void RowShard::State::largest_terms(const Question& question, Answer& answer) {
  answer.add(Merging::kLargest, in_order(seeding.begin(question, fresh_seeding())));
}

// A record of this shard: its first row, and words of every model.
void RowShard::State::totals(const Question& question, Answer& answer) {
  Seeding& at = seeding.at(question, fresh_seeding());
  Words record = {first_row};
  for (const AskedSeeds& seeds : question.seeds) append_words(at.total(seeds.slot), record);
  const auto width = static_cast<int64_t>(record.size());
  answer.add(Merging::kRecords, std::move(record), width);
}

void RowShard::State::pick(const Question& question, Answer& answer) {
  Words records;
  std::vector<WideInt> targets;
  std::vector<int64_t> indices;
  for (const AskedPick& asked : question.picks) {
    if (asked.shard != first_row) continue;
    targets.push_back(wide_of(asked.target));
    indices.push_back(asked.index);
  }
  if (!targets.empty()) {
    Seeding& at = seeding.at(question, fresh_seeding());
    const int slot = question.seeds[0].slot;
    const WideInt total = at.total(slot);
    check_rows(std::ranges::all_of(targets, [&](const WideInt& t) { return !t.negative() && t < total; }));
    const std::vector<int64_t> picked = at.pick(slot, targets);
    for (size_t i = 0; i < picked.size(); ++i) append(records, {{indices[i], first_row + picked[i]}});
  }
  answer.add(Merging::kRecords, std::move(records), 2);
}

void RowShard::State::potentials(const Question& question, Answer& answer) {
  Seeding& at = seeding.at(question, fresh_seeding());
  std::vector<SeedTrial> trials;
  for (const AskedSeeds& seeds : question.seeds) trials.push_back({seeds.slot, &seeds.candidates});
  at.trial(trials);
  Words words;
  for (const SeedTrial& trial : trials) {
    for (const WideInt& potential : trial.potentials) append_words(potential, words);
  }
  answer.add(Merging::kSum, std::move(words));
}

void RowShard::State::sample(const Question& question, Answer& answer) {
  Seeding& at = seeding.at(question, fresh_seeding());
  const AskedSample& asked = question.sample;
  add_rows(at.sample(question.seeds[0].slot, {asked.key, asked.draw, asked.factor, wide_of(asked.total)}), answer);
}

// By a pass, where the seeding does not know it: an answer is the same wherever it comes from.
void RowShard::State::cluster_weights(const Question& question, Answer& answer) {
  const AskedSeeds& seeds = question.seeds[0];
  Words found;
  if (seeding.knows_cluster_weights(question, fresh_seeding())) {
    found = seeding.at(question, fresh_seeding()).cluster_weights(seeds.slot);
  }
  if (found.empty()) {
    session.drop();  // before there is another one
    found = cluster_weights_by_pass(uploaded(), seeds.centres, pool.size());
  }
  answer.add(Merging::kSum, std::move(found));
}

RowShard::RowShard(const PointsView& points, std::span<const double> weights, int64_t first_row,
                   const RowShardOptions& options) {
  if (first_row < 0 || first_row > kMaxShardRows) {
    throw Error(ErrorCode::kUsage, "first_row",
                fmt::format("is {}; rows are counted from 0, and there are {} at most", first_row, kMaxShardRows));
  }
  if (points.n != 0) check_shape(points, points.n);
  state_ = std::make_unique<State>(points, weights, first_row, options);
}
RowShard::~RowShard() = default;
RowShard::RowShard(RowShard&& other) noexcept = default;
RowShard& RowShard::operator=(RowShard&& other) noexcept = default;

Bytes RowShard::answer(std::span<const std::byte> bytes) {
  const FpEnvironmentGuard guard;
  const Question question = Question::decode(bytes);
  State& state = *state_;
  const std::lock_guard turn(state.turn);
  Answer answer;
  answer.question = hash_of_bytes(bytes);
  if (state.points.n == 0) return answer.encode();
  answer.rows = {{state.first_row, state.first_row + state.points.n}};
  try {
    or_out_of_memory("shard", "use more or smaller shards", [&] { state.answer(question, answer); });
    check_mapped(state.given.data);
  } catch (const Error& error) {
    state.forget();
    // These are errors in the rows or the options. All else is this process's own, and another one may do better.
    if (error.code() != ErrorCode::kBadData && error.code() != ErrorCode::kUsage) throw;
    answer.values.clear();
    answer.failure = {state.first_row, static_cast<int32_t>(error.code()), error.what()};
  }
  return answer.encode();
}

}  // namespace manymeans
