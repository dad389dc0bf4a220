#include "backend/balanced/balanced_upload.h"

#include <manymeans/error.h>

#include "backend/assigned_inertia.h"
#include "core/data_type.h"
#include "core/fixed_point.h"
#include "core/label_term.h"
#include "core/row_window.h"
#include "data/gather.h"
#include "data/row_blocks.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

constexpr int64_t kMaxCosts = int64_t{1} << 27;  // of 8 bytes: a gibibyte

class BalancedSession final : public Session, public RowQueries {
 public:
  BalancedSession(const Input& input, std::unique_ptr<Session> distances, size_t models, const SizeLimits& sizes,
                  const std::atomic<bool>* abort)
      : input_(input),
        prototype_(prototype_of(input)),
        distances_(std::move(distances)),
        sizes_(sizes),
        abort_(abort),
        pool_(1, abort),
        models_(models) {
    for (const SumFormat& format : input.columns) adders_.emplace_back(format);
  }

  int advance(std::span<PassModel> models, const PassLimits&) override {
    for (PassModel& pass : models) label(pass);
    return 1;
  }
  const Labels& labels(int slot) override { return model(slot).labels; }
  const Statistics& statistics(int slot) override { return model(slot).statistics; }
  Labels take_labels(int slot) override { return std::exchange(model(slot).labels, Labels()); }
  void move_row(int slot, int64_t row, uint32_t label) override;
  void renumber(int, std::span<const uint32_t>, std::span<const int64_t>) override {
    throw Error(ErrorCode::kInternal, "min_size", "clusters of given sizes are not taken away");
  }
  RowQueries& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override {
    return limbs_of_distances(input_, distances(slot, prototypes), format);
  }
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override {
    distances_->rows().transform(prototypes, distances);
  }

 private:
  struct Model {
    Labels labels;  // empty before the first pass
    Statistics statistics;
    std::vector<double> prices;  // of the clusters, as they were last: in the units of the costs before these become
                                 // integers
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return input_.points.n; }
  void label(PassModel& pass);
  std::vector<uint32_t> assign(Model& state, const Matrix& prototypes);
  double find_costs(const Matrix& prototypes);
  std::vector<int64_t> costs_of_all_ranks(int64_t k) const;
  void take_labels_of(PassModel& pass, const std::vector<uint32_t>& labels);
  void add_row(Statistics& statistics, const double* terms, int64_t row, int64_t label, int sign) const;

  const Input& input_;
  const Prototype& prototype_;
  std::unique_ptr<Session> distances_;  // of a model of one prototype, so that all rows have the label 0; null without
                                        // rows
  bool labelled_ = false;               // it has them
  SizeLimits sizes_;
  const std::atomic<bool>* abort_;
  ThreadPool pool_;
  std::vector<TermAdder> adders_;
  std::vector<Model> models_;
  std::vector<int64_t> costs_;  // of a pass and this rank's rows, a column a cluster
};

// Writes the bits of RN(w' * d2) of every row and prototype, which integers replace later. Returns the largest value.
double BalancedSession::find_costs(const Matrix& prototypes) {
  const int64_t k = prototypes.rows();
  costs_.resize(static_cast<size_t>(n() * k));
  double largest = 0;
  for (int64_t c = 0; n() > 0 && c < k; ++c) {
    const Matrix one = keep_prototypes(prototypes, std::span(&c, 1));
    if (!labelled_) {
      PassModel pass{0, &one, {}};
      distances_->advance({&pass, 1}, 1);
      labelled_ = true;
    }
    const std::vector<double> d2 = distances_->rows().distances(0, one);
    int64_t* to = costs_.data() + c * n();
    for (int64_t i = 0; i < n(); ++i) {
      const double cost = input_.weight(i) * d2[static_cast<size_t>(i)];
      largest = std::max(largest, cost);
      to[i] = std::bit_cast<int64_t>(cost);
    }
  }
  return input_.comm->max(largest);
}

