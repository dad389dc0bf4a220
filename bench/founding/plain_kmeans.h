// K-means as studies 3 and 5 write it: sequential, and with OpenMP. The lines are the same for both. A
// compiler without OpenMP ignores the pragmas, which gives the sequential program.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace manymeans::founding {

/// A model and the points that it is fitted to. Rows lie one after the other.
template <class T>
struct PlainModel {
  const T* points = nullptr;
  int64_t n = 0, d = 0, k = 0;
  int threads = 1;
  std::vector<T> centroids = {};     // k x d
  std::vector<int32_t> labels = {};  // n
  std::vector<T> sums = {};          // k x d
  std::vector<int64_t> counts = {};  // k
};

template <class T>
int32_t nearest_centroid(const PlainModel<T>& model, const T* point) {
  int32_t nearest = 0;
  T least = std::numeric_limits<T>::max();
  for (int64_t c = 0; c < model.k; ++c) {
    const T* const centroid = model.centroids.data() + c * model.d;
    T distance = 0;
    for (int64_t j = 0; j < model.d; ++j) {
      const T difference = point[j] - centroid[j];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      nearest = static_cast<int32_t>(c);
    }
  }
  return nearest;
}

/// Study 5, listing 1: every thread labels its share of the points.
template <class T>
void assign_points(PlainModel<T>& model) {
#pragma omp parallel for num_threads(model.threads) schedule(static)
  for (int64_t i = 0; i < model.n; ++i) {
    model.labels[static_cast<size_t>(i)] = nearest_centroid(model, model.points + i * model.d);
  }
}

/// Study 5, listing 2: a second loop sums the points of each cluster. The reduction gives each thread sums of its own
/// on its stack, and joins them.
template <class T>
void sum_points(PlainModel<T>& model) {
  const int64_t values = model.k * model.d;
  model.sums.assign(static_cast<size_t>(values), T{0});
  model.counts.assign(static_cast<size_t>(model.k), 0);
  T* sums = model.sums.data();
  int64_t* counts = model.counts.data();
#pragma omp parallel for num_threads(model.threads) schedule(static) reduction(+ : counts[ : model.k], sums[ : values])
  for (int64_t i = 0; i < model.n; ++i) {
    const int32_t label = model.labels[static_cast<size_t>(i)];
    counts[label] += 1;
    for (int64_t j = 0; j < model.d; ++j) sums[label * model.d + j] += model.points[i * model.d + j];
  }
}

/// NU-MineBench (study 3, section 2.4): one loop labels and sums, so each point is read once. Each thread has its own
/// sums. Threads join them in any order, so the last bits may differ between two runs.
template <class T>
void assign_and_sum(PlainModel<T>& model) {
  const auto values = static_cast<size_t>(model.k * model.d);
  model.sums.assign(values, T{0});
  model.counts.assign(static_cast<size_t>(model.k), 0);
#pragma omp parallel num_threads(model.threads)
  {
    std::vector<T> own_sums(values, T{0});
    std::vector<int64_t> own_counts(static_cast<size_t>(model.k), 0);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < model.n; ++i) {
      const T* const point = model.points + i * model.d;
      const int32_t label = nearest_centroid(model, point);
      model.labels[static_cast<size_t>(i)] = label;
      own_counts[static_cast<size_t>(label)] += 1;
      for (int64_t j = 0; j < model.d; ++j) own_sums[static_cast<size_t>(label * model.d + j)] += point[j];
    }
#pragma omp critical
    {
      for (size_t c = 0; c < own_counts.size(); ++c) model.counts[c] += own_counts[c];
      for (size_t v = 0; v < values; ++v) model.sums[v] += own_sums[v];
    }
  }
}

/// Moves each centroid to the mean of its points, and returns how many did not move. Study 5, listing 3: a centroid
/// whose mean is at most `threshold` away stays where it is. A cluster without points keeps its centroid; listing 2
/// would divide by 0.
template <class T>
int64_t move_centroids(PlainModel<T>& model, double threshold) {
  int64_t unmoved = 0;
  std::vector<T> mean(static_cast<size_t>(model.d));
  for (int64_t c = 0; c < model.k; ++c) {
    T* const centroid = model.centroids.data() + c * model.d;
    const int64_t count = model.counts[static_cast<size_t>(c)];
    T squares = 0;
    for (int64_t j = 0; j < model.d && count > 0; ++j) {
      mean[static_cast<size_t>(j)] = model.sums[static_cast<size_t>(c * model.d + j)] / static_cast<T>(count);
      const T difference = mean[static_cast<size_t>(j)] - centroid[j];
      squares += difference * difference;
    }
    if (std::sqrt(static_cast<double>(squares)) <= threshold) {
      ++unmoved;
      continue;
    }
    for (int64_t j = 0; j < model.d; ++j) centroid[j] = mean[static_cast<size_t>(j)];
  }
  return unmoved;
}

}  // namespace manymeans::founding
