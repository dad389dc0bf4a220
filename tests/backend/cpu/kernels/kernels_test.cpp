// Every kernel of every instruction set against its plain meaning.
#include "backend/cpu/kernels/kernels.h"

#include "backend/cpu/kernels/instruction_set.h"
#include "core/aligned_buffer.h"
#include "core/distance.h"
#include "core/fixed_point.h"
#include "core/label_term.h"
#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

namespace manymeans {
namespace {

class Kernels : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!GetParam().kernels().supported()) GTEST_SKIP() << GetParam().kernels().description << " is not here";
  }
  const CpuKernels& kernels() const { return GetParam().kernels(); }
  std::mt19937 random{7};
};

template <class T>
std::vector<T> numbers(std::mt19937& random, int64_t count, double spread) {
  std::vector<T> values(static_cast<size_t>(count));
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> powers(-spread, spread);
  for (T& v : values) v = static_cast<T>(normal(random) * std::pow(10, powers(random)));
  return values;
}

TEST_P(Kernels, DistancesAreCanonical) {
  for (int64_t d = 1; d <= 70; ++d) {
    for (const double spread : {0.0, 15.0}) {
      // Exact-size vectors, so that reading past the end is seen by the address sanitizer.
      const auto x = numbers<float>(random, d, spread);
      const auto c = numbers<float>(random, d, spread);
      EXPECT_EQ(kernels().distance_f32(x.data(), c.data(), d), canonical_distance(x.data(), c.data(), d));
      const auto x64 = numbers<double>(random, d, 10 * spread);
      const auto c64 = numbers<double>(random, d, 10 * spread);
      EXPECT_EQ(kernels().distance_f64(x64.data(), c64.data(), d), canonical_distance(x64.data(), c64.data(), d));
    }
  }
}

template <class T>
void check_distances(void (*distances)(const LabelledRows<T>&, double*), int64_t d, int64_t count,
                     std::mt19937& random) {
  constexpr int64_t kClusters = 11;
  const auto x = numbers<T>(random, count * d, 8);
  const auto c = numbers<T>(random, kClusters * d, 8);
  std::vector<uint32_t> labels(static_cast<size_t>(count));
  for (uint32_t& label : labels) label = static_cast<uint32_t>(random() % kClusters);
  std::vector<double> d2(labels.size());
  distances({x.data(), count, d, c.data(), kClusters, labels.data()}, d2.data());
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(i);
    EXPECT_EQ(d2[row], canonical_distance(x.data() + i * d, c.data() + labels[row] * d, d)) << d << " " << i;
  }
}

TEST_P(Kernels, DistancesOfManyRowsAreCanonical) {
  for (int64_t d = 1; d <= 40; ++d) {
    for (const int64_t count : {1, 7, 8, 19}) {
      check_distances<float>(kernels().distances_f32, d, count, random);
      check_distances<double>(kernels().distances_f64, d, count, random);
    }
  }
}

TEST_P(Kernels, DistanceTermsAreThoseOfAddTermInBothFormats) {
  for (const int64_t count : {1, 3, 8, 21, 100}) {
    for (const bool weighted : {false, true}) {
      auto d2 = numbers<double>(random, count, 4);
      auto weights = numbers<double>(random, count, 2);
      double farthest = 0;
      double largest = 0;
      for (size_t i = 0; i < d2.size(); ++i) {
        d2[i] = std::fabs(d2[i]);
        weights[i] = random() % 4 == 0 ? 0 : std::fabs(weights[i]);
        if (!weighted || weights[i] > 0) farthest = std::max(farthest, d2[i]);
        largest = std::max(largest, weighted ? weights[i] * d2[i] : d2[i]);
      }
      for (const int bits : {30, 50}) {
        const SumFormat first = SumFormat::make(bits, kDistanceLimbs, largest);
        const SumFormat second = SumFormat::make(bits, kDistanceLimbs, 2 * largest);
        uint64_t limbs[6] = {};
        double found = 0;
        kernels().add_distances({d2.data(), weighted ? weights.data() : nullptr, count,
                                 std::ldexp(1.0, first.shift - 2 * bits), std::ldexp(1.0, bits), limbs, &found});
        EXPECT_EQ(found, farthest);
        int64_t expected[6] = {}, sums[6];
        for (size_t i = 0; i < d2.size(); ++i) {
          add_term((weighted ? weights[i] : 1) * d2[i], first, 1, expected);
          add_term((weighted ? weights[i] : 1) * d2[i], second, 1, expected + 3);
        }
        for (int g = 0; g < 6; ++g) sums[g] = static_cast<int64_t>(limbs[g]);
        EXPECT_EQ(recombine(sums, first), recombine(expected, first)) << count << " " << bits;
        EXPECT_EQ(recombine(sums + 3, second), recombine(expected + 3, second)) << count << " " << bits;
      }
    }
  }
}

