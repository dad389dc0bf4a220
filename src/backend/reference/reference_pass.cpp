// Labels, statistics and distances of the reference.
#include "backend/reference/reference_session.h"
#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymeans {

std::vector<double> widened(const Matrix& matrix) {
  std::vector<double> values(static_cast<size_t>(matrix.rows() * matrix.columns()));
  widen(matrix.view().data, matrix.type(), 0, matrix.rows() * matrix.columns(), values.data());
  return values;
}

ReferencePoints::ReferencePoints(const Input& input, const std::atomic<bool>* abort)
    : input_(input), prototype_(prototype_of(input)), abort_(abort) {
  constexpr int64_t kRows = 16;  // few, since the end of an aborted fit takes as long as a block
  block_rows_ = input.memory.window.grain(kRows);
  values_.resize(static_cast<size_t>(block_rows_ * d()));
  distances_.resize(static_cast<size_t>(block_rows_));
  labels_.resize(static_cast<size_t>(block_rows_));
}

ReferencePoints::Block ReferencePoints::block(int64_t first, int64_t count) {
  const PointsView rows = host_rows(input_.points, first, count, fetched_);
  return {first, {rows_as<double>(rows, 0, count, values_.data()), count, d()}};
}

std::span<const double> ReferencePoints::distances(const LabelledRows<double>& rows) {
  prototype_.f64.distances(rows, distances_.data());
  return std::span(distances_).first(static_cast<size_t>(rows.count));
}

std::span<const double> ReferencePoints::distances(const Block& block, const double* prototype) {
  std::fill(labels_.begin(), labels_.end(), 0);
  return distances({block.rows.points, block.rows.count, d(), prototype, 1, labels_.data()});
}

std::span<const double> ReferencePoints::distances(const Block& block, std::span<const double> prototypes,
                                                   const Labels& labels) {
  const int64_t k = static_cast<int64_t>(prototypes.size()) / prototype_.width(d());
  labels.read(block.first, block.rows.count, labels_.data());
  return distances({block.rows.points, block.rows.count, d(), prototypes.data(), k, labels_.data()});
}

void ReferenceSession::add_rows(Statistics& statistics, const ReferencePoints::Block& block, const uint32_t* labels,
                                int sign) {
  const int64_t terms = statistics.d;
  terms_.resize(static_cast<size_t>(block.rows.count * terms));
  const double* weights = input_.weights.empty() ? nullptr : input_.weights.data() + block.first;
  points_.prototype().f64.terms(block.rows, weights, terms_.data());
  for (int64_t i = 0; i < block.rows.count; ++i) {
    const int64_t row = block.first + i;
    int64_t* sums = statistics.row(labels[i]);
    for (int64_t t = 0; t < terms; ++t) {
      const SumFormat& format = input_.columns[static_cast<size_t>(t)];
      int64_t term[kMaxLimbs] = {};
      add_term(terms_[static_cast<size_t>(i * terms + t)], format, sign, term);
      for (int g = 0; g < format.limbs; ++g) sums[g * terms + t] += term[g];
    }
    statistics.weights[labels[i]] += sign * input_.integer_weight(row);
    statistics.counts[labels[i]] += sign;
  }
}

void ReferenceSession::assign(PassModel& pass) {
  const std::vector<double> prototypes = widened(*pass.prototypes);
  const int64_t k = pass.prototypes->rows();
  const Prototype& prototype = points_.prototype();
  Model& state = model(pass.slot);
  const bool first_pass = state.labels.empty();
  if (first_pass) state.labels = Labels(n(), k, input_.memory.labels == Storage::kFile);
  state.statistics = Statistics(k, prototype.terms(d()), input_.limbs);
  pass.result = {};
  std::vector<uint32_t> labels;
  for_each_block(state, [&](const ReferencePoints::Block& block) {
    labels.resize(static_cast<size_t>(block.rows.count));
    prototype.f64.nearest(block.rows, prototypes.data(), k, labels.data());
    for (int64_t i = 0; i < block.rows.count; ++i) {
      const int64_t row = block.first + i;
      const uint32_t label = labels[static_cast<size_t>(i)];
      const uint32_t before = state.labels[row];
      if (first_pass || label != before) ++pass.result.changed;
      if (first_pass || label == before) continue;
      const int64_t number = input_.shard.first + row;
      pass.result.hash_delta += label_term(number, label) - label_term(number, before);
    }
    state.labels.write(block.first, block.rows.count, labels.data());
    add_rows(state.statistics, block, labels.data(), 1);
  });
  pass.result.resolved = n();
  pass.result.candidates = n() * k;
}

