#include "backend/remote/remote_seeding.h"

#include <manymeans/error.h>

#include <algorithm>
#include <utility>

namespace manymeans {
namespace {

Matrix joined(const Matrix& first, const Matrix& second) {
  Matrix both(first.rows() + second.rows(), second.columns(), second.type());
  std::byte* out = both.values<std::byte>().data();
  std::ranges::copy(second.bytes(), std::ranges::copy(first.bytes(), out).out);
  return both;
}

}  // namespace

RemoteSeeding::RemoteSeeding(RemoteShards& shards, std::span<const int64_t> k)
    : shards_(shards), clusters_(k.begin(), k.end()), models_(k.size()) {}

Question RemoteSeeding::question(Asked what) const {
  Question question = shards_.question(what);
  question.clusters = clusters_;
  return question;
}

void RemoteSeeding::ask_about(Question& question, int slot) {
  question.seeds.push_back({slot, of(slot).centres, of(slot).largest, {}});
}

std::vector<double> RemoteSeeding::begin(std::span<const SeedCentres> models) {
  Question question = this->question(Asked::kLargestTerm);
  for (const SeedCentres& model : models) {
    if (model.centres->rows() != 1) {
      throw Error(ErrorCode::kInternal, "shards", "seeding begins with several centres; shards begin with one");
    }
    of(model.slot) = {*model.centres, 0, {}};
    ask_about(question, model.slot);
  }
  return shards_.ask(std::move(question)).distances(models.size());
}

void RemoteSeeding::add(std::span<const SeedCentres> models) {
  for (const SeedCentres& model : models) {
    Model& mine = of(model.slot);
    mine.centres = joined(mine.centres, *model.centres);
    mine.totals.clear();
  }
}

const std::vector<RemoteSeeding::ShardTotal>& RemoteSeeding::totals_of(int slot) {
  if (of(slot).totals.empty()) gather_totals();
  return of(slot).totals;
}

// One question for all models whose totals are not known.
void RemoteSeeding::gather_totals() {
  Question question = this->question(Asked::kTotals);
  std::vector<Model*> unknown;
  for (size_t slot = 0; slot < models_.size(); ++slot) {
    if (models_[slot].centres.empty() || !models_[slot].totals.empty()) continue;
    unknown.push_back(&models_[slot]);
    ask_about(question, static_cast<int>(slot));
  }
  const size_t width = 1 + unknown.size() * kWideWords;
  AnswerReader answer = shards_.ask(std::move(question));
  const std::span<const int64_t> records = answer.records(width);
  for (size_t at = 0; at < records.size(); at += width) {
    for (size_t m = 0; m < unknown.size(); ++m) {
      unknown[m]->totals.push_back({records[at], wide_of(records.subspan(at + 1 + m * kWideWords, kWideWords))});
      check_answer(!unknown[m]->totals.back().sum.negative());
    }
  }
}

WideInt RemoteSeeding::total(int slot) {
  WideInt sum;
  for (const ShardTotal& total : totals_of(slot)) sum += total.sum;
  return sum;
}

// Totals say which shard has the row that is meant, so that one looks for it.
std::vector<int64_t> RemoteSeeding::pick(int slot, std::span<const WideInt> targets) {
  Question question = this->question(Asked::kPick);
  ask_about(question, slot);
  for (size_t i = 0; i < targets.size(); ++i) {
    WideInt rest = targets[i];
    for (const ShardTotal& total : totals_of(slot)) {
      if (rest < total.sum) {
        AskedPick pick{total.first_row, static_cast<int64_t>(i), {}};
        append_words(rest, pick.target);
        question.picks.push_back(std::move(pick));
        break;
      }
      rest = rest - total.sum;
    }
  }
  AnswerReader answer = shards_.ask(std::move(question));
  const std::span<const int64_t> records = answer.records(2);
  check_answer(records.size() == 2 * targets.size());  // a row for each
  std::vector<int64_t> rows;
  for (size_t at = 0; at < records.size(); at += 2) {
    rows.push_back(records[at + 1]);
    check_answer(rows.back() >= 0 && rows.back() < shards_.known().rows());
  }
  return rows;
}

void RemoteSeeding::trial(std::span<SeedTrial> trials) {
  Question question = this->question(Asked::kPotentials);
  size_t count = 0;
  for (const SeedTrial& trial : trials) {
    ask_about(question, trial.slot);
    question.seeds.back().candidates = *trial.candidates;
    count += static_cast<size_t>(trial.candidates->rows());
  }
  AnswerReader answer = shards_.ask(std::move(question));
  std::span<const int64_t> words = answer.integers(count * kWideWords);
  for (SeedTrial& trial : trials) {
    trial.potentials.clear();
    for (int64_t c = 0; c < trial.candidates->rows(); ++c, words = words.subspan(kWideWords)) {
      trial.potentials.push_back(wide_of(words.first(kWideWords)));
    }
  }
}

std::vector<int64_t> RemoteSeeding::sample(int slot, const SeedSample& sample) {
  Question question = this->question(Asked::kSample);
  ask_about(question, slot);
  question.sample = {sample.key, sample.draw, sample.factor, {}};
  append_words(sample.total, question.sample.total);
  return shards_.take_rows(shards_.ask(std::move(question)));
}

std::vector<int64_t> RemoteSeeding::cluster_weights(int slot) {
  Question question = this->question(Asked::kClusterWeights);
  ask_about(question, slot);
  AnswerReader answer = shards_.ask(std::move(question));
  const std::span<const int64_t> weights = answer.integers(static_cast<size_t>(of(slot).centres.rows()));
  check_answer(std::ranges::all_of(weights, [](int64_t weight) { return weight >= 0; }));
  return {weights.begin(), weights.end()};
}

}  // namespace manymeans
