// Labels, statistics and distances of the reference.
#include "backend/reference/reference_session.h"
#include "core/data_type.h"
#include "core/distance.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace manymeans {

std::vector<double> widened(const Matrix& matrix) {
  std::vector<double> values(static_cast<size_t>(matrix.rows() * matrix.columns()));
  widen(matrix.view().data, matrix.type(), 0, matrix.rows() * matrix.columns(), values.data());
  return values;
}

const double* ReferencePoints::point(int64_t row) {
  return rows_as<double>(input_.points, row, 1, row_.data());
}

void ReferenceSession::add_row(Statistics& statistics, int64_t row, uint32_t label, int sign) {
  const double* x = point(row);
  const double weight = input_.weight(row);
  int64_t* sums = statistics.row(label);
  for (int64_t j = 0; j < d(); ++j) {
    const SumFormat& format = input_.columns[static_cast<size_t>(j)];
    int64_t term[kMaxLimbs] = {};
    add_term(weight * x[j], format, sign, term);
    for (int g = 0; g < format.limbs; ++g) sums[g * d() + j] += term[g];
  }
  statistics.weights[label] += sign * input_.integer_weight(row);
  statistics.counts[label] += sign;
}

void ReferenceSession::assign(PassModel& pass) {
  const std::vector<double> prototypes = widened(*pass.prototypes);
  const int64_t k = pass.prototypes->rows();
  Model& state = model(pass.slot);
  const bool first_pass = state.labels.empty();
  if (first_pass) state.labels = Labels(n(), k, input_.memory.labels == Storage::kFile);
  state.statistics = Statistics(k, d(), input_.limbs);
  pass.result = {};
  for_each_row(state, [&](int64_t i) {
    const double* x = point(i);
    uint32_t label = 0;
    double least = canonical_distance(x, prototypes.data(), d());
    for (int64_t c = 1; c < k; ++c) {
      const double distance = canonical_distance(x, prototypes.data() + c * d(), d());
      if (distance < least) {
        least = distance;
        label = static_cast<uint32_t>(c);
      }
    }
    const uint32_t before = state.labels[i];
    if (first_pass || label != before) ++pass.result.changed;
    if (!first_pass && label != before) pass.result.hash_delta += label_term(i, label) - label_term(i, before);
    state.labels.write(i, 1, &label);
    add_row(state.statistics, i, label, 1);
  });
  pass.result.resolved = n();
  pass.result.candidates = n() * k;
}

int ReferenceSession::advance(std::span<PassModel> models, int) {
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
  for_each_row(state, [&](int64_t i) { body(i, canonical_distance(point(i), c.data() + state.labels[i] * d(), d())); });
}

std::vector<double> ReferenceSession::distances(int slot, const Matrix& prototypes) {
  std::vector<double> result(static_cast<size_t>(n()));
  for_each_distance(slot, prototypes, [&](int64_t i, double d2) { result[static_cast<size_t>(i)] = d2; });
  return result;
}

void ReferenceSession::transform(const Matrix& prototypes, Matrix& distances) {
  const std::vector<double> c = widened(prototypes);
  const int64_t k = prototypes.rows();
  points_.for_each_row({}, [&](int64_t i) {
    for (int64_t j = 0; j < k; ++j) {
      const double distance = std::sqrt(canonical_distance(point(i), c.data() + j * d(), d()));
      const auto at = static_cast<size_t>(i * k + j);
      if (distances.type() == DataType::kFloat64) {
        distances.values<double>()[at] = distance;
      } else {
        distances.values<float>()[at] = static_cast<float>(distance);
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
  add_row(state.statistics, row, state.labels[row], -1);
  add_row(state.statistics, row, label, 1);
  state.labels.write(row, 1, &label);
}

void ReferenceSession::relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) {
  Model& state = model(slot);
  Labels labels(n(), static_cast<int64_t>(kept.size()), state.labels.in_file());
  for_each_row(state, [&](int64_t i) { labels.write(i, 1, &new_label[state.labels[i]]); });
  labels.give_back(0, n());
  Statistics statistics(static_cast<int64_t>(kept.size()), d(), input_.limbs);
  for (size_t to = 0; to < kept.size(); ++to) {
    const auto from = static_cast<size_t>(kept[to]);
    std::copy_n(state.statistics.row(kept[to]), input_.limbs * d(), statistics.row(static_cast<int64_t>(to)));
    statistics.weights[to] = state.statistics.weights[from];
  }
  for (size_t l = 0; l < new_label.size(); ++l) statistics.counts[new_label[l]] += state.statistics.counts[l];
  state.labels = std::move(labels);
  state.statistics = std::move(statistics);
}

}  // namespace manymeans
