// Questions and answers for callers that loop without fit_shards().
#include <manymeans/error.h>
#include <manymeans/row_shards.h>

#include "backend/remote/question.h"
#include "backend/remote/remote_shards.h"
#include "core/fp_environment.h"
#include "core/threads.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>

namespace manymeans {
namespace {

Matrix prototypes_of(const PointsView& given, const Question& question) {
  if (given.n < 1 || given.d != question.columns) {
    throw Error(ErrorCode::kUsage, "models",
                fmt::format("there are {} prototypes of {} columns; at least one is needed, of {} columns", given.n,
                            given.d, question.columns));
  }
  return make_prototypes(given, prototype_type(question.type));
}

// Of each model where its integers begin, and the question of a pass.
struct PassAnswer {
  explicit PassAnswer(const Answered& answered)
      : question(Question::decode(answered.question)), known(question), input(known.input()) {
    if (question.what != Asked::kPass || !question.label_sums) {
      throw Error(ErrorCode::kUsage, "statistics", "this is no answer to a question of statistics_question()");
    }
    AnswerReader reader(answered, question.whole.rows);
    for (const AskedModel& model : question.models) {
      statistics.emplace_back(model.prototypes.rows(), question.columns, input.limbs);
      read(reader, statistics.back());
    }
  }

  void read(AnswerReader& reader, Statistics& to) {
    std::vector<int64_t>* const parts[] = {&to.sums, &to.weights, &to.counts};
    size_t count = 1 + 2 * kLabelSumWords;
    for (const auto* part : parts) count += part->size();
    const std::span<const int64_t> all = reader.integers(count);
    check_answer(all[0] >= 0 && all[0] <= question.whole.rows);
    changed.push_back(all[0]);
    const int64_t* at = all.data() + 1 + kLabelSumWords;
    for (auto* part : parts) {
      std::copy_n(at, part->size(), part->begin());
      at += part->size();
    }
    check_counts(to, question.whole.rows);
    label_sums.push_back(label_sum_of({at, kLabelSumWords}));
  }

  Question question;
  KnownRows known;
  Input input;
  std::vector<Statistics> statistics;
  std::vector<int64_t> changed;
  std::vector<LabelSum> label_sums;
};

}  // namespace

Bytes shape_question() {
  return Question{}.encode();
}

Bytes scan_question(std::span<const std::byte> shape) {
  return KnownRows(AnswerReader({shape_question(), shape}, 0)).question(Asked::kColumns).encode();
}

Bytes statistics_question(const Answered& scan, std::span<const PointsView> models,
                          std::span<const PointsView> previous) {
  const FpEnvironmentGuard guard;
  const Question about = Question::decode(scan.question);
  if (about.what != Asked::kColumns) {
    throw Error(ErrorCode::kUsage, "scan", "this is no answer to a question of scan_question()");
  }
  if (models.empty() || (!previous.empty() && previous.size() != models.size())) {
    throw Error(ErrorCode::kUsage, "models",
                fmt::format("there are {}, and {} before; give at least one, and none or as many before", models.size(),
                            previous.size()));
  }
  KnownRows known(about);
  known.take_columns(AnswerReader(scan, about.whole.rows));
  known.input();  // its errors are the data's
  Question question = known.question(Asked::kPass);
  question.label_sums = true;
  for (size_t i = 0; i < models.size(); ++i) {
    AskedModel model{static_cast<int32_t>(i), std::nullopt, prototypes_of(models[i], question), {}};
    if (!previous.empty()) model.labels = LabelState{prototypes_of(previous[i], question), {}, {}, {}};
    question.clusters.push_back(model.prototypes.rows());
    question.models.push_back(std::move(model));
  }
  return question.encode();
}

std::vector<ClusterStatistics> read_statistics(const Answered& statistics) {
  const FpEnvironmentGuard guard;
  PassAnswer pass(statistics);
  std::vector<ClusterStatistics> result;
  for (size_t i = 0; i < pass.statistics.size(); ++i) {
    ClusterStatistics model;
    model.counts = std::move(pass.statistics[i].counts);
    for (const int64_t weight : pass.statistics[i].weights) {
      const int exponent = pass.input.weight_exponent - pass.input.weight_shift;
      model.weights.push_back(std::ldexp(static_cast<double>(weight), exponent));
    }
    model.changed = pass.changed[i];
    model.label_sum = pass.label_sums[i];
    result.push_back(std::move(model));
  }
  return result;
}

std::vector<Matrix> solve(const Answered& statistics) {
  const FpEnvironmentGuard guard;
  const PassAnswer pass(statistics);
  ThreadPool alone(1);
  std::vector<Matrix> next;
  for (size_t i = 0; i < pass.statistics.size(); ++i) {
    next.push_back(solve_prototypes(pass.statistics[i], pass.input, pass.question.models[i].prototypes, alone));
  }
  return next;
}

}  // namespace manymeans
