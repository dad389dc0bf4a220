// Fits of shards that know nothing of each other: digests, warnings and errors are those of the reference that has all
// rows, whoever answers, in whatever order answers merge, and whatever a shard has forgotten.
#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/row_shards.h>

#include "backend/remote/answer.h"
#include "backend/remote/byte_stream.h"
#include "backend/remote/question.h"
#include "conformance/cases.h"
#include "conformance/fit_cases.h"
#include "data/shards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

namespace manymeans::test {
namespace {

std::string text_of(const FitResult& result) {
  std::string text = result.digest();
  for (const ModelResult& model : result.models) {
    text += fmt::format("\n{}:{}:{} seed {} counts {} weights {} inertia {} {}", model.k, model.iterations,
                        name_of(model.stop_reason), model.seed, fmt::join(model.counts, ","),
                        fmt::join(model.weights, ","), model.inertia, model.digest());
  }
  std::vector<std::string> warnings = result.warnings;
  std::sort(warnings.begin(), warnings.end());
  for (const std::string& warning : warnings) text += "\n" + warning;
  for (const PassLog& log : result.provenance.pass_log) {
    text += fmt::format("\npass of {} models: {} of {} changed", log.models, log.changed, log.labelled);
  }
  return text;
}

template <class Fit>
std::string text_or_error(const Fit& fit_it) {
  try {
    return text_of(fit_it());
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
}

// What all shards of a case answer. Before a question some of them are lost, and made anew by somebody else.
class Cluster {
 public:
  Cluster(const Case& made, std::vector<int64_t> ends, uint64_t seed)
      : made_(made), ends_(std::move(ends)), random_(seed) {
    for (size_t i = 0; i < ends_.size(); ++i) shards_.push_back(shard(i));
  }

  Bytes ask(std::span<const std::byte> question) {
    std::vector<Bytes> answers;
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (random_() % 5 == 0) shards_[i] = shard(i);
      answers.push_back(shards_[i].answer(question));
      if (random_() % 7 == 0) {
        EXPECT_EQ(shard(i).answer(question), answers.back()) << "no pure function";
      }
    }
    std::shuffle(answers.begin(), answers.end(), random_);
    while (answers.size() > 1) {  // in a tree of any form
      const size_t at = random_() % (answers.size() - 1);
      answers[at] = merge_answers(answers[at], answers[at + 1]);
      answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    ++asked_;
    return std::move(answers[0]);
  }
  int asked() const { return asked_; }

 private:
  RowShard shard(size_t i) {
    const Part part = part_of(made_, ends_, static_cast<int>(i));
    RowShardOptions options;
    options.backend = random_() % 2 == 0 ? "reference" : "cpu";
    options.threads = 1 + static_cast<int>(random_() % 2);
    return {part.points, part.weights, i == 0 ? 0 : ends_[i - 1], options};
  }

  const Case& made_;
  std::vector<int64_t> ends_;
  std::mt19937_64 random_;
  std::vector<RowShard> shards_;
  int asked_ = 0;
};

class FitShards : public testing::Test {
 protected:
  void compare(const Case& made, FitOptions options, const FitHooks& hooks = {}) {
    const int count = 1 + static_cast<int>(compared_ % 8);
    Cluster cluster(made, shard_ends(made.shape.n, count, made.seed + compared_), compared_);
    options.strategy = kStrategies[compared_ / 3 % kStrategies.size()];
    const std::string found = text_or_error([&] {
      return fit_shards([&](std::span<const std::byte> question) { return cluster.ask(question); }, options, hooks);
    });
    if (options.strategy == Strategy::kTask) options.strategy = Strategy::kData;  // whose passes are logged in order
    options.backend = "reference";
    EXPECT_EQ(found, text_or_error([&] { return fit(made.points(), made.weights, options, hooks); }))
        << made.name << " init " << options.init << " stop " << options.stop << " empty " << name_of(options.empty)
        << " comparison " << compared_;
    ++compared_;
  }

  size_t compared_ = 0;
};

TEST_F(FitShards, EveryInitStopRuleAndEmptyPolicy) {
  for_each_small_fit([this](const Case& made, const FitOptions& options) {
    compare(made, options);
    return !HasFailure();
  });
}

TEST_F(FitShards, EveryStopRuleAtItsThreshold) {
  for_each_threshold_fit([this](const Case& made, const FitOptions& options) {
    compare(made, options);
    return !HasFailure();
  });
}

TEST_F(FitShards, GivenPrototypesAndEmptyClusters) {
  uint64_t seed = 2000;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kUInt8}) {
    for (int family = 0; family < kFamilies; ++family) {
      const EmptyPolicy empty = kPolicies[seed % 4];
      const Case made = make_case(static_cast<Family>(family), type, static_cast<Weighting>(seed % kWeightings),
                                  {150, 3, {12, 12}}, seed);
      ++seed;
      FitHooks hooks;
      const Matrix given = stacked(made.prototypes);
      hooks.initial = given.view();
      FitOptions options = given_options(empty);
      options.models = 2;
      compare(made, options, hooks);
      if (HasFailure()) return;
    }
  }
}

TEST_F(FitShards, OneRowAShard) {
  for (uint64_t seed = 7000; seed < 7056; ++seed) {
    compared_ = seed;
    const auto n = static_cast<int64_t>(1 + seed % 8);
    FitOptions options = small_options(seed % 2 == 0 ? "k-means||" : "random", "strict", kPolicies[seed % 3]);
    options.k = {1, n};
    compare(make_case(static_cast<Family>(seed % kFamilies), DataType::kFloat32,
                      static_cast<Weighting>(seed % kWeightings), {n, 2, {1}}, 7 * seed),
            options);
    if (HasFailure()) return;
  }
}

const Case& plain_case() {
  static const Case kCase = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {400, 3, {6}}, 3);
  return kCase;
}

