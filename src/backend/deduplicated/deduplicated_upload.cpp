#include "backend/deduplicated/deduplicated_upload.h"

#include <manymeans/error.h>

#include "backend/seed_choice.h"
#include "core/data_type.h"
#include "core/environment.h"
#include "core/label_width.h"
#include "core/philox_lanes.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace manymeans {
namespace {

constexpr int64_t kPiece = 1 << 14;   // rows that a thread takes at a time
constexpr int64_t kSeedBlock = 1024;  // rows whose terms have a sum
constexpr int64_t kMinPasses = 4;     // of all models: fewer do not pay for finding the duplicates

// Distinct rows that a thread takes at a time where the work is with all rows that equal them.
int64_t piece_of_distinct_rows(const Duplicates& rows) {
  return std::max<int64_t>(1, kPiece * rows.distinct_rows() / static_cast<int64_t>(rows.distinct.size()));
}

// Changed rows whose label terms are summed together.
struct ChangedRows {
  int64_t first = 0;  // the number of row 0 among the rows of all ranks
  std::vector<int64_t> rows = {};
  std::vector<uint32_t> from = {}, to = {};
  LabelSum sum = 0;

  void add(std::span<const uint32_t> added, uint32_t old_label, uint32_t label) {
    constexpr size_t kMany = 2048;
    rows.insert(rows.end(), added.begin(), added.end());
    from.resize(rows.size(), old_label);
    to.resize(rows.size(), label);
    if (rows.size() >= kMany) flush();
  }
  void flush() {
    const auto count = static_cast<int64_t>(rows.size());
    sum += sum_of_label_terms(rows.data(), first, to.data(), count) -
           sum_of_label_terms(rows.data(), first, from.data(), count);
    rows.clear();
    from.clear();
    to.clear();
  }
};

class DeduplicatedSession final : public Session, public RowQueries {
 public:
  DeduplicatedSession(const Input& input, const Duplicates& rows, std::unique_ptr<Session> distinct,
                      std::span<const int64_t> k, std::unique_ptr<ThreadPool> pool)
      : input_(input), rows_(rows), distinct_(std::move(distinct)), pool_(std::move(pool)), models_(k.size()) {
    for (size_t slot = 0; slot < k.size(); ++slot) models_[slot].k = k[slot];
  }

  int advance(std::span<PassModel> models, const PassLimits& limits) override;
  const Labels& labels(int slot) override;
  const Statistics& statistics(int slot) override;
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  void reorder(int slot, std::span<const int64_t> order) override { distinct_->reorder(slot, order); }
  RowQueries& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

 private:
  // A row that has another label than its duplicates until the next pass.
  struct Relocated {
    int64_t row;
    uint32_t label;
  };
  struct Model {
    int64_t k = 0;
    bool labelled = false;
    std::vector<Relocated> relocated;
    Labels before;  // of the distinct rows, while a pass runs
    Labels labels;  // of the rows, once they were read; empty: not up to date
    Statistics statistics;
    bool statistics_are_old = true;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t distinct_of(int64_t row) const { return rows_.distinct[static_cast<size_t>(row)]; }
  void require_no_relocated_rows(int slot);
  void count_changes(int slot, PassResult& result);
  void count_relocated_rows(int slot, PassResult& result);
  void add_row(Statistics& statistics, int64_t row, uint32_t cluster, int sign) const;
  std::vector<int64_t> sum_of_distances(const std::vector<double>& d2, const SumFormat& format);

