#include "conformance/trace.h"

#include "backend/make_seeding.h"
#include "core/threads.h"
#include "data/gather.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

namespace manymeans::test {
namespace {

Input input_for(const Prototype& prototype, const Case& made, std::span<const double> weights, ThreadPool& pool) {
  Input input = prepare_input(made.points(), weights, pool);
  use_prototype(input, prototype, pool);
  return input;
}

int64_t bits_of(double value) {
  return std::bit_cast<int64_t>(value);
}

// Asks the questions of trace_of in their order.
class Interview {
 public:
  Interview(Backend& backend, const Case& made, int session_threads, const Prototype& prototype)
      : made_(made),
        pool_(1),
        input_(input_for(prototype, made, made.weights, pool_)),
        upload_(backend.upload(input_)),
        session_(upload_->session(made.shape.k, session_threads)),
        prototypes_(made.prototypes),
        random_(made.seed ^ 0x9e3779b97f4a7c15) {}

  Trace run() {
    ask_seeding();
    const auto models = static_cast<int>(prototypes_.size());
    std::vector<int> all;
    for (int slot = models - 1; slot >= 0; --slot) all.push_back(slot);  // the order must not matter
    for (int pass = 0; pass < 3; ++pass) {
      ask_pass(all);
      update(all);
    }
    const std::vector<int> some = {static_cast<int>(random_() % static_cast<uint64_t>(models))};
    disturb(some[0]);
    ask_pass(some);
    for (int slot = 0; slot < models; ++slot) {
      ask_distances(slot);
      ask_transform(slot);
      ask_moves(slot);
    }
    update(all);
    ask_pass(all);
    for (int slot = 0; slot < models; ++slot) ask_dropped(slot);
    ask_pass(all);
    for (int slot = 0; slot < models; ++slot) add_labels("taken labels", session_->take_labels(slot));
    return std::move(trace_);
  }

 private:
  Answer& add(std::string question) {
    trace_.answers.push_back({std::move(question), {}, {}});
    return trace_.answers.back();
  }

  void add_labels(const char* question, const Labels& labels) {
    Answer& answer = add(question);
    for (int64_t i = 0; i < labels.size(); ++i) answer.numbers.push_back(labels[i]);
  }

  void add_state(const std::string& when, int slot) {
    const Labels& labels = session_->labels(slot);
    add_labels((when + ": labels").c_str(), labels);
    const Statistics& statistics = session_->statistics(slot);
    Answer& answer = add(when + ": statistics");
    answer.numbers = statistics.weights;
    answer.numbers.insert(answer.numbers.end(), statistics.counts.begin(), statistics.counts.end());
    for (int64_t c = 0; c < statistics.k; ++c) {
      for (int64_t j = 0; j < statistics.d; ++j) {
        answer.sums.push_back(recombine(statistics.row(c) + j, input_.columns[static_cast<size_t>(j)], statistics.d));
      }
    }
  }

  void ask_pass(const std::vector<int>& slots) {
    std::vector<PassModel> models(slots.size());
    std::vector<std::vector<uint32_t>> guesses(slots.size());  // many of them wrong, which decides nothing
    for (size_t m = 0; m < slots.size(); ++m) {
      const Matrix& prototypes = prototypes_[static_cast<size_t>(slots[m])];
      for (int64_t i = 0; i < made_.shape.n; ++i) {
        guesses[m].push_back(static_cast<uint32_t>(i * 7 % prototypes.rows()));
      }
      models[m].slot = slots[m];
      models[m].prototypes = &prototypes;
      models[m].guess = guesses[m];
    }
    add("passes done").numbers = {session_->advance(models, 1)};
    for (const PassModel& model : models) {
      const std::string when = fmt::format("pass {} model {}", passes_, model.slot);
      const auto delta = model.result.hash_delta;
      add(when + ": changes").numbers = {model.result.changed, static_cast<int64_t>(delta),
                                         static_cast<int64_t>(delta >> 64)};
      add_state(when, model.slot);
      trace_.labelled += made_.shape.n;
      trace_.repeated += model.result.repeated;
      trace_.skipped += model.result.skipped;
      trace_.certified += model.result.certified;
      trace_.resolved += model.result.resolved;
    }
    ++passes_;
  }

  void update(const std::vector<int>& slots) {
    for (const int slot : slots) {
      Matrix& prototypes = prototypes_[static_cast<size_t>(slot)];
      prototypes = solve_prototypes(session_->statistics(slot), input_, prototypes, pool_);
    }
  }

  // A prototype jumps onto a row: many labels change at once, and ties arise.
  void disturb(int slot) {
    Matrix& prototypes = prototypes_[static_cast<size_t>(slot)];
    const int64_t row[] = {random_row()};
    const Matrix jumped = gather_rows(made_.points(), row);
    const int64_t to = static_cast<int64_t>(random_() % static_cast<uint64_t>(prototypes.rows()));
    for (int64_t j = 0; j < prototypes.columns(); ++j) {
      const auto at = static_cast<size_t>(to * prototypes.columns() + j);
      if (prototypes.type() == DataType::kFloat64) {
        prototypes.values<double>()[at] = jumped.at(0, j);
      } else {
        prototypes.values<float>()[at] = static_cast<float>(jumped.at(0, j));
      }
    }
  }