FitOptions plain_options() {
  FitOptions options = small_options("k-means||", "strict", EmptyPolicy::kKeep);
  options.k = {6};
  options.models = 1;
  options.max_iter = 10;
  return options;
}

// Errors of rows are those of the first row, whoever says so first.
TEST_F(FitShards, WhatIsWrongWithRowsIsWhatOneProcessSays) {
  Case made = plain_case();
  auto* values = reinterpret_cast<float*>(made.bytes.data());
  for (const size_t at : {1100, 700, 301}) {
    values[at] = std::numeric_limits<float>::quiet_NaN();
    for (compared_ = 1; compared_ < 8; ++compared_) compare(made, plain_options());
  }
  Case weighted = plain_case();
  weighted.weights.assign(400, 0);
  for (compared_ = 1; compared_ < 8; ++compared_) compare(weighted, plain_options());
  weighted.weights.assign(400, 1);
  weighted.weights[250] = 1e-300;
  for (compared_ = 1; compared_ < 8; ++compared_) compare(weighted, plain_options());
  weighted.weights[300] = -1;
  for (compared_ = 1; compared_ < 8; ++compared_) compare(weighted, plain_options());
  FitOptions many = plain_options();
  many.k = {401};
  compare(plain_case(), many);
}

// Each shard scales its rows to length one. Rows of zeros are errors that name the row among all.
TEST_F(FitShards, MetricCosine) {
  const char* inits[] = {"k-means||", "k-means++", "random", "first"};
  for (uint64_t seed = 0; seed < 72; ++seed) {
    FitOptions options = small_options(inits[seed % 4], seed % 3 == 0 ? "inertia:1e-3" : "strict", kPolicies[seed % 4]);
    options.metric = Metric::kCosine;
    const auto type = static_cast<DataType>(seed % 6);
    const Case made = make_case(static_cast<Family>(seed % kFamilies), type, static_cast<Weighting>(seed % kWeightings),
                                {90, static_cast<int64_t>(1 + seed % 5), {7}}, 90 + seed);
    FitHooks hooks;
    if (seed % 5 == 0) hooks.initial = made.prototypes[0].view();
    if (seed % 5 == 0) options.k = {made.prototypes[0].rows()}, options.models = 1;
    compare(made, options, hooks);
    if (HasFailure()) return;
  }
}