  const Input& input_;
  const Duplicates& rows_;
  std::unique_ptr<Session> distinct_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<Model> models_;
};

int DeduplicatedSession::advance(std::span<PassModel> models, const PassLimits&) {
  for (const PassModel& active : models) {
    Model& m = model(active.slot);
    if (m.labelled) m.before = distinct_->labels(active.slot);
  }
  distinct_->advance(models, 1);
  for (PassModel& active : models) {
    Model& m = model(active.slot);
    if (m.labelled) {
      count_changes(active.slot, active.result);
      count_relocated_rows(active.slot, active.result);
    } else {
      active.result.changed = input_.points.n;
    }
    active.result.repeated = input_.points.n - rows_.distinct_rows();
    m.labelled = true;
    m.before = {};
    m.labels = {};
    m.statistics_are_old = true;
  }
  return 1;
}

void DeduplicatedSession::count_changes(int slot, PassResult& result) {
  if (result.changed == 0) return;  // of no distinct row
  struct Part {
    int64_t changed = 0;
    ChangedRows hashed;
    std::vector<uint32_t> before, now;
  };
  std::vector<Part> parts(static_cast<size_t>(pool_->size()), Part{0, {input_.shard.first}, {}, {}});
  const Labels& before = model(slot).before;
  const Labels& now = distinct_->labels(slot);
  pool_->for_each_range(rows_.distinct_rows(), piece_of_distinct_rows(rows_), [&](int w, int64_t first, int64_t last) {
    Part& part = parts[static_cast<size_t>(w)];
    const auto count = static_cast<size_t>(last - first);
    part.before.resize(count);
    part.now.resize(count);
    before.read(first, last - first, part.before.data());
    now.read(first, last - first, part.now.data());
    for (size_t i = 0; i < count; ++i) {
      if (part.before[i] == part.now[i]) continue;
      const std::span<const uint32_t> equal = rows_.rows_of(first + static_cast<int64_t>(i));
      part.changed += static_cast<int64_t>(equal.size());
      part.hashed.add(equal, part.before[i], part.now[i]);
    }
    part.hashed.flush();
  });
  result.changed = 0;
  result.hash_delta = 0;
  for (const Part& part : parts) {
    result.changed += part.changed;
    result.hash_delta += part.hashed.sum;
  }
}

// They were counted as if they had still had the label of their duplicates.
void DeduplicatedSession::count_relocated_rows(int slot, PassResult& result) {
  Model& m = model(slot);
  for (const Relocated& relocated : m.relocated) {
    const uint32_t before = m.before[distinct_of(relocated.row)];
    const uint32_t now = distinct_->labels(slot)[distinct_of(relocated.row)];
    result.changed += static_cast<int64_t>(now != relocated.label) - static_cast<int64_t>(now != before);
    const int64_t row = input_.shard.first + relocated.row;
    result.hash_delta += label_term(row, before) - label_term(row, relocated.label);
  }
  m.relocated.clear();
}

const Labels& DeduplicatedSession::labels(int slot) {
  Model& m = model(slot);
  if (!m.labels.empty() || !m.labelled) return m.labels;
  m.labels = Labels(input_.points.n, m.k);
  const Labels& distinct = distinct_->labels(slot);
  pool_->for_each_range(input_.points.n, kPiece, [&](int, int64_t first, int64_t last) {
    with_label_type(distinct.width(), [&]<class T>(T) {
      const T* from = reinterpret_cast<const T*>(distinct.bytes().data());
      T* to = reinterpret_cast<T*>(m.labels.bytes().data());
      for (int64_t row = first; row < last; ++row) to[row] = from[distinct_of(row)];
    });
  });
  for (const Relocated& row : m.relocated) m.labels.write(row.row, 1, &row.label);
  return m.labels;
}

Labels DeduplicatedSession::take_labels(int slot) {
  labels(slot);
  distinct_->take_labels(slot);
  Model& m = model(slot);
  Labels taken = std::move(m.labels);
  const int64_t k = m.k;
  m = Model();
  m.k = k;
  return taken;
}

const Statistics& DeduplicatedSession::statistics(int slot) {
  Model& m = model(slot);
  if (!m.statistics_are_old) return m.statistics;
  m.statistics = distinct_->statistics(slot);
  m.statistics.counts = m.statistics.weights;
  for (const Relocated& row : m.relocated) {
    add_row(m.statistics, row.row, distinct_->labels(slot)[distinct_of(row.row)], -1);
    add_row(m.statistics, row.row, row.label, 1);
  }
  m.statistics_are_old = false;
  return m.statistics;
}

// Adds one row, or takes it away.
void DeduplicatedSession::add_row(Statistics& statistics, int64_t row, uint32_t cluster, int sign) const {
  const int64_t d = input_.points.d;
  std::vector<double> x(static_cast<size_t>(d));
  widen_row(input_.points, row, x.data());
  int64_t* sums = statistics.row(cluster);
  for (int64_t j = 0; j < d; ++j) {
    int64_t limbs[kMaxLimbs] = {};
    add_term(x[static_cast<size_t>(j)], input_.columns[static_cast<size_t>(j)], sign, limbs);
    for (int g = 0; g < statistics.limbs; ++g) sums[g * d + j] += limbs[g];
  }
  statistics.weights[cluster] += sign;
  statistics.counts[cluster] += sign;
}

// The following functions use the labels of distinct rows. The engine labels rows anew before it asks again.
void DeduplicatedSession::require_no_relocated_rows(int slot) {
  if (!model(slot).relocated.empty())
    throw Error(ErrorCode::kInternal, "backend", "rows were relocated since the last pass");
}

std::vector<DistantRow> DeduplicatedSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  require_no_relocated_rows(slot);
  const std::vector<double> d2 = distinct_->rows().distances(slot, prototypes);
  std::vector<double> sorted;
  for (const double distance : d2) {
    if (distance > 0) sorted.push_back(distance);
  }
  // No distinct row nearer than this one can represent any of the rows: each one before it represents at least one.
  double least = 0;
  if (static_cast<int64_t>(sorted.size()) > count) {
    const auto last = sorted.begin() + count - 1;
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    least = *last;
  }
  std::vector<DistantRow> rows;
  const Labels& labels = distinct_->labels(slot);
  for (int64_t g = 0; g < rows_.distinct_rows(); ++g) {
    const double distance = d2[static_cast<size_t>(g)];
    if (!(distance > 0) || distance < least) continue;
    const std::span<const uint32_t> equal = rows_.rows_of(g);
    const size_t some = std::min(equal.size(), static_cast<size_t>(count));  // no others can be among them
    for (const uint32_t row : equal.first(some)) rows.push_back({distance, row, labels[g]});
  }
  const auto end = rows.begin() + std::min(count, static_cast<int64_t>(rows.size()));
  std::partial_sort(rows.begin(), end, rows.end(), DistantRow::is_farther);
  rows.erase(end, rows.end());
  return rows;
}

void DeduplicatedSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& m = model(slot);
  const uint32_t from = labels(slot)[row];
  statistics(slot);
  add_row(m.statistics, row, from, -1);
  add_row(m.statistics, row, label, 1);
  m.labels.write(row, 1, &label);
  std::erase_if(m.relocated, [row](const Relocated& relocated) { return relocated.row == row; });
  m.relocated.push_back({row, label});
}

void DeduplicatedSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  Model& m = model(slot);
  require_no_relocated_rows(slot);
  distinct_->renumber(slot, new_label, kept);
  m.k = static_cast<int64_t>(kept.size());
  m.labels = {};
  m.statistics_are_old = true;
}

std::vector<int64_t> DeduplicatedSession::sum_of_distances(const std::vector<double>& d2, const SumFormat& format) {
  const TermAdder adder(format);
  std::vector<std::vector<int64_t>> sums(static_cast<size_t>(pool_->size()),
                                         std::vector<int64_t>(static_cast<size_t>(format.limbs)));
  pool_->for_each_range(rows_.distinct_rows(), kPiece, [&](int w, int64_t first, int64_t last) {
    for (auto g = static_cast<size_t>(first); g < static_cast<size_t>(last); ++g) {
      adder.add(d2[g], static_cast<int>(rows_.first[g + 1] - rows_.first[g]), sums[static_cast<size_t>(w)].data());
    }
  });
  for (size_t w = 1; w < sums.size(); ++w) {
    for (size_t g = 0; g < sums[w].size(); ++g) sums[0][g] += sums[w][g];
  }
  return sums[0];
}

std::vector<InertiaSum> DeduplicatedSession::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& asked : models) {
    require_no_relocated_rows(asked.slot);
    const std::vector<double> d2 = distinct_->rows().distances(asked.slot, *asked.prototypes);
    const double farthest = *std::max_element(d2.begin(), d2.end());
    const SumFormat format = distance_format(input_, farthest);
    sums.push_back({farthest, format, sum_of_distances(d2, format)});
  }
  return sums;
}

std::vector<int64_t> DeduplicatedSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  require_no_relocated_rows(slot);
  return sum_of_distances(distinct_->rows().distances(slot, prototypes), format);
}

std::vector<double> DeduplicatedSession::distances(int slot, const Matrix& prototypes) {
  require_no_relocated_rows(slot);
  const std::vector<double> d2 = distinct_->rows().distances(slot, prototypes);
  std::vector<double> result(static_cast<size_t>(input_.points.n));
  pool_->for_each_range(input_.points.n, kPiece, [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      result[static_cast<size_t>(row)] = d2[static_cast<size_t>(distinct_of(row))];
    }
  });
  return result;
}