TEST_P(Kernels, SeedThresholds) {
  for (const int64_t count : {1, 3, 8, 21, 64}) {
    auto norms = numbers<float>(random, count, 4);
    auto least = numbers<double>(random, count, 4);
    for (float& norm : norms) norm = std::fabs(norm);
    for (double& d2 : least) d2 = std::fabs(d2);
    std::vector<float> found(static_cast<size_t>(count) + 1, 7.0f);
    kernels().seed_thresholds({norms.data(), least.data(), count, 0.25, 1e-9, found.data()});
    for (size_t i = 0; i < norms.size(); ++i) {
      const double square = static_cast<double>(norms[i]) * static_cast<double>(norms[i]);
      const double t = (square * (1 - 0x1p-18) - least[i] * 0.0625 * (1 + 0x1p-20)) * 0.5 - 1e-9;
      EXPECT_EQ(found[i], static_cast<float>(t - std::fabs(t) * 0x1p-20));
    }
    EXPECT_EQ(found.back(), 7.0f) << "nothing is written behind the rows";
  }
}

TEST_P(Kernels, LeastDistancesFallAndTheirTermsWithThem) {
  for (const int64_t count : {1, 3, 8, 21, 64}) {
    for (const int bits : {31, 43, 50}) {
      for (const int weights : {0, 1, 2}) {  // none, some, counts
        auto least = numbers<double>(random, count, 4), d2 = numbers<double>(random, count, 4);
        std::vector<double> weight(least.size());
        double largest = 0;
        for (size_t i = 0; i < least.size(); ++i) {
          least[i] = i % 5 == 3 ? 0 : std::fabs(least[i]);
          d2[i] = i % 7 == 2 ? least[i] : i % 4 == 1 ? std::numeric_limits<double>::infinity() : std::fabs(d2[i]);
          weight[i] = weights == 2 ? static_cast<double>(i % 6) : 0.25 * static_cast<double>(i % 6);
          largest = std::max(largest, least[i]);
        }
        const SumFormat format = SumFormat::make(bits, 3, 2 * largest);
        int64_t expected[3] = {}, limbs[3] = {};
        uint64_t falls = 0;
        for (size_t i = 0; i < least.size(); ++i) {
          if (!(d2[i] < least[i])) continue;
          falls |= uint64_t{1} << i;
          const double factor = weights == 1 ? weight[i] : 1;
          const int times = weights == 2 ? static_cast<int>(weight[i]) : 1;
          add_term(factor * least[i], format, -times, expected);
          add_term(factor * d2[i], format, times, expected);
        }
        const auto before = least;
        for (const bool keep : {false, true}) {
          std::fill_n(limbs, 3, 0);
          EXPECT_EQ(kernels().lower_least({d2.data(), least.data(), weights == 0 ? nullptr : weight.data(),
                                           weights == 2, count, keep, std::ldexp(1.0, format.shift - 2 * bits),
                                           std::ldexp(1.0, bits), limbs}),
                    falls);
          EXPECT_EQ(recombine(limbs, format), recombine(expected, format)) << count << " " << bits << " " << weights;
          for (size_t i = 0; i < least.size(); ++i) {
            EXPECT_EQ(least[i], keep ? std::min(before[i], d2[i]) : before[i]);
          }
        }
      }
    }
  }
}