TEST_F(FitShards, RefuseSizesOfClusters) {
  FitOptions options = plain_options();
  options.max_size = 100;
  Cluster cluster(plain_case(), {200, 400}, 1);
  const std::string said = text_or_error(
      [&] { return fit_shards([&](std::span<const std::byte> question) { return cluster.ask(question); }, options); });
  EXPECT_NE(said.find("[max_size] sizes of clusters"), std::string::npos) << said;
}

// What a scheduler pays for.
TEST_F(FitShards, AFitAsksFewQuestions) {
  Cluster cluster(plain_case(), {100, 200, 300, 400}, 1);
  const FitResult result =
      fit_shards([&](std::span<const std::byte> question) { return cluster.ask(question); }, plain_options());
  EXPECT_LE(cluster.asked(), 18 + result.provenance.passes);
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

RowShard plain_shard(int64_t first, int64_t last, int64_t said_first) {
  const float* values = reinterpret_cast<const float*>(plain_case().bytes.data());
  return {PointsView(values + first * 3, last - first, 3), {}, said_first};
}

// A shard that is missing, counted twice, or put in the wrong place would be wrong sums.
TEST_F(FitShards, RowsThatAreMissingOrThereTwiceAreErrors) {
  RowShard all = plain_shard(0, 400, 0), half = plain_shard(0, 200, 0), late = plain_shard(200, 400, 201);
  const auto fit_of = [](const std::function<Bytes(std::span<const std::byte>)>& ask) {
    return message_of([&] { fit_shards(ask, plain_options()); });
  };
  EXPECT_NE(fit_of([&](auto q) { return merge_answers(half.answer(q), all.answer(q)); }).find("in two of them"),
            std::string::npos);
  EXPECT_NE(fit_of([&](auto q) { return merge_answers(half.answer(q), late.answer(q)); }).find("for row 200"),
            std::string::npos);
  int asked = 0;  // a shard that is gone later
  EXPECT_NE(fit_of([&](auto q) { return ++asked < 4 ? all.answer(q) : half.answer(q); }).find("row 200"),
            std::string::npos);
  EXPECT_NE(fit_of([&](auto) { return all.answer(shape_question()); }).find("another question"), std::string::npos);
}

TEST_F(FitShards, AnswersToDifferentQuestionsDoNotMerge) {
  RowShard one = plain_shard(0, 200, 0), other = plain_shard(200, 400, 200);
  const Bytes shapes = merge_answers(one.answer(shape_question()), other.answer(shape_question()));
  const Bytes scan = scan_question(shapes);
  EXPECT_NE(message_of([&] { merge_answers(one.answer(scan), other.answer(shape_question())); }).find("different"),
            std::string::npos);
}

TEST_F(FitShards, ShardsThatDifferAreErrors) {
  const float* values = reinterpret_cast<const float*>(plain_case().bytes.data());
  const std::vector<double> wide(300, 1), weights(100, 1);
  RowShard first(PointsView(values, 100, 3), {}, 0);
  const auto fit_with = [&](RowShard other) {
    return message_of(
        [&] { fit_shards([&](auto q) { return merge_answers(first.answer(q), other.answer(q)); }, plain_options()); });
  };
  EXPECT_NE(fit_with({PointsView(values, 100, 2), {}, 100}).find("has 2 columns"), std::string::npos);
  EXPECT_NE(fit_with({PointsView(wide.data(), 100, 3), {}, 100}).find("columns of float64"), std::string::npos);
  EXPECT_NE(fit_with({PointsView(values, 100, 3), weights, 100}).find("one has weights"), std::string::npos);
  EXPECT_NE(fit_with({PointsView(values, 100, 3), std::span(weights).first(5), 100}).find("5 weights for 100 rows"),
            std::string::npos);
}

// All that fits with these seedings ask.
std::vector<Bytes> questions_of(RowShard& shard) {
  std::vector<Bytes> questions;
  for (const char* const init : {"k-means||", "k-means++"}) {
    FitOptions options = plain_options();
    options.init = init;
    options.empty = EmptyPolicy::kFarthest;
    fit_shards(
        [&](std::span<const std::byte> question) {
          questions.emplace_back(question.begin(), question.end());
          return shard.answer(question);
        },
        options);
  }
  return questions;
}

// With the hash that these bytes would end with.
Bytes sealed(Bytes bytes) {
  bytes.resize(bytes.size() < 8 ? 0 : bytes.size() - 8);
  const uint64_t hash = hash_of_bytes(bytes);
  const auto* end = reinterpret_cast<const std::byte*>(&hash);
  bytes.insert(bytes.end(), end, end + sizeof hash);
  return bytes;
}

// A message is a function of its bytes: a bit that changes is seen, wherever it is.
TEST_F(FitShards, OneFlippedBitIsAnError) {
  RowShard shard = plain_shard(0, 400, 0);
  std::mt19937_64 random(3);
  for (const Bytes& asked : questions_of(shard)) {
    const Bytes answered = shard.answer(asked);
    for (int i = 0; i < 20; ++i) {
      Bytes question = asked, answer = answered;
      for (Bytes* bytes : {&question, &answer}) {
        (*bytes)[random() % bytes->size()] ^= static_cast<std::byte>(1 << random() % 8);
      }
      EXPECT_NE(message_of([&] { shard.answer(question); }).find("[question] these bytes are"), std::string::npos);
      EXPECT_NE(message_of([&] { merge_answers(answer, answer); }).find("[answer] these bytes are"), std::string::npos);
    }
  }
}

// Whatever comes over a network, its hash included: a typed error, and no index out of range.
TEST_F(FitShards, DamagedBytesAreErrors) {
  RowShard shard = plain_shard(0, 400, 0);
  const std::vector<Bytes> questions = questions_of(shard);
  std::mt19937_64 random(7);
  const auto damage = [&](Bytes& bytes, size_t begin) {
    if (random() % 3 == 0) bytes.resize(begin + random() % (bytes.size() - begin));
    for (uint64_t changes = random() % 4; changes > 0 && bytes.size() > begin; --changes) {
      bytes[begin + random() % (bytes.size() - begin)] = static_cast<std::byte>(random());
    }
    bytes = sealed(std::move(bytes));
  };
  for (int i = 0; i < 3000; ++i) {
    Bytes question = questions[random() % questions.size()];
    if (question.size() > 20000) continue;
    Bytes answer = shard.answer(question);
    damage(question, 0);
    damage(answer, 0);
    message_of([&] { shard.answer(question); });
    message_of([&] { merge_answers(answer, answer); });
  }
  for (size_t i = 0; i < 400; ++i) {  // a fit that gets one such answer
    size_t left = i % questions.size();
    FitOptions options = plain_options();
    options.init = i % 2 == 0 ? "k-means||" : "k-means++";
    try {
      fit_shards(
          [&](std::span<const std::byte> question) {
            Bytes answer = shard.answer(question);
            if (left-- == 0) damage(answer, 16);  // which still answers this question
            return answer;
          },
          options);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    }
  }
}

// What decoding cannot see: numbers that do not belong together, or to these rows.
TEST_F(FitShards, QuestionsThatDoNotFitTheirShardAreErrors) {
  RowShard shard = plain_shard(0, 400, 0);
  const auto said = [&](Question question) {
    const Bytes bytes = question.encode();
    const Answer answer = Answer::decode(shard.answer(bytes));
    return answer.failure ? answer.failure->text : "";
  };
  const std::string other = "rows of other values";
  const WideInt far = WideInt(1).shift_left_64().shift_left_64().shift_left_64();
  int seen = 0;
  for (const Bytes& bytes : questions_of(shard)) {
    const Question asked = Question::decode(bytes);
    if (asked.what >= Asked::kMoments) {
      Question question = asked;
      question.scan.largest[1] /= 4;
      question.scan.maximum[0] = question.scan.minimum[0];
      EXPECT_NE(said(question).find(other), std::string::npos);
      question = asked;
      question.max_weight /= 4;
      EXPECT_NE(said(question).find(other), std::string::npos);
    }
    for (int64_t Workload::*field : {&Workload::max_clusters, &Workload::passes, &Workload::models}) {
      Question question = asked;
      question.workload.*field = -1 + static_cast<int64_t>(seen % 2);  // -1 and 0
      if (asked.what == Asked::kShape) continue;
      EXPECT_NE(message_of([&] { shard.answer(question.encode()); }).find("[question]"), std::string::npos);
    }
    for (size_t i = 0; i < asked.picks.size(); ++i) {
      Question question = asked;
      question.picks[i].target.clear();
      append_words(far, question.picks[i].target);
      EXPECT_NE(said(question).find(other), std::string::npos);
      question.picks[i].target.back() = -1;
      EXPECT_NE(said(question).find(other), std::string::npos);
      ++seen;
    }
    if (asked.what == Asked::kInertia) {
      Question question = asked;
      question.models[0].format.shift += 40;
      EXPECT_NE(said(question).find(other), std::string::npos);
      ++seen;
    }
    if (asked.what > Asked::kLargestTerm && asked.what != Asked::kClusterWeights) {
      Question question = asked;
      question.seeds[0].largest /= 4;
      EXPECT_NE(said(question).find(other), std::string::npos);
    }
  }
  EXPECT_GT(seen, 4);
}

// A partition that was lost, and whose rows are not the same when they are made again.
TEST_F(FitShards, RowsThatChangeAreErrors) {
  std::vector<float> other(400 * 3);
  std::copy_n(reinterpret_cast<const float*>(plain_case().bytes.data()), other.size(), other.data());
  for (float& value : other) value *= -3;
  RowShard first = plain_shard(0, 200, 0), before = plain_shard(200, 400, 200);
  RowShard after(PointsView(other.data() + 600, 200, 3), {}, 200);
  for (const char* const init : {"k-means||", "k-means++", "random"}) {
    for (int last = 1; last < 12; ++last) {
      int asked = 0;
      FitOptions options = plain_options();
      options.init = init;
      const std::string message = message_of([&] {
        fit_shards([&](auto q) { return merge_answers(first.answer(q), (++asked > last ? after : before).answer(q)); },
                   options);
      });
      EXPECT_NE(message.find(last == 1 ? "" : "other values"), std::string::npos) << init << last << message;
    }
  }
}

TEST_F(FitShards, ALoopOfOnesOwn) {
  const Case made = plain_case();
  RowShard one = plain_shard(0, 150, 0), other = plain_shard(150, 400, 150);
  const auto ask = [&](const Bytes& question) { return merge_answers(other.answer(question), one.answer(question)); };
  const Bytes about = scan_question(ask(shape_question())), scan = ask(about);
  Matrix centers(6, 3, DataType::kFloat32), before;
  std::copy_n(reinterpret_cast<const float*>(made.bytes.data()), 18, centers.values<float>().data());
  FitOptions options = plain_options();
  options.max_iter = 300;
  FitHooks hooks;
  hooks.initial = centers.view();
  const FitResult whole = fit(made.points(), {}, options, hooks);
  for (int pass = 0; pass < 300; ++pass) {
    const PointsView now = centers.view(), earlier = before.view();
    const Bytes question = before.empty() ? statistics_question({about, scan}, {&now, 1})
                                          : statistics_question({about, scan}, {&now, 1}, {&earlier, 1});
    const Bytes answer = ask(question);
    const ClusterStatistics found = read_statistics({question, answer})[0];
    if (found.changed == 0) {
      EXPECT_EQ(found.counts, whole.models[0].counts);
      break;
    }
    before = std::exchange(centers, solve({question, answer})[0]);
  }
  EXPECT_TRUE(std::ranges::equal(centers.bytes(), whole.models[0].prototypes.bytes()));
}

}  // namespace
}  // namespace manymeans::test