void DeduplicatedSession::transform(const Matrix& prototypes, Matrix& distances) {
  Matrix of_distinct(rows_.distinct_rows(), distances.columns(), distances.type());
  distinct_->rows().transform(prototypes, of_distinct);
  const size_t bytes = static_cast<size_t>(distances.columns()) * size_of(distances.type());
  std::byte* const to = distances.values<std::byte>().data();
  pool_->for_each_range(input_.points.n, kPiece, [&](int, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const std::byte* from = of_distinct.bytes().data() + static_cast<size_t>(distinct_of(row)) * bytes;
      std::copy_n(from, bytes, to + static_cast<size_t>(row) * bytes);
    }
  });
}

// Sums of terms cover all rows: the term of a distinct row counts as often as its multiplicity says, wherever the rows
// are.
class DeduplicatedSeeding final : public Seeding {
 public:
  DeduplicatedSeeding(const Input& input, const Duplicates& rows, std::unique_ptr<Seeding> distinct, size_t models,
                      ThreadPool& pool)
      : input_(input), rows_(rows), distinct_(std::move(distinct)), pool_(pool), models_(models) {}

  std::vector<double> begin(std::span<const SeedCentres> models) override { return distinct_->begin(models); }
  void fix_scale(int slot, double largest) override;
  void add(std::span<const SeedCentres> models) override { distinct_->add(models); }
  WideInt total(int slot) override { return distinct_->total(slot); }
  std::vector<int64_t> pick(int slot, std::span<const WideInt> targets) override { return terms(slot).pick(targets); }
  void trial(std::span<SeedTrial> trials) override { distinct_->trial(trials); }
  std::vector<int64_t> choose(std::span<SeedTrial> trials) override { return distinct_->choose(trials); }
  std::vector<int64_t> sample(int slot, const SeedSample& sample) override;
  std::vector<int64_t> cluster_weights(int slot) override { return distinct_->cluster_weights(slot); }
  bool knows_cluster_weights() const override { return distinct_->knows_cluster_weights(); }
  std::span<const double> least(int slot) override;

 private:
  struct Model {
    TermAdder adder;                // of the terms T
    std::vector<double> least;      // of the distinct rows, when the sums were brought up to date
    std::vector<int64_t> blocks;    // sums of T over kSeedBlock rows each
    std::vector<double> all_least;  // of the rows, once they were read
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  size_t distinct_of(int64_t row) const { return rows_.distinct[static_cast<size_t>(row)]; }
  SeedTerms terms(int slot);
  void sum_blocks(Model& m, std::span<const double> least);
  void change_blocks(Model& m, std::span<const double> least);

