// Points and prototypes whose error bounds leave float32, whose thresholds leave binary64, whose values leave what a
// rounded copy holds: no screen may prove a wrong label there, and seeding takes the rows that the reference takes.
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "conformance/variants.h"
#include "core/threads.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace manymeans::test {
namespace {

template <class T>
Case case_of(const std::string& name, const std::vector<T>& x, int64_t d, Matrix prototypes) {
  Case made;
  made.name = name;
  made.shape = {static_cast<int64_t>(x.size()) / d, d, {prototypes.rows()}};
  made.type = sizeof(T) == 8 ? DataType::kFloat64 : DataType::kFloat32;
  made.bytes.resize(x.size() * sizeof(T));
  std::memcpy(made.bytes.data(), x.data(), made.bytes.size());
  made.prototypes.push_back(std::move(prototypes));
  return made;
}

template <class T>
class Maker {
 public:
  Maker(int64_t n, int64_t d, unsigned seed) : d_(d), x(static_cast<size_t>(n * d)), n_(n), random_(seed) {}

  T& at(int64_t i, int64_t j) { return x[static_cast<size_t>(i * d_ + j)]; }
  double normal() { return normal_(random_); }
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }

  // Rows of the points, every third one moved.
  Case with_rows(const std::string& name, int64_t k) {
    Matrix c(k, d_, sizeof(T) == 8 ? DataType::kFloat64 : DataType::kFloat32);
    for (int64_t a = 0; a < k; ++a) {
      const int64_t row = a < k / 2 ? n_ - 1 - below(n_ / 20) : below(n_);
      for (int64_t j = 0; j < d_; ++j) {
        const double factor = a % 3 == 0 ? 1 + 0.01 * normal() : 1;
        c.values<T>()[static_cast<size_t>(a * d_ + j)] = static_cast<T>(at(row, j) * factor) + T{0};
      }
    }
    return case_of(fmt::format("{} d={} k={}", name, d_, k), x, d_, std::move(c));
  }

 private:
  int64_t d_;

 public:
  std::vector<T> x;

 private:
  int64_t n_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

// Nearly all rows hold next to nothing, and the last ones one huge value beside noise: a screen in bytes cuts these
// off, and takes the others for exact.
Case cut_off(int64_t n, int64_t d, int64_t k, double nothing, unsigned seed) {
  Maker<float> maker(n, d, seed);
  for (int64_t i = 0; i < n; ++i) maker.at(i, 1) = static_cast<float>(nothing * static_cast<double>(maker.below(4)));
  for (int64_t i = n - n / 20; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) maker.at(i, j) = static_cast<float>(100 * maker.normal());
    maker.at(i, 0) = static_cast<float>(1e6 * (0.3 + maker.uniform()));
  }
  return maker.with_rows(fmt::format("cut off, {}", nothing), k);
}

// Magnitudes of all sizes within a row, a few rows far beyond the others.
template <class T>
Case all_sizes(int64_t n, int64_t d, int64_t k, int most, unsigned seed) {
  Maker<T> maker(n, d, seed);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) {
      const auto exponent = static_cast<int>(maker.below(2 * most)) - most - (i % 20 == 19 ? 0 : most / 2);
      maker.at(i, j) = static_cast<T>(std::ldexp(maker.normal(), exponent));
    }
  }
  return maker.with_rows("all sizes", k);
}

// A spread of which the square, or that of the power of two that undoes it, leaves binary64.
Case tiny_spread(int64_t n, int64_t d, int64_t k, int exponent, unsigned seed) {
  Maker<double> maker(n, d, seed);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) {
      maker.at(i, j) = std::ldexp(maker.normal(), exponent - static_cast<int>(maker.below(40)));
    }
  }
  return maker.with_rows(fmt::format("tiny spread 2^{}", exponent), k);
}