TEST_P(Kernels, TermsAreThoseOfAddTerm) {
  for (const int64_t d : {1, 3, 7, 8, 9, 31, 54}) {
    for (const int limbs : {1, 2, 3, 4}) {
      for (const int bits : {30, 43, 50}) {
        const auto x = numbers<double>(random, d, 3);
        std::vector<SumFormat> formats;
        std::vector<double> top;
        for (const double v : x) {
          formats.push_back(SumFormat::make(bits, limbs, 3 * std::fabs(v) * 1.7));
          top.push_back(std::ldexp(1.0, formats.back().shift - (limbs - 1) * bits));
        }
        std::vector<int64_t> to(static_cast<size_t>(limbs * d)), from(to.size());
        const TermRow row{d, limbs, 0.3, top.data(), std::ldexp(1.0, bits), to.data(), from.data()};
        kernels().add_terms_f64(x.data(), row);
        const TermRow again{d, limbs, 0.3, top.data(), std::ldexp(1.0, bits), to.data(), nullptr};
        kernels().add_terms_f64(x.data(), again);
        for (int64_t j = 0; j < d; ++j) {
          int64_t plain[4] = {};
          add_term(0.3 * x[static_cast<size_t>(j)], formats[static_cast<size_t>(j)], 1, plain);
          const WideInt term = recombine(plain, formats[static_cast<size_t>(j)]);
          EXPECT_EQ(recombine(to.data() + j, formats[static_cast<size_t>(j)], d), term.times(2));
          EXPECT_EQ(recombine(from.data() + j, formats[static_cast<size_t>(j)], d), -term);
        }
      }
    }
  }
}