  const Input& input_;
  const Duplicates& rows_;
  std::unique_ptr<Seeding> distinct_;
  ThreadPool& pool_;
  std::vector<Model> models_;
};

void DeduplicatedSeeding::fix_scale(int slot, double largest) {
  distinct_->fix_scale(slot, largest);
  model(slot) = {TermAdder(SumFormat::make(input_.bits, kDistanceLimbs, largest)), {}, {}, {}};
}

void DeduplicatedSeeding::sum_blocks(Model& m, std::span<const double> least) {
  const int64_t n = input_.points.n;
  m.blocks.assign(static_cast<size_t>((n + kSeedBlock - 1) / kSeedBlock * kDistanceLimbs), 0);
  pool_.for_each_range(n, kSeedBlock, [&](int, int64_t first, int64_t last) {
    int64_t* sums = m.blocks.data() + first / kSeedBlock * kDistanceLimbs;
    for (int64_t row = first; row < last; ++row) m.adder.add(least[distinct_of(row)], 1, sums);
  });
}

// Updates the blocks if few distinct rows have another distance than before.
void DeduplicatedSeeding::change_blocks(Model& m, std::span<const double> least) {
  pool_.for_each_range(rows_.distinct_rows(), piece_of_distinct_rows(rows_), [&](int, int64_t first, int64_t last) {
    for (int64_t g = first; g < last; ++g) {
      const double before = m.least[static_cast<size_t>(g)];
      const double now = least[static_cast<size_t>(g)];
      if (before == now) continue;
      int64_t change[kDistanceLimbs] = {};
      m.adder.add(before, -1, change);
      m.adder.add(now, 1, change);
      for (const uint32_t row : rows_.rows_of(g)) {
        int64_t* sums = m.blocks.data() + row / kSeedBlock * kDistanceLimbs;
        for (int l = 0; l < kDistanceLimbs; ++l) {
          std::atomic_ref<int64_t>(sums[l]).fetch_add(change[l], std::memory_order_relaxed);
        }
      }
    }
  });
}

SeedTerms DeduplicatedSeeding::terms(int slot) {
  Model& m = model(slot);
  const std::span<const double> least = distinct_->least(slot);
  std::atomic<int64_t> changed = m.least.empty() ? rows_.distinct_rows() : 0;
  if (!m.least.empty()) {
    pool_.for_each_range(rows_.distinct_rows(), kPiece, [&](int, int64_t first, int64_t last) {
      int64_t mine = 0;
      for (auto g = static_cast<size_t>(first); g < static_cast<size_t>(last); ++g) mine += m.least[g] != least[g];
      changed += mine;
    });
  }
  if (changed > rows_.distinct_rows() / 8) {
    sum_blocks(m, least);
  } else if (changed > 0) {
    change_blocks(m, least);
  }
  if (changed > 0) m.least.assign(least.begin(), least.end());
  const auto add = [this, &m](int64_t row, int64_t* limbs) { m.adder.add(m.least[distinct_of(row)], 1, limbs); };
  return {input_.points.n, input_.shard.first, kSeedBlock, m.blocks, m.adder.format(), add};
}

std::vector<int64_t> DeduplicatedSeeding::sample(int slot, const SeedSample& sample) {
  const SeedTerms all = terms(slot);
  std::vector<std::vector<int64_t>> found(static_cast<size_t>((all.n + kPiece - 1) / kPiece));
  pool_.for_each_range(all.n, kPiece, [&](int, int64_t first, int64_t last) {
    all.append_sample(sample, first, last, found[static_cast<size_t>(first / kPiece)]);
  });
  std::vector<int64_t> rows;
  for (const auto& part : found) rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

std::span<const double> DeduplicatedSeeding::least(int slot) {
  const std::span<const double> distinct = distinct_->least(slot);
  std::vector<double>& all = model(slot).all_least;
  all.resize(static_cast<size_t>(input_.points.n));
  for (int64_t row = 0; row < input_.points.n; ++row) all[static_cast<size_t>(row)] = distinct[distinct_of(row)];
  return all;
}

class DeduplicatedUpload final : public Upload {
 public:
  DeduplicatedUpload(Backend& backend, const Input& input, Duplicates rows, const Workload& workload,
                     const std::atomic<bool>* abort)
      : input_(input), threads_(backend.threads()), abort_(abort), rows_(std::move(rows)) {
    Workload of_distinct = workload;
    of_distinct.guessed = false;  // for all rows
    distinct_ = backend.upload(rows_.input, of_distinct);
  }

  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    auto pool = std::make_unique<ThreadPool>(threads > 0 ? threads : threads_, abort_);
    return std::make_unique<DeduplicatedSession>(input_, rows_, distinct_->session(k, threads), k, std::move(pool));
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    std::unique_ptr<Seeding> distinct = distinct_->seeding(k, pool);
    if (!distinct) return nullptr;
    return std::make_unique<DeduplicatedSeeding>(input_, rows_, std::move(distinct), k.size(), pool);
  }
  std::string plan() const override {
    return fmt::format("{}; duplicates once: {} rows instead of {}", distinct_->plan(), rows_.distinct_rows(),
                       input_.points.n);
  }
  std::vector<std::string> warnings() const override { return distinct_->warnings(); }

 private:
  const Input& input_;
  int threads_;
  const std::atomic<bool>* abort_;
  Duplicates rows_;
  std::unique_ptr<Upload> distinct_;
};

}  // namespace

std::unique_ptr<Upload> upload_deduplicated(Backend& backend, const Input& input, Duplicates rows,
                                            const Workload& workload, const std::atomic<bool>* abort) {
  return std::make_unique<DeduplicatedUpload>(backend, input, std::move(rows), workload, abort);
}

std::unique_ptr<Upload> upload_points(Backend& backend, const PointsToUpload& points, ThreadPool& pool,
                                      const std::atomic<bool>* abort) {
  const std::optional<bool> asked = points.duplicates ? points.duplicates : environment::duplicates();
  DuplicatesRule rule;
  if (asked == true) rule = {1, 1, false};
  // Multiples of another kind's terms may be inexact where multiples of columns are exact.
  const bool counts = backend.counts_duplicates() && prototype_of(points.input).euclidean;
  if (counts && asked.value_or(points.workload.passes >= kMinPasses)) {
    if (std::optional<Duplicates> found = find_duplicates(points.input, pool, rule)) {
      return upload_deduplicated(backend, points.input, std::move(*found), points.workload, abort);
    }
  }
  return backend.upload(points.input, points.workload);
}

}  // namespace manymeans