  void ask_distances(int slot) {
    const Matrix& prototypes = prototypes_[static_cast<size_t>(slot)];
    Answer& distances = add("distances");
    for (const double d2 : session_->rows().distances(slot, prototypes)) distances.numbers.push_back(bits_of(d2));
    const ModelPrototypes model{slot, &prototypes};
    const InertiaSum sum = session_->rows().inertias({&model, 1})[0];
    Answer& inertia = add("inertia");
    inertia.numbers = {bits_of(sum.farthest), sum.format.bits, sum.format.limbs, sum.format.shift};
    inertia.sums = {recombine(sum.limbs.data(), sum.format)};
    for (const double factor : {1.0, 1000.0}) {  // another rank's farthest row
      const SumFormat format = distance_format(input_, sum.farthest * factor);
      add("inertia in a format").sums = {
          recombine(session_->rows().inertia_limbs(slot, prototypes, format).data(), format)};
    }
  }

  void ask_transform(int slot) {
    const Matrix& prototypes = prototypes_[static_cast<size_t>(slot)];
    Matrix all(made_.shape.n, prototypes.rows(), prototypes.type());
    session_->rows().transform(prototypes, all);
    Answer& answer = add("distances to all prototypes");
    for (int64_t i = 0; i < all.rows(); ++i) {
      for (int64_t j = 0; j < all.columns(); ++j) answer.numbers.push_back(bits_of(all.at(i, j)));
    }
  }

  std::vector<DistantRow> ask_farthest(int slot, int64_t count) {
    std::vector<DistantRow> rows = session_->rows().farthest_rows(slot, prototypes_[static_cast<size_t>(slot)], count);
    Answer& answer = add(fmt::format("the {} farthest rows of model {}", count, slot));
    for (const DistantRow& row : rows) {
      answer.numbers.insert(answer.numbers.end(), {bits_of(row.distance), row.row, row.label});
    }
    return rows;
  }

  void ask_moves(int slot) {
    ask_farthest(slot, 1);
    ask_farthest(slot, made_.shape.n + 5);
    const int64_t k = session_->statistics(slot).k;
    for (const DistantRow& row : ask_farthest(slot, 3)) {
      session_->move_row(slot, row.row, static_cast<uint32_t>((row.label + 1) % k));
    }
    add_state("after moves", slot);
  }

  // As EmptyPolicy::kDrop does: clusters without weight go, although rows of weight zero may carry their label.
  void ask_dropped(int slot) {
    const Statistics& statistics = session_->statistics(slot);
    std::vector<int64_t> kept;
    std::vector<uint32_t> new_label;
    for (int64_t c = 0; c < statistics.k; ++c) {
      new_label.push_back(static_cast<uint32_t>(kept.size()));
      if (statistics.weights[static_cast<size_t>(c)] != 0) kept.push_back(c);
    }
    for (uint32_t& label : new_label) label = std::min(label, static_cast<uint32_t>(kept.size() - 1));
    session_->renumber(slot, new_label, kept);
    prototypes_[static_cast<size_t>(slot)] = keep_prototypes(prototypes_[static_cast<size_t>(slot)], kept);
    add_state("after dropping", slot);
  }

  int64_t random_row() { return static_cast<int64_t>(random_() % static_cast<uint64_t>(made_.shape.n)); }

  Matrix random_centres(int64_t count) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(random_row());
    return centres_at(rows);
  }

  // As many values as a prototype has; a row's own, where it has as many.
  Matrix centres_at(const std::vector<int64_t>& rows) const {
    const Prototype& prototype = prototype_of(input_);
    if (prototype.width(made_.shape.d) == made_.shape.d) return gather_rows(made_.points(), rows);
    return prototypes_at(input_, rows);
  }

  void ask_picks(int slot) {
    const WideInt total = seeding_->total(slot);
    add("total").sums = {total};
    std::vector<WideInt> targets;
    for (const uint64_t u : {uint64_t{0}, ~uint64_t{0}, random_(), random_(), random_(), uint64_t{1} << 63}) {
      targets.push_back(total.times(u).shift_right_64());
    }
    if (!total.is_zero()) add("picks").numbers = seeding_->pick(slot, targets);
    add("sample").numbers = seeding_->sample(slot, {made_.seed, 3, 2 * made_.shape.k[0], total});
  }

  void begin_seeding(std::span<const SeedCentres> centres) {
    const std::vector<double> largest = seeding_->begin(centres);
    Answer& answer = add("largest terms");
    for (const double v : largest) answer.numbers.push_back(bits_of(v));
    for (size_t i = 0; i < centres.size(); ++i) seeding_->fix_scale(centres[i].slot, largest[i]);
  }

