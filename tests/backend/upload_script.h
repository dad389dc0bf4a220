// Asks an upload for everything that the engine asks for. One upload says what another says of the same rows, to the
// bit, if their scripts have the same lines.
#pragma once

#include "backend/backend.h"
#include "backend/make_seeding.h"
#include "conformance/cases.h"
#include "data/gather.h"
#include "prototype/prototype.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace manymeans::test {

inline std::string text_of(const WideInt& value) {
  std::array<uint64_t, WideInt::kWords> words;
  std::memcpy(words.data(), &value, sizeof words);
  return fmt::format("{:x}", fmt::join(words, "."));
}

// The sums themselves: how they are split into limbs is free.
inline std::string text_of(const Statistics& statistics, const Input& input) {
  std::string text =
      fmt::format("weights {} counts {} sums", fmt::join(statistics.weights, ","), fmt::join(statistics.counts, ","));
  for (int64_t k = 0; k < statistics.k; ++k) {
    for (int64_t j = 0; j < statistics.d; ++j) {
      const SumFormat& format = input.columns[static_cast<size_t>(j)];
      text += " " + text_of(recombine(statistics.row(k) + j, format, statistics.d));
    }
  }
  return text;
}

inline std::string text_of(const PassResult& result) {
  return fmt::format("changed {} delta {:x} {:x}", result.changed, static_cast<uint64_t>(result.hash_delta >> 64),
                     static_cast<uint64_t>(result.hash_delta));
}

/// Asks everything, and writes down the answers.
class UploadScript {
 public:
  UploadScript(const Input& input, Upload& upload, const Case& made)
      : input_(input), upload_(upload), made_(made), prototypes_(made.prototypes) {}

  std::vector<std::string> run() {
    passes();
    rows_moved();
    batch();
    seeding();
    return std::move(lines_);
  }

  int64_t batched = 0;              // most passes that one call did
  bool attracted_is_known = false;  // seeding knew what its centres attract

 private:
  std::vector<PassModel> models() {
    std::vector<PassModel> models;
    for (size_t m = 0; m < prototypes_.size(); ++m) models.push_back({static_cast<int>(m), &prototypes_[m], {}});
    return models;
  }

  void note(const std::string& line) { lines_.push_back(line); }

  void passes() {
    session_ = upload_.session(made_.shape.k, 1);
    for (int pass = 0; pass < 3; ++pass) {
      std::vector<PassModel> models = this->models();
      session_->advance(models, 1);
      for (const PassModel& model : models) {
        note(text_of(model.result));
        const ClusterSizes sizes = session_->sizes(model.slot);
        const Statistics& statistics = session_->statistics(model.slot);
        EXPECT_EQ(sizes.weights, statistics.weights);
        EXPECT_EQ(sizes.counts, statistics.counts);
        note(text_of(statistics, input_));
      }
      if (pass == 2) break;
      for (size_t m = 0; m < prototypes_.size(); ++m) {
        prototypes_[m] = solve_prototypes(session_->statistics(static_cast<int>(m)), input_, prototypes_[m], pool_);
      }
    }
  }

  void rows_moved() {
    std::vector<ModelPrototypes> asked;
    for (size_t m = 0; m < prototypes_.size(); ++m) asked.push_back({static_cast<int>(m), &prototypes_[m]});
    const std::vector<InertiaSum> sums = session_->rows().inertias(asked);
    for (const InertiaSum& sum : sums) {
      note(fmt::format("inertia {} {} {}", sum.farthest, sum.format.shift,
                       text_of(recombine(sum.limbs.data(), sum.format))));
    }
    const SumFormat format = distance_format(input_, 5 * sums[0].farthest);
    std::vector<int64_t> limbs = session_->rows().inertia_limbs(0, prototypes_[0], format);
    note(text_of(recombine(limbs.data(), format)));
    const std::vector<DistantRow> far = session_->rows().farthest_rows(0, prototypes_[0], 9);
    for (const DistantRow& row : far) note(fmt::format("row {} at {} of {}", row.row, row.distance, row.label));
    const auto k = static_cast<uint32_t>(prototypes_[0].rows());
    for (size_t i = 0; i < std::min<size_t>(3, far.size()); ++i) {
      session_->move_row(0, far[i].row, (far[i].label + 1) % k);
      note(text_of(session_->statistics(0), input_));
    }
    PassModel model{0, &prototypes_[0], {}};
    session_->advance({&model, 1}, 1);
    note(text_of(model.result));
    drop_empty();
  }

