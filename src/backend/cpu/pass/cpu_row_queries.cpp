#include "backend/cpu/pass/cpu_row_queries.h"

#include "core/data_type.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace manymeans {
namespace {

// Whose distances to all prototypes are looked at together.
constexpr int64_t kRowsTogether = 64;

// From d2[k * rows + i], of at most kRowsTogether rows.
void find_two_nearest(const double* d2, int64_t rows, int64_t k, TwoNearest* found) {
  double least[kRowsTogether], second[kRowsTogether];
  uint32_t nearest[kRowsTogether] = {};
  std::fill_n(least, rows, std::numeric_limits<double>::infinity());
  std::fill_n(second, rows, std::numeric_limits<double>::infinity());
  for (int64_t j = 0; j < k; ++j, d2 += rows) {
    for (int64_t i = 0; i < rows; ++i) {
      second[i] = std::min(second[i], std::max(least[i], d2[i]));
      nearest[i] = d2[i] < least[i] ? static_cast<uint32_t>(j) : nearest[i];
      least[i] = std::min(least[i], d2[i]);
    }
  }
  for (int64_t i = 0; i < rows; ++i) found[i] = {least[i], second[i], nearest[i]};
}

}  // namespace

CpuRowQueries::DistanceBlock CpuRowQueries::distances_of(int slot, const Matrix& prototypes, int64_t first,
                                                         int64_t count, Worker& worker) {
  const auto size = static_cast<size_t>(count);
  if (worker.d2.size() < size) worker.d2.resize(size);
  if (worker.labels.size() < size) worker.labels.resize(size);
  model(slot).labels.read(first, count, worker.labels.data());
  const DistanceBlock block{{first, count, worker.labels.data()}, worker.d2.data()};
  distances_.find_distances(prototypes, block, worker.wide_f32, worker.d2.data());
  return block;
}

template <class Body>
void CpuRowQueries::for_each_distance(int slot, const Matrix& prototypes, Body&& body) {
  tree_.write_labels(model(slot));
  screen_.prepare();
  constexpr int64_t kValues = 1 << 14;  // of points: 64 KiB
  const int64_t rows = std::clamp<int64_t>(kValues / shared_.input.points.d, 8, 1024);
  const auto body_of_rows = [&](int w, int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row += rows) {
      body(w, distances_of(slot, prototypes, row, std::min(rows, last - row), screen_.worker(w)));
    }
  };
  shared_.input.memory.window.for_each_range(
      pool_, shared_.input.points.n, 16 * rows, body_of_rows,
      [&](int64_t first, int64_t last) { model(slot).labels.give_back(first, last - first); });
}

std::vector<DistantRow> CpuRowQueries::farthest_rows(int slot, const Matrix& prototypes, int64_t count) {
  // A heap per thread whose top is the least far of the `count` farthest seen.
  std::vector<std::vector<DistantRow>> heaps(static_cast<size_t>(pool_.size()));
  for_each_distance(slot, prototypes, [&](int w, const DistanceBlock& block) {
    std::vector<DistantRow>& heap = heaps[static_cast<size_t>(w)];
    for (int64_t i = 0; i < block.count; ++i) {
      const DistantRow candidate{block.d2[i], block.first + i, block.labels[i]};
      if (!(candidate.distance > 0) || !(shared_.input.weight(candidate.row) > 0)) continue;
      if (static_cast<int64_t>(heap.size()) == count) {
        if (!DistantRow::is_farther(candidate, heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end(), DistantRow::is_farther);
        heap.pop_back();
      }
      heap.push_back(candidate);
      std::push_heap(heap.begin(), heap.end(), DistantRow::is_farther);
    }
  });
  std::vector<DistantRow> all;
  for (const auto& heap : heaps) all.insert(all.end(), heap.begin(), heap.end());
  std::sort(all.begin(), all.end(), DistantRow::is_farther);
  if (static_cast<int64_t>(all.size()) > count) all.resize(static_cast<size_t>(count));
  return all;
}

// The largest distance of some rows with w' > 0.
double CpuRowQueries::farthest_of_sample(int slot, const Matrix& prototypes) {
  constexpr int64_t kRows = 1024;
  screen_.prepare();
  const int64_t n = shared_.input.points.n;
  const int64_t count = std::min(n, kRows);
  double farthest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i * n / count;
    if (!(shared_.input.weight(row) > 0)) continue;
    farthest =
        std::max(farthest, distances_.distance(row, prototypes, model(slot).labels[row], screen_.worker(0).wide_f32));
    shared_.input.memory.window.visited(row);
    model(slot).labels.give_back(row, 1);
  }
  return farthest;
}