// Sums of rows that wander between clusters against plain integers; the last row finds its cluster full.
template <class T>
void check_moves(const CpuKernels& kernels, int64_t (*move)(const T*, const MovedRows&, const UnitSums&), int64_t d,
                 int span, std::mt19937& random) {
  constexpr int64_t kRows = 100;
  constexpr uint32_t kClusters = 3;
  const int64_t stride = (d + 7) / 8 * 8;
  std::uniform_int_distribution<int64_t> any(-(int64_t{1} << span) + 1, (int64_t{1} << span) - 1);
  std::vector<T> x(static_cast<size_t>(kRows * d));
  for (T& v : x)
    v = static_cast<T>(std::ldexp(static_cast<double>(any(random) >> (sizeof(T) == 4 ? span - 23 : 3)), 7));
  std::vector<double> unit_values(static_cast<size_t>(stride));
  std::fill_n(unit_values.begin(), d, std::ldexp(1.0, sizeof(T) == 4 ? span - 30 : -4));
  const auto clusters = static_cast<size_t>(kClusters);
  AlignedBuffer<double> units(unit_values.size());
  std::copy(unit_values.begin(), unit_values.end(), units.data());
  AlignedBuffer<int64_t> sums(clusters * static_cast<size_t>(stride));
  std::fill_n(sums.data(), sums.size(), 0);
  std::vector<int64_t> counts(clusters), expected(sums.size()), expected_counts(clusters), rows;
  std::vector<uint32_t> terms(clusters), from, to;
  for (int64_t i = 0; i < kRows; ++i) {
    rows.push_back(static_cast<int64_t>(random() % kRows));
    from.push_back(static_cast<uint32_t>(random() % kClusters));
    to.push_back((from.back() + 1) % kClusters);
  }
  const UnitSums in{d, stride, units.data(), span < 52, sums.data(), counts.data(), terms.data(), 10000};
  for (const bool leaves : {false, true}) {
    const MovedRows moved{rows.data(), leaves ? from.data() : nullptr, to.data(), kRows};
    ASSERT_EQ(move(x.data(), moved, in), kRows);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (int64_t j = 0; j < d; ++j) {
        const double value = static_cast<double>(x[static_cast<size_t>(rows[i] * d + j)]);
        const auto term = static_cast<int64_t>(value * units[static_cast<size_t>(j)]);
        expected[static_cast<size_t>(to[i] * stride + j)] += term;
        if (leaves) expected[static_cast<size_t>(from[i] * stride + j)] -= term;
      }
      ++expected_counts[to[i]];
      if (leaves) --expected_counts[from[i]];
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(sums[i], expected[i]) << kernels.name << d << " " << span;
  EXPECT_EQ(counts, expected_counts);
  EXPECT_EQ(terms[0] + terms[1] + terms[2], 3 * kRows);
  terms = {5, 9997, 5};
  const uint32_t pair[] = {1, 1, 1, 1, 1}, other[] = {0, 0, 2, 0, 0};
  EXPECT_EQ(move(x.data(), {rows.data(), other, pair, 5}, in), 3) << "a full cluster takes no row";
  EXPECT_EQ(move(x.data(), {rows.data(), pair, other, 5}, in), 0) << "and gives none";
}

TEST_P(Kernels, MovedRowsAreExactIntegers) {
  for (const int64_t d : {1, 2, 3, 4, 5, 7, 8, 9, 16, 41, 54}) {
    for (const int span : {30, 51, 52, 56}) {
      check_moves<float>(kernels(), kernels().move_rows_f32, d, span, random);
      check_moves<double>(kernels(), kernels().move_rows_f64, d, span, random);
    }
  }
}

TEST_P(Kernels, PackingCentresTransposesAndBoundsNorms) {
  const int64_t p = kernels().screens[0].tile_rows;
  for (const int64_t d : {1, 5, 33}) {
    for (const int64_t rows : {int64_t{1}, p - 1, p}) {
      const auto x = numbers<float>(random, rows * d, 2);
      const auto centre = numbers<double>(random, d, 2);
      std::vector<float> tile(static_cast<size_t>(p * d), -1), norms(static_cast<size_t>(p), -1);
      kernels().pack_f32(x.data(), {rows, d, centre.data(), 0x1p10}, tile.data(), norms.data());
      for (int64_t i = 0; i < p; ++i) {
        double square = 0;
        for (int64_t j = 0; j < d; ++j) {
          const double exact =
              i < rows
                  ? (static_cast<double>(x[static_cast<size_t>(i * d + j)]) - centre[static_cast<size_t>(j)]) * 0x1p10
                  : 0;
          const float value = tile[static_cast<size_t>(j * p + i)];
          EXPECT_EQ(value, static_cast<float>(exact));
          square += static_cast<double>(value) * value;
        }
        EXPECT_GE(static_cast<double>(norms[static_cast<size_t>(i)]), std::sqrt(square));
        EXPECT_LE(static_cast<double>(norms[static_cast<size_t>(i)]), std::sqrt(square) * (1 + 0x1p-18));
      }
    }
  }
}

template <class T>
void expect_canonical_residuals(const CpuKernels& kernels, const std::vector<T>& x, const std::vector<T>& models,
                                int64_t d) {
  const int64_t rows = static_cast<int64_t>(x.size()) / d, k = static_cast<int64_t>(models.size()) / d;
  std::vector<uint32_t> labels(static_cast<size_t>(rows));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint32_t>(i % static_cast<size_t>(k));
  std::vector<double> found(labels.size());
  std::vector<double> of_all(static_cast<size_t>(rows * k));
  const LabelledRows<T> task{x.data(), rows, d, models.data(), k, labels.data()};
  if constexpr (std::is_same_v<T, double>) {
    kernels.residuals_f64(task, found.data());
    kernels.all_residuals_f64(task, of_all.data());
  } else {
    kernels.residuals_f32(task, found.data());
    kernels.all_residuals_f32(task, of_all.data());
  }
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const double expected = linear_model().rows<T>().distance(x.data() + i * d, models.data() + j * d, d);
      EXPECT_EQ(of_all[static_cast<size_t>(j * rows + i)], expected) << d;
      if (labels[static_cast<size_t>(i)] == j) {
        EXPECT_EQ(found[static_cast<size_t>(i)], expected) << d;
      }
    }
  }
}

