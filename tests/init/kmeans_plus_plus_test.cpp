// k-means++ against the contract's definition, written down once more in the plainest way.
#include "init/kmeans_plus_plus.h"

#include <manymeans/fit.h>

#include "core/distance.h"
#include "core/random.h"
#include "engine/small_data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace manymeans {
namespace {

struct Plain {
  const std::vector<float>& x;
  const std::vector<double>& w;  // integers, so that q is the weight
  int64_t n, d;
  std::vector<double> least;
  SumFormat format;

  double distance(int64_t a, int64_t b) const { return canonical_distance(x.data() + a * d, x.data() + b * d, d); }
  WideInt term(double v) const {
    int64_t limbs[3] = {};
    add_term(v, format, 1, limbs);
    return recombine(limbs, format);
  }
  WideInt potential(int64_t candidate) const {
    WideInt sum;
    for (int64_t i = 0; i < n; ++i) {
      sum += term(w[static_cast<size_t>(i)] * std::min(least[static_cast<size_t>(i)], distance(i, candidate)));
    }
    return sum;
  }
  void add(int64_t centre) {
    for (int64_t i = 0; i < n; ++i) {
      least[static_cast<size_t>(i)] = std::min(least[static_cast<size_t>(i)], distance(i, centre));
    }
  }
};

std::vector<int64_t> plain_kmeans_plus_plus(const std::vector<float>& x, const std::vector<double>& w, int64_t d,
                                            int64_t k, uint64_t seed) {
  const auto n = static_cast<int64_t>(w.size());
  Plain p{x, w, n, d, std::vector<double>(w.size(), std::numeric_limits<double>::infinity()), {}};
  uint64_t total = 0;
  for (const double v : w) total += static_cast<uint64_t>(v);
  const uint64_t target = static_cast<uint64_t>(
      (static_cast<unsigned __int128>(random_u64(seed, 0, 0, Purpose::kFirstCentre)) * total) >> 64);
  std::vector<int64_t> rows = {0};
  for (uint64_t prefix = static_cast<uint64_t>(w[0]); prefix <= target;
       prefix += static_cast<uint64_t>(w[static_cast<size_t>(rows[0])]))
    ++rows[0];
  p.add(rows[0]);
  double most = 0;
  for (size_t i = 0; i < w.size(); ++i) most = std::max(most, w[i] * p.least[i]);
  p.format = SumFormat::make(limb_bits(n), 3, most);
  for (int64_t t = 1; t < k; ++t) {
    int64_t best = -1;
    WideInt best_potential;
    const WideInt sum = p.potential(rows[0]);
    for (int draw = 0; draw < 2 + static_cast<int>(std::log(k)); ++draw) {
      const uint64_t u = random_u64(seed, static_cast<uint64_t>(t), static_cast<uint32_t>(draw), Purpose::kCandidate);
      const WideInt wanted = sum.times(u).shift_right_64();
      int64_t row = 0;
      for (WideInt prefix = p.term(w[0] * p.least[0]); !(prefix > wanted);) {
        ++row;
        prefix += p.term(w[static_cast<size_t>(row)] * p.least[static_cast<size_t>(row)]);
      }
      const WideInt potential = p.potential(row);
      if (best < 0 || potential < best_potential) best = row, best_potential = potential;
    }
    rows.push_back(best);
    p.add(best);
  }
  return rows;
}

TEST(KMeansPlusPlus, FollowsTheContract) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const int64_t d = 1 + seed % 3;
    const int64_t n = 150 + 37 * seed;
    const std::vector<float> x = test::mixture(n, d, seed);
    std::vector<double> w(static_cast<size_t>(n), 1.0);
    if (seed % 2 == 0) {
      for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<double>((i * 7) % 4);
    }
    for (const int64_t clusters : {3, 12}) {
      FitOptions o = test::options({clusters});
      o.init = "k-means++";
      o.model_seed = seed;
      const Matrix begun = initialise(PointsView(x.data(), n, d), w, o).prototypes;
      // The engine scales weights by a power of two, which shifts every T alike.
      const std::vector<int64_t> rows = plain_kmeans_plus_plus(x, w, d, clusters, seed);
      for (int64_t k = 0; k < clusters; ++k) {
        for (int64_t j = 0; j < d; ++j) {
          ASSERT_EQ(begun.at(k, j), x[static_cast<size_t>(rows[static_cast<size_t>(k)] * d + j)])
              << "seed " << seed << " k " << clusters << " centre " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace manymeans