// The sum, if its format is `guess` or the one for terms twice as large; else no limbs, but the right format.
InertiaSum CpuRowQueries::inertia_near(int slot, const Matrix& prototypes, const SumFormat& guess) {
  struct Part {
    alignas(64) uint64_t limbs[2][kDistanceLimbs] = {};
    double farthest = 0;
  };
  std::vector<Part> parts(static_cast<size_t>(pool_.size()));
  const double top = std::ldexp(1.0, guess.shift - (kDistanceLimbs - 1) * guess.bits);
  const double radix = std::ldexp(1.0, guess.bits);
  const std::vector<double>& weights = shared_.input.weights;
  for_each_distance(slot, prototypes, [&](int w, const DistanceBlock& block) {
    Part& part = parts[static_cast<size_t>(w)];
    const double* weight = weights.empty() ? nullptr : weights.data() + block.first;
    shared_.kernels.add_distances({block.d2, weight, block.count, top, radix, part.limbs[0], &part.farthest});
  });
  InertiaSum sum;
  for (const Part& part : parts) sum.farthest = std::max(sum.farthest, part.farthest);
  sum.format = distance_format(shared_.input, sum.farthest);
  const int which = guess.shift - sum.format.shift;
  if (which != 0 && which != 1) return sum;
  for (size_t g = 0; g < kDistanceLimbs; ++g) {
    uint64_t total = 0;
    for (const Part& part : parts) total += part.limbs[which][g];
    sum.limbs.push_back(static_cast<int64_t>(total));
  }
  return sum;
}

// One reading of the points where a sample tells the size of the farthest distance to a factor of two or so, else two.
InertiaSum CpuRowQueries::inertia(int slot, const Matrix& prototypes) {
  if (tree_.knows_labels(slot)) return tree_.inertia(slot, prototypes);
  tree_.write_labels(model(slot));
  const auto fast = [](const SumFormat& format) {
    return format.bits <= 50 && std::abs(format.shift - (kDistanceLimbs - 1) * format.bits) < 1000;
  };
  SumFormat guess = distance_format(shared_.input, farthest_of_sample(slot, prototypes));
  while (fast(guess)) {
    InertiaSum sum = inertia_near(slot, prototypes, guess);
    if (!sum.limbs.empty()) return sum;
    guess = sum.format;  // of all rows: the next round succeeds
  }
  std::vector<double> farthest(static_cast<size_t>(pool_.size()));
  for_each_distance(slot, prototypes, [&](int w, const DistanceBlock& block) {
    double& mine = farthest[static_cast<size_t>(w)];
    for (int64_t i = 0; i < block.count; ++i) {
      if (block.d2[i] > mine && shared_.input.weight(block.first + i) > 0) mine = block.d2[i];
    }
  });
  const double largest = *std::max_element(farthest.begin(), farthest.end());
  const SumFormat format = distance_format(shared_.input, largest);
  return {largest, format, inertia_limbs(slot, prototypes, format)};
}

std::vector<InertiaSum> CpuRowQueries::inertias(std::span<const ModelPrototypes> models) {
  std::vector<InertiaSum> sums;
  for (const ModelPrototypes& asked : models) sums.push_back(inertia(asked.slot, *asked.prototypes));
  return sums;
}

std::vector<int64_t> CpuRowQueries::inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) {
  if (tree_.knows_labels(slot)) return tree_.inertia_limbs(slot, prototypes, format);
  const TermAdder adder(format);
  std::vector<std::vector<int64_t>> sums(static_cast<size_t>(pool_.size()),
                                         std::vector<int64_t>(static_cast<size_t>(format.limbs)));
  for_each_distance(slot, prototypes, [&](int w, const DistanceBlock& block) {
    int64_t* mine = sums[static_cast<size_t>(w)].data();
    for (int64_t i = 0; i < block.count; ++i) {
      adder.add(shared_.input.weight(block.first + i) * block.d2[i], 1, mine);
    }
  });
  for (size_t w = 1; w < sums.size(); ++w) {
    for (size_t g = 0; g < sums[w].size(); ++g) sums[0][g] += sums[w][g];
  }
  return sums[0];
}