int ReferenceSession::advance(std::span<PassModel> models, const PassLimits&) {
  for (PassModel& pass : models) assign(pass);
  return 1;
}

Labels ReferenceSession::take_labels(int slot) {
  Labels taken = std::move(model(slot).labels);
  model(slot).labels = Labels();
  return taken;
}

template <class Body>
void ReferenceSession::for_each_distance(int slot, const Matrix& prototypes, Body&& body) {
  const std::vector<double> c = widened(prototypes);
  const Model& state = model(slot);
  for_each_block(state, [&](const ReferencePoints::Block& block) {
    const std::span<const double> d2 = points_.distances(block, c, state.labels);
    for (int64_t i = 0; i < block.rows.count; ++i) body(block.first + i, d2[static_cast<size_t>(i)]);
  });
}

std::vector<double> ReferenceSession::distances(int slot, const Matrix& prototypes) {
  std::vector<double> result(static_cast<size_t>(n()));
  for_each_distance(slot, prototypes, [&](int64_t i, double d2) { result[static_cast<size_t>(i)] = d2; });
  return result;
}

void ReferenceSession::transform(const Matrix& prototypes, Matrix& distances) {
  const std::vector<double> c = widened(prototypes);
  const int64_t k = prototypes.rows();
  points_.for_each_block({}, [&](const ReferencePoints::Block& block) {
    for (int64_t j = 0; j < k; ++j) {
      const std::span<const double> d2 = points_.distances(block, c.data() + j * prototypes.columns());
      for (size_t i = 0; i < d2.size(); ++i) {
        const auto at = (static_cast<size_t>(block.first) + i) * static_cast<size_t>(k) + static_cast<size_t>(j);
        if (distances.type() == DataType::kFloat64) {
          distances.values<double>()[at] = std::sqrt(d2[i]);
        } else {
          distances.values<float>()[at] = static_cast<float>(std::sqrt(d2[i]));
        }
      }
    }
  });
}

std::vector<InertiaSum> ReferenceSession::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& asked : models) {
    const std::vector<DistantRow> rows = farthest_rows(asked.slot, *asked.prototypes, 1);
    const double farthest = rows.empty() ? 0 : rows[0].distance;
    const SumFormat format = distance_format(input_, farthest);
    sums.push_back({farthest, format, inertia_limbs(asked.slot, *asked.prototypes, format)});
  }
  return sums;
}

std::vector<int64_t> ReferenceSession::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  std::vector<int64_t> limbs(static_cast<size_t>(format.limbs));
  for_each_distance(slot, prototypes,
                    [&](int64_t i, double d2) { add_term(input_.weight(i) * d2, format, 1, limbs.data()); });
  return limbs;
}

std::vector<DistantRow> ReferenceSession::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  constexpr int64_t kWaiting = 4096;  // so that no more than these and `count` rows are kept
  std::vector<DistantRow> rows;
  const auto cut = [&] {
    // Rows are ascending already, and a stable sort keeps that order among equal distances.
    std::stable_sort(rows.begin(), rows.end(),
                     [](const DistantRow& a, const DistantRow& b) { return a.distance > b.distance; });
    if (static_cast<int64_t>(rows.size()) > count) rows.resize(static_cast<size_t>(count));
  };
  for_each_distance(slot, prototypes, [&](int64_t i, double distance) {
    if (input_.weight(i) > 0 && distance > 0) rows.push_back({distance, i, model(slot).labels[i]});
    if (static_cast<int64_t>(rows.size()) >= count + kWaiting) cut();
  });
  cut();
  return rows;
}

void ReferenceSession::move_row(int slot, int64_t row, uint32_t label) {
  Model& state = model(slot);
  const uint32_t before = state.labels[row];
  const ReferencePoints::Block one = points_.block(row, 1);
  add_rows(state.statistics, one, &before, -1);
  add_rows(state.statistics, one, &label, 1);
  state.labels.write(row, 1, &label);
}

void ReferenceSession::renumber(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  Model& state = model(slot);
  Labels labels(n(), static_cast<int64_t>(kept.size()), state.labels.in_file());
  for_each_block(state, [&](const ReferencePoints::Block& block) {
    renumber_labels(state.labels, block.first, block.first + block.rows.count, new_label, labels);
  });
  labels.give_back(0, n());
  state.labels = std::move(labels);
  state.statistics = state.statistics.renumbered(new_label, kept);
}

}  // namespace manymeans
