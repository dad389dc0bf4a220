#include "backend/remote/question.h"

#include <manymeans/error.h>

#include "backend/remote/answer.h"
#include "backend/remote/byte_stream.h"
#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace manymeans {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kBadData, "question", "these bytes are no question of this version of manymeans");
}

void need(bool condition) {
  if (!condition) refuse();
}

// Finite, and not so large that squares overflow.
bool is_usable(double value) {
  return std::fabs(value) <= kMaxMagnitude;
}

bool are_usable(std::span<const double> values) {
  return std::ranges::all_of(values, is_usable);
}

void check_matrix(const Question& question, const Matrix& matrix) {
  need(!matrix.empty() && matrix.columns() == question.columns && matrix.type() == prototype_type(question.type));
  as_float_type(matrix.type(), [&]<class T>(T) {
    for (const T value : matrix.values<T>()) need(is_usable(static_cast<double>(value)));
  });
}

void check_labels(const Question& question, const LabelState& labels) {
  check_matrix(question, labels.prototypes);
  const auto k = static_cast<uint64_t>(labels.prototypes.rows());
  need(labels.new_label.empty() ? labels.kept.empty() : labels.new_label.size() == k && !labels.kept.empty());
  for (const RowMove& move : labels.moves) need(move.label < k && move.row >= 0 && move.row < question.whole.rows);
  for (const uint32_t label : labels.new_label) need(label < labels.kept.size());
  for (size_t i = 0; i < labels.kept.size(); ++i) {
    need(labels.kept[i] >= (i == 0 ? 0 : labels.kept[i - 1] + 1) && static_cast<uint64_t>(labels.kept[i]) < k);
  }
}

void check_model(const Question& question, const AskedModel& model) {
  check_matrix(question, model.prototypes);
  need(model.format.limbs >= 1 && model.format.limbs <= kMaxLimbs && model.format.bits >= 0 &&
       model.format.bits <= 62 && std::abs(int64_t{model.format.shift}) < 8192);
  if (!model.labels) return need(question.what == Asked::kPass);
  check_labels(question, *model.labels);
  const auto kept = static_cast<int64_t>(model.labels->kept.size());
  need(model.prototypes.rows() == (kept == 0 ? model.labels->prototypes.rows() : kept));
}

void check_seeds(const Question& question, const AskedSeeds& seeds) {
  check_matrix(question, seeds.centres);
  need(seeds.largest >= 0 && std::isfinite(seeds.largest));
  if (question.what == Asked::kPotentials) check_matrix(question, seeds.candidates);
  need(question.what != Asked::kLargestTerm || seeds.centres.rows() == 1);
}

// Each slot occurs once, and exists.
template <class Item>
void check_slots(const std::vector<Item>& all, size_t slots) {
  std::vector<bool> seen(slots);
  for (const Item& one : all) {
    need(one.slot >= 0 && static_cast<size_t>(one.slot) < slots && !seen[static_cast<size_t>(one.slot)]);
    seen[static_cast<size_t>(one.slot)] = true;
  }
}

// A session has at most as many prototypes as rows, but for prototypes that the question brings.
void check_clusters(const Question& question) {
  std::vector<int64_t> most(question.clusters.size(), question.whole.rows);
  for (const AskedModel& model : question.models) {
    int64_t& rows = most[static_cast<size_t>(model.slot)];
    rows = std::max(rows, model.labels ? model.labels->prototypes.rows() : model.prototypes.rows());
    need(model.prototypes.rows() <= question.clusters[static_cast<size_t>(model.slot)]);
  }
  for (size_t slot = 0; slot < most.size(); ++slot) {
    need(question.clusters[slot] >= 1 && question.clusters[slot] <= std::min(most[slot], kMaxClusters));
  }
}

// Checks that a shard can use a question: no index is out of range, and no number is NaN.
void check_models(const Question& question) {
  check_slots(question.models, question.clusters.size());
  check_slots(question.seeds, question.clusters.size());
  for (const AskedModel& model : question.models) check_model(question, model);
  for (const AskedSeeds& seeds : question.seeds) check_seeds(question, seeds);
  check_clusters(question);
  const bool one_model =
      question.what == Asked::kPick || question.what == Asked::kSample || question.what == Asked::kClusterWeights;
  need(!one_model || question.seeds.size() == 1);
  const bool seeding = question.what >= Asked::kLargestTerm;
  need(question.what < Asked::kPass || !(seeding ? question.seeds.empty() : question.models.empty()));
  need(question.what != Asked::kSample || (question.sample.total.size() == kWideWords && question.sample.factor >= 1));
  for (const AskedPick& pick : question.picks) need(pick.target.size() == kWideWords);
  need(question.what != Asked::kFarthestRows || question.most >= 1);
  for (size_t i = 1; i < question.rows.size(); ++i) need(question.rows[i - 1] < question.rows[i]);
}

// It decides no answer, but divides, and says how long arrays are.
void check_workload(const Workload& workload) {
  constexpr int64_t kMaxModels = 1'000'000;  // of a fit
  constexpr int64_t kMaxPasses = 2000;       // of a model
  need(workload.models >= 1 && workload.models <= kMaxModels && workload.max_clusters >= 1 &&
       workload.max_clusters <= kMaxClusters && workload.all_clusters >= workload.max_clusters &&
       workload.all_clusters <= kMaxModels * kMaxClusters && workload.passes >= 1 &&
       workload.passes <= kMaxModels * kMaxPasses);
}

void check_whole(const Question& question) {
  const auto columns = static_cast<uint64_t>(question.columns);
  need(question.what <= Asked::kClusterWeights && question.type <= DataType::kInt8 &&
       question.metric <= Metric::kCosine);
  if (question.what == Asked::kShape) return;
  need(question.whole.rows >= 1 && question.whole.rows <= kMaxShardRows && question.columns >= 1);
  need(question.whole.largest_weight >= 0 && std::isfinite(question.whole.largest_weight));
  check_workload(question.workload);
  if (question.what < Asked::kMoments) return;
  const ColumnScan& scan = question.scan;
  need(scan.minimum.size() == columns && scan.maximum.size() == columns && scan.largest.size() == columns &&
       scan.low.size() == columns);
  need(are_usable(scan.minimum) && are_usable(scan.maximum));
  for (const double largest : scan.largest) need(largest >= 0 && std::isfinite(largest));
  for (const double low : scan.low) need(low > 0);
  need(question.max_weight > 0 && question.max_weight <= 2);
}

bool begins_with(const std::vector<RowMove>& moves, const std::vector<RowMove>& first) {
  return first.size() <= moves.size() && std::equal(first.begin(), first.end(), moves.begin());
}

}  // namespace

bool same_bits(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.columns() == b.columns() && a.type() == b.type() &&
         std::ranges::equal(a.bytes(), b.bytes());
}

bool LabelState::continues(const LabelState& earlier) const {
  if (!same_bits(prototypes, earlier.prototypes)) return false;
  if (earlier.new_label.empty()) return begins_with(moves, earlier.moves);
  return moves == earlier.moves && new_label == earlier.new_label && kept == earlier.kept;
}

Question Question::decode(std::span<const std::byte> bytes) {
  Question question;
  ByteReader version(bytes, "question");
  version(question.version);
  if (question.version != kVersion) refuse();
  ByteReader reader(bytes, "question");
  reader(question);
  reader.end();
  check_whole(question);
  check_models(question);
  return question;
}

Bytes Question::encode() {
  ByteWriter writer;
  writer(*this);
  return writer.take();
}

}  // namespace manymeans