// One model or several, in rows for which columns or rows are lanes; the largest squares are cut off.
TEST_P(Kernels, ResidualsAreCanonical) {
  for (const int64_t d : {2, 3, 5, 9, 10, 17, 24, 25, 40}) {
    for (const int64_t rows : {1, 7, 8, 33}) {
      for (const int64_t k : {1, 3}) {
        expect_canonical_residuals(kernels(), numbers<float>(random, rows * d, 3), numbers<float>(random, k * d, 3), d);
        for (const double spread : {3.0, 150.0}) {
          expect_canonical_residuals(kernels(), numbers<double>(random, rows * d, spread),
                                     numbers<double>(random, k * d, spread), d);
        }
      }
    }
  }
}

// Both layouts of the words of a row: all of them P apart, or 16 apart in blocks of sixteen.
TEST_P(Kernels, RowsThatArePackedTogetherAreThoseThatAreRoundedAlone) {
  constexpr int kRows = 32;
  for (const int64_t d : {1, 2, 15, 16, 33, 100}) {
    for (const int run : {kRows, 16}) {
      for (const int64_t rows : {1, 9, 32}) {
        const auto x = numbers<double>(random, rows * d, 2);
        const auto centre = numbers<double>(random, d, 2);
        const PackTask task{rows, d, centre.data(), 0x1p3};
        const int64_t lines = run == kRows ? (d + 1) / 2 : 16;
        std::vector<uint32_t> words(static_cast<size_t>(((d + 1) / 2 + lines - 1) / lines * lines * kRows));
        std::vector<double> squares(kRows), rests(kRows);
        const int64_t packed =
            kernels().pack_pairs_f64(x.data(), task, {words.data(), kRows, run, lines, squares.data(), rests.data()});
        EXPECT_LE(rows - packed, packed == 0 ? rows : 7);
        std::vector<uint16_t> high(static_cast<size_t>(d + 1)), low(static_cast<size_t>(d + 1));
        for (int64_t i = 0; i < packed; ++i) {
          RoundedRow alone{false, high.data(), low.data(), 0, 0, 0};
          kernels().round_f64(x.data() + i * d, task, alone);
          EXPECT_NEAR(squares[static_cast<size_t>(i)], alone.square, 1e-12 * alone.square);
          EXPECT_NEAR(rests[static_cast<size_t>(i)], alone.rest_square, 1e-12 * alone.rest_square);
          for (int64_t j = 0; j < 2 * ((d + 1) / 2); ++j) {
            const int64_t w = j / 2;
            const uint32_t word = words[static_cast<size_t>(w / lines * kRows * lines + i / run * run * lines +
                                                            w % lines * run + i % run)];
            EXPECT_EQ(word >> (16 * (j % 2)) & 0xffff, j < d ? high[static_cast<size_t>(j)] : 0) << d << ", " << j;
          }
        }
      }
    }
  }
}

TEST_P(Kernels, RescoreIsTheProductOfARowAndColumnsInBlocks) {
  const int64_t width = kernels().screens[0].block_columns;
  for (const int64_t d : {1, 2, 17, 64}) {
    for (const int64_t columns : {width, 3 * width, int64_t{32}}) {
      const auto x = numbers<float>(random, d, 0);
      const auto offsets = numbers<float>(random, columns, 0);
      const auto blocks = numbers<float>(random, columns * d, 0);
      std::vector<float> scores(static_cast<size_t>(columns));
      kernels().rescore({x.data(), blocks.data(), offsets.data(), d, columns, scores.data()});
      for (int64_t c = 0; c < columns; ++c) {
        double expected = offsets[static_cast<size_t>(c)];
        for (int64_t j = 0; j < d; ++j) {
          expected += static_cast<double>(x[static_cast<size_t>(j)]) *
                      blocks[static_cast<size_t>(c / width * width * d + j * width + c % width)];
        }
        EXPECT_NEAR(scores[static_cast<size_t>(c)], expected, 1e-4);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(instruction_sets().begin(), instruction_sets().end()),
                         [](const auto& set) { return std::string(set.param.name); });

}  // namespace
}  // namespace manymeans