  void drop_empty() {
    const std::vector<int64_t> weights = session_->statistics(0).weights;
    std::vector<int64_t> kept;
    std::vector<uint32_t> new_label;
    for (size_t c = 0; c < weights.size(); ++c) {
      new_label.push_back(static_cast<uint32_t>(kept.size()));
      if (weights[c] > 0) kept.push_back(static_cast<int64_t>(c));
    }
    for (uint32_t& label : new_label) label = std::min(label, static_cast<uint32_t>(kept.size() - 1));
    session_->renumber(0, new_label, kept);
    note(text_of(session_->statistics(0), input_));
    const Matrix left = keep_prototypes(prototypes_[0], kept);
    PassModel model{0, &left, {}};
    session_->advance({&model, 1}, 1);
    note(text_of(model.result));
  }

  // Whatever number of passes a session does at once, they are the same.
  void batch() {
    constexpr int kPasses = 6;
    const auto session = upload_.session(made_.shape.k, 1);
    prototypes_ = made_.prototypes;
    for (int left = kPasses; left > 0;) {
      std::vector<PassModel> models = this->models();
      const int done = session->advance(models, left);
      batched = std::max<int64_t>(batched, done);
      left -= done;
      bool judged = false;
      for (int pass = 0; pass < done; ++pass) {
        for (const PassModel& model : models) {
          const auto p = static_cast<size_t>(pass);
          note(text_of(p < model.earlier.size() ? model.earlier[p] : model.result));
        }
      }
      for (PassModel& model : models) {
        const auto slot = static_cast<size_t>(model.slot);
        const Statistics& statistics = session->statistics(model.slot);
        note(text_of(statistics, input_));
        if (done > 1) prototypes_[slot] = model.last_prototypes;
        judged |= model.result.changed == 0 || std::ranges::count(statistics.weights, 0) > 0;
        prototypes_[slot] = solve_prototypes(statistics, input_, prototypes_[slot], pool_);
      }
      if (judged) break;
      if (left > 0) lines_.resize(lines_.size() - models.size());  // statistics between passes are not always known
    }
  }

  void seeding() {
    const SeedingOwner owner = make_seeding(upload_, input_, made_.shape.k, pool_);
    Seeding* const seeding = owner.seeding.get();
    const int64_t n = input_.shard.all;
    const Matrix first = gather_from_all(input_, std::vector<int64_t>{n / 2});
    const Matrix others = gather_from_all(input_, std::vector<int64_t>{0, n - 1, n / 3});
    const SeedCentres begun{0, &first};
    const double largest = seeding->begin({&begun, 1})[0];
    note(fmt::format("largest {}", largest));
    seeding->fix_scale(0, largest);
    const WideInt total = seeding->total(0);
    note(text_of(total));
    if (total.is_zero()) return;
    std::vector<WideInt> targets;
    for (const uint64_t u : {~uint64_t{0}, uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 62}) {
      targets.push_back(total.times(u).shift_right_64());
    }
    note(fmt::format("{}", fmt::join(seeding->pick(0, targets), ",")));
    note(fmt::format("{}", fmt::join(seeding->sample(0, {77, 2, 5, total}), ",")));
    SeedTrial trial{0, &others};
    seeding->trial({&trial, 1});
    for (const WideInt& potential : trial.potentials) note(text_of(potential));
    const SeedCentres added{0, &others};
    seeding->add({&added, 1});
    note(text_of(seeding->total(0)));
    EXPECT_TRUE(!seeding->knows_cluster_weights() || !seeding->cluster_weights(0).empty());
    note(fmt::format("cluster weights {}", fmt::join(cluster_weights(*seeding, {n / 2, 0, n - 1, n / 3}), ",")));
    // Again, and one that was tried is added.
    seeding->begin({&begun, 1});
    seeding->fix_scale(0, largest);
    seeding->trial({&trial, 1});
    for (const int64_t row : {int64_t{0}, n / 3}) {
      const Matrix centre = gather_from_all(input_, std::vector<int64_t>{row});
      const SeedCentres one{0, &centre};
      seeding->add({&one, 1});
    }
    note(fmt::format("after a trial {}", fmt::join(cluster_weights(*seeding, {n / 2, 0, n / 3}), ",")));
  }

  // By the seeding that has these rows' centres, or by a pass.
  std::vector<int64_t> cluster_weights(Seeding& seeding, const std::vector<int64_t>& rows) {
    std::vector<int64_t> weights = seeding.cluster_weights(0);
    attracted_is_known |= !weights.empty();
    if (!weights.empty()) return weights;
    return cluster_weights_by_pass(upload_, prototypes_at(input_, rows), 1);
  }

  const Input& input_;
  Upload& upload_;
  const Case& made_;
  std::vector<Matrix> prototypes_;
  std::unique_ptr<Session> session_;
  ThreadPool pool_{1};
  std::vector<std::string> lines_;
};

/// What the reference says of a case.
inline std::vector<std::string> expected_script(const Case& made) {
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), made.weights, pool);
  const auto backend = make_backend("reference", {});
  const auto upload = backend->upload(input);
  return UploadScript(input, *upload, made).run();
}

}  // namespace manymeans::test
