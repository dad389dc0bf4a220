// The solve in a fixed number of words beside the one in numbers of any length: the same bits, by one thread and by
// several.
#include "prototype/word_solve.h"

#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <barrier>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace manymeans::test {
namespace {

using Numbers = std::vector<double>;

// Rows of d columns, the last of which is the target.
struct Table {
  std::string name;
  int64_t d = 1;
  Numbers values;
  Numbers weights;
  bool narrow = false;  // float32

  int64_t rows() const { return static_cast<int64_t>(values.size()) / d; }
};

struct Member {
  int number;
  int all;
  std::barrier<>& meeting;

  int rank() const { return number; }
  int size() const { return all; }
  void sync() const { meeting.arrive_and_wait(); }
};

// All rows as one cluster.
class Cluster {
 public:
  Cluster(const Table& table, const LinearOptions& options) : floats_(table.values.begin(), table.values.end()) {
    ThreadPool pool(1);
    const PointsView points = table.narrow ? PointsView(floats_.data(), table.rows(), table.d)
                                           : PointsView(table.values.data(), table.rows(), table.d);
    input_ = prepare_input(points, table.weights, pool);
    input_.linear = options;
    use_prototype(input_, linear_model(), pool);
    limbs_.resize(input_.columns.size() * static_cast<size_t>(input_.limbs));
    std::vector<double> terms(input_.columns.size());
    for (int64_t row = 0; row < table.rows(); ++row) {
      if (table.narrow) {
        LinearModel::row_terms(floats_.data() + row * table.d, table.d, input_.weight(row), terms.data());
      } else {
        LinearModel::row_terms(table.values.data() + row * table.d, table.d, input_.weight(row), terms.data());
      }
      add(terms);
      weight_ += input_.integer_weight(row);
    }
  }

  Numbers oracle() const {
    const LinearFit fit = solve_linear(product_sums(sums()), input_.linear);
    Numbers model = fit.coefficients;
    model.push_back(fit.intercept);
    return model;
  }
  ClusterSums sums() const {
    return {limbs_.data(),
            input_.columns.data(),
            static_cast<int64_t>(input_.columns.size()),
            weight_,
            static_cast<double>(weight_),
            input_.weight_shift,
            nullptr,
            input_.linear};
  }
  // By `members` threads; nothing where it does not fit.
  template <int A, int M>
  Numbers by_team(int members) const {
    using Space = WordSolveSpace<A, M>;
    const auto d = static_cast<int>(input_.points.d);
    std::vector<uint64_t> memory(Space::bytes(d) / sizeof(uint64_t), 0xabababababababab);
    Space space;
    space.lay_out(reinterpret_cast<std::byte*>(memory.data()), d);
    const WordSolveTask task{d, input_.columns.data(), input_.weight_shift, input_.linear};
    const WordSolveSums cluster{limbs_.data(), weight_};
    Numbers model(static_cast<size_t>(d));
    std::barrier<> meeting(members);
    std::vector<char> fits(static_cast<size_t>(members));
    const auto work = [&](int rank) {
      const Member member{rank, members, meeting};
      fits[static_cast<size_t>(rank)] = WordSolve(member, task, cluster, space).solve(model.data()) ? 1 : 0;
    };
    std::vector<std::thread> threads;
    for (int rank = 1; rank < members; ++rank) threads.emplace_back(work, rank);
    work(0);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(fits, std::vector<char>(static_cast<size_t>(members), fits[0]));
    return fits[0] != 0 ? model : Numbers();
  }

 private:
  void add(const std::vector<double>& terms) {
    for (size_t t = 0; t < terms.size(); ++t) {
      std::vector<int64_t> limbs(static_cast<size_t>(input_.limbs));
      add_term(terms[t], input_.columns[t], 1, limbs.data());
      for (size_t g = 0; g < limbs.size(); ++g) limbs_[g * terms.size() + t] += limbs[g];
    }
  }

  std::vector<float> floats_;
  Input input_;
  std::vector<int64_t> limbs_;
  int64_t weight_ = 0;
};

std::vector<uint64_t> bits_of_all(const Numbers& numbers) {
  std::vector<uint64_t> bits;
  for (const double number : numbers) bits.push_back(std::bit_cast<uint64_t>(number));
  return bits;
}

class Tables {
 public:
  explicit Tables(uint64_t seed) : random_(seed) {}

  double normal() { return std::normal_distribution<double>()(random_); }
  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }

  // A value of column j of d, whose target follows from the features before it.
  using Column = double (*)(Tables& tables, const Numbers& before, int64_t j);
  Table made(std::string name, Column column) {
    Table table{std::move(name), 1 + below(18), {}, {}, below(2) == 0};
    const int64_t rows = below(4) == 0 ? 1 + below(table.d + 1) : table.d + 2 + below(60);
    const bool weighted = below(2) == 0;
    for (int64_t row = 0; row < rows; ++row) {
      Numbers values;
      for (int64_t j = 0; j + 1 < table.d; ++j) values.push_back(column(*this, values, j));
      double target = 0.1 * normal();
      for (size_t j = 0; j < values.size(); ++j) target += static_cast<double>(j % 3) * values[j];
      if (values.empty()) target = column(*this, values, 0);
      values.push_back(target);
      for (const double value : values) table.values.push_back(table.narrow ? static_cast<float>(value) : value);
      if (weighted) table.weights.push_back(below(9) == 0 ? 0 : std::exp(normal()));
    }
    if (weighted) table.weights[0] = 1;
    return table;
  }
  std::vector<Table> all() {
    return {
        made("plain", [](Tables& t, const Numbers&, int64_t) { return t.normal(); }),
        made("whole", [](Tables& t, const Numbers&, int64_t) { return static_cast<double>(t.below(7)); }),
        made("offset", [](Tables& t, const Numbers&, int64_t) { return 1e5 + t.normal(); }),
        made("times", [](Tables& t, const Numbers&, int64_t) { return 1.7e9 + std::round(3000 * t.normal()); }),
        made("zeros", [](Tables&, const Numbers&, int64_t) { return 0.0; }),
        made("constant", [](Tables& t, const Numbers&, int64_t j) { return j % 2 == 0 ? 3.5 : t.normal(); }),
        made("twice", [](Tables& t, const Numbers& b, int64_t j) { return j % 2 == 0 ? t.normal() : b.back(); }),
        made("nearly",
             [](Tables& t, const Numbers& b, int64_t j) { return j == 0 ? t.normal() : b.back() + 1e-6 * t.normal(); }),
        made("scales", [](Tables& t, const Numbers&,
                          int64_t j) { return std::ldexp(t.normal(), static_cast<int>(j * 11 % 80 - 40)); }),
        made("spread", [](Tables& t, const Numbers&, int64_t) { return std::exp(20 * t.normal()); }),
        made("tiny", [](Tables& t, const Numbers&, int64_t) { return std::ldexp(t.normal(), -120); }),
    };
  }

 private:
  std::mt19937_64 random_;
};

LinearOptions some_options(Tables& tables) {
  constexpr double kRidges[] = {0, 0, 0x1p-20, 1e-9, 1, 3.3, 1e7, 1e40, 1e-300};
  LinearOptions options;
  options.ridge = kRidges[tables.below(std::size(kRidges))];
  options.intercept = tables.below(4) != 0;
  options.largest = tables.below(5) == 0 ? 0.75 : 0x1p500;
  return options;
}

// How often so many words were enough.
struct Fitting {
  int few = 0;
  int many = 0;
};

void check(const Table& table, const LinearOptions& options, Fitting& fitting) {
  const Cluster cluster(table, options);
  const std::vector<uint64_t> expected = bits_of_all(cluster.oracle());
  const Numbers few = cluster.by_team<4, 8>(1);
  const Numbers many = cluster.by_team<7, 14>(1);
  fitting.few += few.empty() ? 0 : 1;
  fitting.many += many.empty() ? 0 : 1;
  if (!few.empty()) {
    EXPECT_EQ(bits_of_all(few), expected);
    EXPECT_FALSE(many.empty());
  }
  if (!many.empty()) {
    EXPECT_EQ(bits_of_all(many), expected);
  }
  Numbers model(static_cast<size_t>(table.d));
  LinearModel::solve(cluster.sums(), model.data());
  EXPECT_EQ(bits_of_all(model), expected);
}

TEST(WordSolve, IsTheSolveInNumbersOfAnyLength) {
  Tables tables(17);
  Fitting fitting;
  int all = 0;
  for (int round = 0; round < 60; ++round) {
    for (const Table& table : tables.all()) {
      SCOPED_TRACE(table.name + " " + std::to_string(round));
      check(table, some_options(tables), fitting);
      ++all;
    }
  }
  // Few refusals, and some of either kind: what fits and what does not are both tried.
  EXPECT_GT(fitting.few, all / 2);
  EXPECT_GT(fitting.many, all * 9 / 10);
  EXPECT_LT(fitting.few, fitting.many);
  EXPECT_LT(fitting.many, all);
}

TEST(WordSolve, HasTheBitsOfOneThreadByATeam) {
  Tables tables(18);
  for (int round = 0; round < 4; ++round) {
    for (const Table& table : tables.all()) {
      SCOPED_TRACE(table.name + " " + std::to_string(round));
      const Cluster cluster(table, some_options(tables));
      for (const int members : {2, 3, 7}) {
        EXPECT_EQ(bits_of_all(cluster.by_team<4, 8>(members)), bits_of_all(cluster.by_team<4, 8>(1))) << members;
      }
    }
  }
}

// Numbers of one word and of several, at every place where rounding may end.
TEST(WordIntegers, RoundAsTheNumbersOfAnyLengthDo) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20000; ++round) {
    WordSum<4> sum;
    Dyadic exact;
    for (int term = 0; term < 3; ++term) {
      const uint64_t value = random() >> random() % 64;
      const uint64_t factor = random() % 3 == 0 ? 1 : random() >> 11;
      const auto shift = static_cast<int>(random() % 128);
      const bool negative = random() % 2 == 0;
      sum.add_product(&value, 1, factor, shift, negative);
      WideInt wide;
      for (int bit = 0; bit < 64; ++bit) {
        if ((value >> bit & 1) != 0) wide.add_shifted(1, bit);
      }
      const Dyadic product = Dyadic(wide, shift) * Dyadic(static_cast<double>(factor));
      exact = negative ? exact - product : exact + product;
    }
    const auto power = static_cast<int>(random() % 400) - 1300;
    Magnitude<4> number;
    number.take(sum, power);
    EXPECT_EQ(number.top() - (number.is_zero() ? 0 : power), exact.exponent());
    for (const int shift : {0, 150, -2000, 1000, 2200, 2400}) {
      EXPECT_EQ(std::bit_cast<uint64_t>(number.rounded(shift)), std::bit_cast<uint64_t>(exact.rounded(power + shift)));
    }
  }
}

}  // namespace
}  // namespace manymeans::test
