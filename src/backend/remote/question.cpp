#include "backend/remote/question.h"

#include <manymeans/error.h>

#include "backend/remote/answer.h"
#include "backend/remote/byte_stream.h"

#include <algorithm>

namespace manymeans {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kBadData, "question", "these bytes are no question of this version of manymeans");
}

// What a shard relies on where it uses a question: no index is out of range. `columns` of prototypes are those of the
// rows; there are no other kinds of prototypes here.
void check_models(const Question& question) {
  const auto slots = static_cast<int64_t>(question.clusters.size());
  const auto fits = [&](const Matrix& matrix) {
    return matrix.empty() || (matrix.columns() == question.columns && matrix.type() == prototype_type(question.type));
  };
  for (const AskedModel& model : question.models) {
    if (model.slot < 0 || model.slot >= slots || !fits(model.prototypes) || model.prototypes.empty()) refuse();
    if (model.format.limbs < 1 || model.format.limbs > kMaxLimbs) refuse();
    if (!model.labels) continue;
    const LabelState& labels = *model.labels;
    const auto k = static_cast<uint64_t>(labels.prototypes.rows());
    if (!fits(labels.prototypes) || k == 0 || (!labels.new_label.empty() && labels.new_label.size() != k)) refuse();
    for (const RowMove& move : labels.moves) {
      if (move.label >= k) refuse();
    }
    for (const uint32_t label : labels.new_label) {
      if (label >= labels.kept.size()) refuse();
    }
    for (const int64_t kept : labels.kept) {
      if (kept < 0 || static_cast<uint64_t>(kept) >= k) refuse();
    }
  }
  if ((question.what == Asked::kPick || question.what == Asked::kSample) && question.seeds.size() != 1) refuse();
  if (question.what == Asked::kSample && question.sample.total.size() != kWideWords) refuse();
  for (const AskedPick& pick : question.picks) {
    if (pick.target.size() != kWideWords) refuse();
  }
  for (const AskedSeeds& seeds : question.seeds) {
    if (question.what == Asked::kPotentials && seeds.candidates.empty()) refuse();
    if (seeds.slot < 0 || seeds.slot >= slots || seeds.centres.empty()) refuse();
    if (!fits(seeds.centres) || !fits(seeds.candidates)) refuse();
  }
}

void check_whole(const Question& question) {
  const auto columns = static_cast<uint64_t>(question.columns);
  if (question.what > Asked::kSample || question.type > DataType::kInt8) refuse();
  if (question.what == Asked::kShape) return;
  if (question.whole.rows < 1 || question.columns < 1) refuse();
  if (question.what < Asked::kMoments) return;
  for (const auto* part : {&question.scan.minimum, &question.scan.maximum, &question.scan.largest, &question.scan.low}) {
    if (part->size() != columns) refuse();
  }
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