// A column is gathered at a time, so that the rows of the ranks follow each other in it.
std::vector<int64_t> BalancedSession::costs_of_all_ranks(int64_t k) const {
  std::vector<int64_t> all;
  all.reserve(static_cast<size_t>(input_.shard.all * k));
  for (int64_t c = 0; c < k; ++c) {
    const std::span column(costs_.data() + c * n(), static_cast<size_t>(n()));
    const std::vector<int64_t> gathered = input_.comm->gather_flat(column);
    all.insert(all.end(), gathered.begin(), gathered.end());
  }
  return all;
}

// Every rank solves the whole problem, and takes the labels of its own rows.
std::vector<uint32_t> BalancedSession::assign(Model& state, const Matrix& prototypes) {
  const int64_t k = prototypes.rows();
  const int shift = cost_bits(k) - exponent(find_costs(prototypes));
  const TermAdder rounded(SumFormat{0, 1, shift});
  for (int64_t& cost : costs_) {
    const auto value = std::bit_cast<double>(cost);
    cost = 0;
    rounded.add(value, 1, &cost);
  }
  state.prices.resize(static_cast<size_t>(k));
  std::vector<int64_t> prices;
  for (const double price : state.prices) {
    constexpr double kBound = 0x1p60;
    prices.push_back(std::llrint(std::clamp(std::ldexp(price, shift), -kBound, kBound)));
  }
  std::vector<int64_t> all;
  if (!input_.comm->alone()) all = costs_of_all_ranks(k);
  const std::span<const int64_t> costs = input_.comm->alone() ? costs_ : all;
  const std::vector<uint32_t> labels = assign_balanced({costs, input_.shard.all, k}, sizes_, prices, abort_);
  for (size_t c = 0; c < prices.size(); ++c) {
    state.prices[c] = std::ldexp(static_cast<double>(prices[c]), -shift);
  }
  const auto first = labels.begin() + input_.shard.first;
  return {first, first + n()};
}

void BalancedSession::label(PassModel& pass) {
  Model& state = model(pass.slot);
  pass.result = {};
  pass.result.resolved = n();
  pass.result.candidates = n() * pass.prototypes->rows();
  take_labels_of(pass, assign(state, *pass.prototypes));
}

void BalancedSession::add_row(Statistics& statistics, const double* terms, int64_t row, int64_t label, int sign) const {
  int64_t* sums = statistics.row(label);
  for (int64_t t = 0; t < statistics.d; ++t) {
    int64_t limbs[kMaxLimbs] = {};
    const TermAdder& adder = adders_[static_cast<size_t>(t)];
    adder.add(terms[t], sign, limbs);
    for (int g = 0; g < adder.format().limbs; ++g) sums[g * statistics.d + t] += limbs[g];
  }
  statistics.weights[static_cast<size_t>(label)] += sign * input_.integer_weight(row);
  statistics.counts[static_cast<size_t>(label)] += sign;
}

// The statistics follow the rows whose label is another.
void BalancedSession::take_labels_of(PassModel& pass, const std::vector<uint32_t>& labels) {
  Model& state = model(pass.slot);
  const int64_t k = pass.prototypes->rows(), terms = prototype_.terms(input_.points.d);
  const bool first = state.labels.empty();
  if (first) {
    state.labels = Labels(n(), k, input_.memory.labels == Storage::kFile);
    state.statistics = Statistics(k, terms, input_.limbs);
  }
  std::vector<double> values;
  const auto take = [&]<class T>(int64_t begin, int64_t rows, const T* x) {
    values.resize(static_cast<size_t>(rows * terms));
    const double* weights = input_.weights.empty() ? nullptr : input_.weights.data() + begin;
    prototype_.rows<T>().terms({x, rows, input_.points.d}, weights, values.data());
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = begin + i;
      const uint32_t now = labels[static_cast<size_t>(row)], before = state.labels[row];
      if (!first && now == before) continue;
      ++pass.result.changed;
      add_row(state.statistics, values.data() + i * terms, row, now, 1);
      if (first) continue;
      add_row(state.statistics, values.data() + i * terms, row, before, -1);
      const int64_t number = input_.shard.first + row;
      pass.result.hash_delta += label_term(number, now) - label_term(number, before);
    }
  };
  as_float_type(input_.points.type, [&]<class T>(T) {
    for_each_block<T>(input_.host_points(), input_.memory.window, pool_,
                      [&](int, int64_t begin, int64_t rows, const T* x) { take(begin, rows, x); });
  });
  state.labels.write(0, n(), labels.data());
}

void BalancedSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& state = model(slot);
  const Matrix one = gather_rows(input_.host_points(), std::span(&row, 1));
  std::vector<double> terms(static_cast<size_t>(state.statistics.d));
  const double weight = input_.weight(row);
  as_float_type(one.type(), [&]<class T>(T) {
    prototype_.rows<T>().terms({one.values<T>().data(), 1, input_.points.d}, &weight, terms.data());
  });
  add_row(state.statistics, terms.data(), row, state.labels[row], -1);
  add_row(state.statistics, terms.data(), row, label, 1);
  state.labels.write(row, 1, &label);
}

std::vector<double> BalancedSession::distances(int slot, const Matrix& prototypes) {
  return assigned_distances(input_, prototypes, model(slot).labels, pool_);
}

std::vector<InertiaSum> BalancedSession::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& asked : models) {
    sums.push_back(inertia_of_distances(input_, distances(asked.slot, *asked.prototypes)));
  }
  return sums;
}

std::vector<DistantRow> BalancedSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  const std::vector<double> d2 = distances(slot, prototypes);
  std::vector<DistantRow> rows;
  for (int64_t i = 0; i < n(); ++i) {
    const double distance = d2[static_cast<size_t>(i)];
    if (input_.weight(i) > 0 && distance > 0) rows.push_back({distance, i, model(slot).labels[i]});
  }
  std::ranges::sort(rows, DistantRow::is_farther);
  if (std::ssize(rows) > count) rows.resize(static_cast<size_t>(count));
  return rows;
}

class BalancedUpload final : public Upload {
 public:
  BalancedUpload(const Input& input, std::shared_ptr<Upload> points, const SizeLimits& sizes,
                 const std::atomic<bool>* abort)
      : input_(input), points_(std::move(points)), sizes_(sizes), abort_(abort) {
    if (sizes_.most == 0) sizes_.most = input.shard.all;
  }
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    constexpr int64_t kOne = 1;
    return std::make_unique<BalancedSession>(input_, points_ ? points_->session({&kOne, 1}, threads) : nullptr,
                                             k.size(), sizes_, abort_);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t>, ThreadPool&) override { return nullptr; }
  std::string plan() const override {
    return fmt::format("{}; {} to {} rows in a cluster, by the assignment of least cost",
                       points_ ? points_->plan() : "nothing to do", sizes_.least, sizes_.most);
  }

 private:
  const Input& input_;
  std::shared_ptr<Upload> points_;  // null: this rank has no rows
  SizeLimits sizes_;
  const std::atomic<bool>* abort_;
};

}  // namespace

void check_sizes(const SizeLimits& sizes, int64_t rows, int64_t clusters) {
  if (sizes.least > rows / clusters) {
    throw Error(ErrorCode::kUsage, "min_size",
                fmt::format("{} rows in each of {} clusters are more than the {} rows there are; at most {} is right",
                            sizes.least, clusters, rows, rows / clusters));
  }
  const int64_t fewest = (rows + clusters - 1) / clusters;
  if (sizes.most > 0 && sizes.most < fewest) {
    throw Error(ErrorCode::kUsage, "max_size",
                fmt::format("{} rows in each of {} clusters are fewer than the {} rows there are; at least {} is right",
                            sizes.most, clusters, rows, fewest));
  }
}

void check_costs(const SizeLimits& sizes, int64_t rows, int64_t clusters) {
  if (rows > kMaxCosts / clusters) {
    throw Error(ErrorCode::kUnavailable, sizes.least > 0 ? "min_size" : "max_size",
                fmt::format("{} rows times {} clusters are too many for an exact assignment: its costs are held in "
                            "memory, {} at most; use fewer clusters or a sample of the rows",
                            rows, clusters, kMaxCosts));
  }
}

std::unique_ptr<Upload> make_balanced_upload(const Input& input, std::shared_ptr<Upload> points,
                                             const SizeLimits& sizes, const std::atomic<bool>* abort) {
  return std::make_unique<BalancedUpload>(input, std::move(points), sizes, abort);
}

}  // namespace manymeans