  void ask_seeding() {
    seeding_ = make_seeding(*upload_, input_, made_.shape.k, pool_);
    const auto models = static_cast<int>(prototypes_.size());
    for (int step = 0; step < 4; ++step) {
      std::vector<Matrix> centres;
      std::vector<SeedCentres> adds;
      for (int slot = 0; slot < models; ++slot) centres.push_back(random_centres(step == 2 ? 5 : 1));
      for (int slot = 0; slot < models; ++slot) {
        if (step == 3 && slot != 0) continue;  // one model goes on alone
        adds.push_back({slot, &centres[static_cast<size_t>(slot)]});
      }
      if (step == 0) {
        begin_seeding(adds);
      } else {
        seeding_->add(adds);
      }
      for (int slot = 0; slot < models; ++slot) ask_picks(slot);
      std::vector<SeedTrial> trials;
      std::vector<Matrix> candidates;
      for (int slot = 0; slot < models; ++slot) {
        candidates.push_back(centres_at({random_row(), random_row(), int64_t{0}, random_row()}));
      }
      for (int slot = 0; slot < models; ++slot) trials.push_back({slot, &candidates[static_cast<size_t>(slot)]});
      Answer& chosen = add("chosen");
      chosen.numbers = seeding_->choose(trials);
      seeding_->trial(trials);
      for (const SeedTrial& trial : trials) add("potentials").sums = trial.potentials;
    }
    seeding_.seeding.reset();
  }

  const Case& made_;
  ThreadPool pool_;
  Input input_;
  std::unique_ptr<Upload> upload_;
  std::unique_ptr<Session> session_;
  SeedingOwner seeding_;
  std::vector<Matrix> prototypes_;
  std::mt19937_64 random_;
  Trace trace_;
  int passes_ = 0;
};

template <class T>
std::string first_unequal(const std::vector<T>& expected, const std::vector<T>& found) {
  if (expected.size() != found.size()) return fmt::format("{} values, expected {}", found.size(), expected.size());
  const auto at = std::mismatch(expected.begin(), expected.end(), found.begin()).first - expected.begin();
  return fmt::format("first differs at {} of {}", at, expected.size());
}

}  // namespace

namespace {

// Labels of the last of some passes.
Labelling label_by(Backend& backend, const Case& made, std::span<const Matrix* const> passes,
                   const Prototype& prototype = centroid(), std::span<const uint32_t> guess = {}) {
  ThreadPool pool(1);
  const Input input = input_for(prototype, made, {}, pool);
  const std::unique_ptr<Upload> upload = backend.upload(input);
  const std::unique_ptr<Session> session = upload->session(made.shape.k, 0);
  PassModel model{0, nullptr, {}};
  model.guess = guess;
  for (const Matrix* prototypes : passes) {
    model.prototypes = prototypes;
    session->advance({&model, 1}, 1);
  }
  Labelling found{std::vector<uint32_t>(static_cast<size_t>(made.shape.n)), model.result};
  session->labels(0).read(0, made.shape.n, found.labels.data());
  return found;
}

template <class T>
void move_a_little(std::span<T> values, int64_t columns) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto k = static_cast<int64_t>(i) / columns;
    values[i] *= 1 + static_cast<T>(0x1p-9) * static_cast<T>(k % 3 - 1);
  }
}

}  // namespace

Labelling label(Backend& backend, const Case& made, const Prototype& prototype, std::span<const uint32_t> guess) {
  const Matrix* const once[] = {&made.prototypes[0]};
  return label_by(backend, made, once, prototype, guess);
}

Labelling label_again(Backend& backend, const Case& made) {
  Matrix close = made.prototypes[0];
  if (close.type() == DataType::kFloat64) {
    move_a_little<double>(close.values<double>(), close.columns());
  } else {
    move_a_little<float>(close.values<float>(), close.columns());
  }
  const Matrix* const twice[] = {&close, &made.prototypes[0]};
  return label_by(backend, made, twice);
}

Trace trace_of(Backend& backend, const Case& made, int session_threads, const Prototype& prototype) {
  return Interview(backend, made, session_threads, prototype).run();
}

std::string first_difference(const Trace& expected, const Trace& found) {
  for (size_t i = 0; i < std::min(expected.answers.size(), found.answers.size()); ++i) {
    const Answer& a = expected.answers[i];
    const Answer& b = found.answers[i];
    if (a == b) continue;
    if (a.question != b.question) return fmt::format("'{}' was asked instead of '{}'", b.question, a.question);
    if (a.sums != b.sums) return fmt::format("{}: sums: {}", a.question, first_unequal(a.sums, b.sums));
    return fmt::format("{}: {}", a.question, first_unequal(a.numbers, b.numbers));
  }
  if (expected.answers.size() != found.answers.size()) return "more or fewer answers";
  return "";
}

}  // namespace manymeans::test
