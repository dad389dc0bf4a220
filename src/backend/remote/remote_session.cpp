#include "backend/remote/remote_session.h"

#include <manymeans/error.h>

#include "core/data_type.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymeans {

RemoteSession::RemoteSession(const Input& input, const RemoteShards& shards, std::span<const int64_t> k)
    : input_(input), shards_(shards), clusters_(k.begin(), k.end()), models_(k.size()) {}

Question RemoteSession::question(Asked what) const {
  Question question = shards_.question(what);
  question.clusters = clusters_;
  return question;
}

// Adds a model with the labels that it has.
void RemoteSession::ask_about(Question& question, int slot, const Matrix& prototypes) {
  question.models.push_back({slot, of(slot).labels, prototypes, {}});
}

int RemoteSession::advance(std::span<PassModel> models, const PassLimits&) {
  Question pass = question(Asked::kPass);
  for (const PassModel& model : models) ask_about(pass, model.slot, *model.prototypes);
  AnswerReader answer = shards_.ask(std::move(pass));
  for (PassModel& model : models) {
    read_pass(answer, model);
    model.earlier.clear();
    model.last_prototypes = {};
  }
  return 1;
}

void RemoteSession::read_pass(AnswerReader& answer, PassModel& model) {
  Model& mine = of(model.slot);
  mine.statistics = Statistics(model.prototypes->rows(), input_.points.d, input_.limbs);
  std::vector<int64_t>* const parts[] = {&mine.statistics.sums, &mine.statistics.weights, &mine.statistics.counts};
  size_t count = 1 + kLabelSumWords;
  for (const auto* part : parts) count += part->size();
  const int64_t* at = answer.integers(count).data();
  model.result = {};
  model.result.changed = *at++;
  check_answer(model.result.changed >= 0 && model.result.changed <= input_.shard.all);
  model.result.hash_delta = label_sum_of({at, kLabelSumWords});
  at += kLabelSumWords;
  for (auto* part : parts) {
    std::copy_n(at, part->size(), part->begin());
    at += part->size();
  }
  check_counts(mine.statistics, input_.shard.all);
  mine.labels = LabelState{*model.prototypes, {}, {}, {}};
  mine.label_sum.reset();
  mine.donors.clear();
}

void RemoteSession::fetch(std::span<const int> slots, std::span<const int> /*labels_of*/) {
  Question question = this->question(Asked::kLabelSum);
  for (const int slot : slots) ask_about(question, slot, of(slot).labels.value().prototypes);
  AnswerReader answer = shards_.ask(std::move(question));
  const std::span<const int64_t> words = answer.integers(slots.size() * kLabelSumWords);
  for (size_t i = 0; i < slots.size(); ++i) {
    of(slots[i]).label_sum = label_sum_of(words.subspan(i * kLabelSumWords, kLabelSumWords));
  }
}

// The shards number their rows among all.
std::vector<LabelSum> RemoteSession::label_sums(std::span<const int> slots, int64_t /*first_row*/) {
  std::vector<LabelSum> sums;
  for (const int slot : slots) {
    if (!of(slot).label_sum) fetch({&slot, 1}, {});
    sums.push_back(of(slot).label_sum.value());
  }
  return sums;
}

// The caller moves some of them next.
std::vector<DistantRow> RemoteSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  Question question = this->question(Asked::kFarthestRows);
  ask_about(question, slot, prototypes);
  question.most = count;
  AnswerReader answer = shards_.ask(std::move(question));
  const std::span<const int64_t> records = answer.records(3);
  std::vector<DistantRow> rows;
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < records.size(); at += 3) {
    rows.push_back({from_order(records[at]), records[at + 1], static_cast<uint32_t>(records[at + 2])});
    numbers.push_back(records[at + 1]);
    check_answer(rows.back().distance > 0 && std::isfinite(rows.back().distance) && numbers.back() >= 0 &&
                 numbers.back() < input_.shard.all && records[at + 2] >= 0 && records[at + 2] < prototypes.rows());
  }
  if (rows.empty()) return rows;
  const Matrix values = input_.remote->gather(numbers);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    of(slot).donors[rows[i].row] = {rows[i].label, keep_prototypes(values, {&place, 1})};
  }
  return rows;
}

// Moves the row's terms from one cluster's sums to another's; the shards move the row with the next question.
void RemoteSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& model = of(slot);
  const auto found = model.donors.find(row);
  if (found == model.donors.end()) {
    throw Error(ErrorCode::kInternal, "shards", "a row is moved that was not among the farthest");
  }
  Donor& donor = found->second;
  add_row(model.statistics, row, donor.values, donor.label, -1);
  add_row(model.statistics, row, donor.values, label, 1);
  donor.label = label;
  model.labels.value().moves.push_back({row, label});
}

void RemoteSession::add_row(Statistics& statistics, int64_t row, const Matrix& values, uint32_t label, int sign) const {
  int64_t* sums = statistics.row(label);
  for (int64_t j = 0; j < statistics.d; ++j) {
    int64_t term[kMaxLimbs] = {};
    add_term(input_.weight(row) * values.at(0, j), input_.columns[static_cast<size_t>(j)], sign, term);
    for (int g = 0; g < statistics.limbs; ++g) sums[g * statistics.d + j] += term[g];
  }
  statistics.weights[label] += sign * input_.integer_weight(row);
  statistics.counts[label] += sign;
}

void RemoteSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  Model& model = of(slot);
  model.statistics = model.statistics.renumbered(new_label, kept);
  model.labels.value().new_label.assign(new_label.begin(), new_label.end());
  model.labels.value().kept.assign(kept.begin(), kept.end());
}

std::vector<InertiaSum> RemoteSession::inertias(std::span<const ModelPrototypes> models) {
  Question farthest = question(Asked::kFarthestDistance);
  for (const ModelPrototypes& model : models) ask_about(farthest, model.slot, *model.prototypes);
  Question limbs = farthest;
  limbs.what = Asked::kInertia;
  const std::vector<double> distances = shards_.ask(std::move(farthest)).distances(models.size());
  std::vector<InertiaSum> sums;
  for (size_t i = 0; i < models.size(); ++i) {
    sums.push_back({distances[i], distance_format(input_, distances[i]), {}});
    limbs.models[i].format = sums[i].format;
  }
  AnswerReader answer = shards_.ask(std::move(limbs));
  for (InertiaSum& sum : sums) {
    const std::span<const int64_t> integers = answer.integers(static_cast<size_t>(sum.format.limbs));
    sum.limbs.assign(integers.begin(), integers.end());
  }
  return sums;
}

std::vector<int64_t> RemoteSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  Question question = this->question(Asked::kInertia);
  ask_about(question, slot, prototypes);
  question.models[0].format = format;
  AnswerReader answer = shards_.ask(std::move(question));
  const std::span<const int64_t> integers = answer.integers(static_cast<size_t>(format.limbs));
  return {integers.begin(), integers.end()};
}

// A fit needs no values of every row: predict() and transform() of a shard's rows return them.
std::vector<double> RemoteSession::distances(int, const Matrix&) {
  throw Error(ErrorCode::kInternal, "shards", "the distances of rows are with their shards");
}

void RemoteSession::transform(const Matrix&, Matrix&) {
  throw Error(ErrorCode::kInternal, "shards", "the distances of rows are with their shards");
}

}  // namespace manymeans