// One row of which the last byte is cut off, with prototypes in four spans: that of the nearest one has a bound of
// 2^129, for its rounded copy is half a unit off in every column, and rows that are exact make that count 2^20 times.
// The others' bounds are small enough that one of them would be proved.
Case overflowing_bound() {
  constexpr int64_t kColumns = 32768, kRows = 64, kPrototypes = 24;
  const float largest = 1.2575F;
  const auto unit = static_cast<float>(static_cast<double>(largest) * 1.5 / 32639);
  const double beyond = static_cast<double>(unit) * 32639 * 1.055;
  std::vector<float> x(static_cast<size_t>(kRows * kColumns));
  for (int64_t i = 0; i < kRows; ++i) {
    const float sign = i % 2 == 0 ? 1.0F : -1.0F;
    const float value = i % 7 < 3 ? 0 : (i % 7 < 6 ? 21759 * unit : largest);
    x[static_cast<size_t>(i * kColumns)] = sign * (i < 2 ? static_cast<float>(beyond) : value);
  }
  Matrix c(kPrototypes, kColumns, DataType::kFloat32);
  const auto put = [&](int64_t k, int64_t j, double value) {
    c.values<float>()[static_cast<size_t>(k * kColumns + j)] = static_cast<float>(value);
  };
  for (int64_t j = 0; j < kColumns; ++j) put(0, j, 0.5 * 1.99 * beyond / 32639);
  put(0, 0, beyond);
  put(1, 0, 1.99 * beyond);
  put(2, 1, 0.999 * beyond);
  put(3, 0, -0.1 * beyond);
  put(4, 0, 0.04 * beyond);
  for (int64_t k = 5; k < kPrototypes; ++k) put(k, 2, 1e-6 * beyond * static_cast<double>(k));
  return case_of("overflowing bound", x, kColumns, std::move(c));
}

class HostileScreen : public testing::Test {
 protected:
  void SetUp() override {
    if (targets_.empty()) GTEST_SKIP() << "there is no backend with a screen";
  }

  void compare_labels(const Case& made) {
    const Labelling expected = label(*reference_, made);
    for (const Target& target : targets_) {
      for (const char* algorithm : {"matrix", "auto"}) {
        const Labelling found = label_again(*target.make(algorithm, 2), made);
        int64_t wrong = 0;
        for (size_t i = 0; i < found.labels.size(); ++i) wrong += found.labels[i] != expected.labels[i];
        EXPECT_EQ(wrong, 0) << made.name << " on " << target.name() << " " << algorithm << ", "
                            << found.result.certified << " certified";
      }
    }
  }

  void compare_traces(const Case& made) {
    const Trace expected = trace_of(*reference_, made);
    for (const Target& target : targets_) {
      for (const char* algorithm : {"matrix", "bounds", "auto"}) {
        if (!takes(target, algorithm, made.shape.d)) continue;
        const Trace found = trace_of(*target.make(algorithm, 2), made);
        EXPECT_EQ(first_difference(expected, found), "") << made.name << " on " << target.name() << " " << algorithm;
      }
    }
  }

  std::vector<Target> targets_ = targets();
  std::unique_ptr<Backend> reference_ = make_backend("reference", {});
};

TEST_F(HostileScreen, ABoundBeyondFloat32ProvesNothing) {
  compare_labels(overflowing_bound());
}

TEST_F(HostileScreen, ManyColumnsGetTheirCanonicalLabels) {
  unsigned seed = 0;
  for (const int64_t d : {1000, 4096, 16384}) {
    const int64_t n = d == 16384 ? 60 : 200;
    for (const double nothing : {0.0, 0x1p-70, 0x1p-60}) compare_labels(cut_off(n, d, 33, nothing, ++seed));
    compare_labels(all_sizes<float>(n, d, 33, 50, ++seed));
    compare_labels(all_sizes<double>(n, d, 33, 200, ++seed));
  }
}

TEST_F(HostileScreen, EverythingIsThatOfTheReference) {
  unsigned seed = 100;
  for (const int64_t d : {2, 64, 300}) {
    for (const int64_t k : {7, 40}) {
      for (const double nothing : {0.0, 0x1p-70, 0x1p-40}) compare_traces(cut_off(400, d, k, nothing, ++seed));
      compare_traces(all_sizes<float>(200, d, k, 50, ++seed));
      compare_traces(all_sizes<double>(200, d, k, 400, ++seed));
      for (const int exponent : {-440, -460, -500, -512, -530, -1000}) {
        compare_traces(tiny_spread(100, d, k, exponent, ++seed));
      }
    }
  }
}

}  // namespace
}  // namespace manymeans::test