std::vector<double> CpuRowQueries::distances(int slot, const Matrix& prototypes) {
  std::vector<double> result(static_cast<size_t>(shared_.input.points.n));
  for_each_distance(slot, prototypes, [&](int, const DistanceBlock& block) {
    std::copy_n(block.d2, block.count, result.data() + block.first);
  });
  return result;
}

// The canonical distance of points is symmetric, so one row is the kernel's prototype and the prototypes are its rows.
// These are neighbours, and so are the distances. Prototypes that fit the cache meet several rows before the next ones
// come.
template <class T>
void CpuRowQueries::transform_rows(int64_t first, int64_t last, const Matrix& prototypes, Worker& worker,
                                   Matrix& distances) const {
  if (!shared_.prototype.euclidean) {
    T* to = distances.values<T>().data() + first * prototypes.rows();
    for (int64_t row = first; row < last; ++row) {
      for (int64_t j = 0; j < prototypes.rows(); ++j) {
        *to++ = static_cast<T>(std::sqrt(distances_.distance(row, prototypes, j, worker.wide_f32)));
      }
    }
    return;
  }
  constexpr int64_t kValues = 1 << 14;  // of prototypes
  const int64_t d = prototypes.columns();
  const int64_t k = prototypes.rows();
  const int64_t together = std::clamp<int64_t>(kValues / d, 8, 1024);
  std::vector<double> d2(static_cast<size_t>(together));
  const std::vector<uint32_t> labels(static_cast<size_t>(together));
  for (int64_t begin = 0; begin < k; begin += together) {
    const int64_t some = std::min(together, k - begin);
    const T* c = prototypes.values<T>().data() + begin * d;
    for (int64_t row = first; row < last; ++row) {
      const auto at = static_cast<size_t>(row * k + begin);
      if constexpr (sizeof(T) == 8) {
        const double* x = static_cast<const double*>(shared_.input.points.data) + row * d;
        shared_.kernels.distances_f64({c, some, d, x, 1, labels.data()}, d2.data());
      } else {
        shared_.kernels.distances_f32({c, some, d, distances_.row_f32(row, worker.wide_f32), 1, labels.data()},
                                      d2.data());
      }
      T* to = distances.values<T>().data() + at;
      for (int64_t j = 0; j < some; ++j) to[j] = static_cast<T>(std::sqrt(d2[static_cast<size_t>(j)]));
    }
  }
}

void CpuRowQueries::transform(const Matrix& prototypes, Matrix& distances) {
  screen_.prepare();
  constexpr int64_t kRows = 32;
  shared_.input.memory.window.for_each_range(pool_, shared_.input.points.n, kRows,
                                             [&](int w, int64_t first, int64_t last) {
                                               Worker& worker = screen_.worker(w);
                                               if (distances.type() == DataType::kFloat64)
                                                 return transform_rows<double>(first, last, prototypes, worker,
                                                                               distances);
                                               transform_rows<float>(first, last, prototypes, worker, distances);
                                             },
                                             {});
}

// Of linear models, which no screen tells apart.
bool CpuRowQueries::two_nearest(const Matrix& prototypes, const TakeTwoNearest& take) {
  const Input& input = shared_.input;
  constexpr int64_t kChunk = int64_t{1} << 16;
  constexpr int64_t kMaxModels = 1024;  // whose distances a thread holds for kRowsTogether rows
  const int64_t n = input.points.n, k = prototypes.rows();
  if (!shared_.prototype.linear || input.memory.window.moves() || k > kMaxModels) return false;
  screen_.prepare();
  std::vector<TwoNearest> found(static_cast<size_t>(std::min(n, kChunk)));
  for (int64_t chunk = 0; chunk < n; chunk += kChunk) {
    const int64_t count = std::min(kChunk, n - chunk);
    pool_.for_each_range(count, 16 * kRowsTogether, [&](int w, int64_t first, int64_t last) {
      Worker& worker = screen_.worker(w);
      std::vector<double> d2(static_cast<size_t>(kRowsTogether * k));
      for (int64_t row = first; row < last; row += kRowsTogether) {
        const int64_t some = std::min(kRowsTogether, last - row);
        distances_.find_residuals(prototypes, {chunk + row, some}, worker.wide_f32, d2.data());
        find_two_nearest(d2.data(), some, k, found.data() + row);
      }
    });
    take(chunk, std::span(found).first(static_cast<size_t>(count)));
  }
  return true;
}

}  // namespace manymeans
