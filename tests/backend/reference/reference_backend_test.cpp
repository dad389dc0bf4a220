// The oracle itself, against exact rational arithmetic: labels, prototypes, inertia and seeding from the definitions
// of docs/developer/contract.md with GMP in the place of every sum.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "conformance/cases.h"
#include "core/data_type.h"
#include "core/distance.h"
#include "core/exact_numbers.h"
#include "data/gather.h"
#include "prototype/prototype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace manymeans::test {
namespace {

std::vector<double> wide_rows(const PointsView& points) {
  std::vector<double> values(static_cast<size_t>(points.n * points.d));
  widen(points.data, points.type, 0, points.n * points.d, values.data());
  return values;
}

// A case uploaded to the reference, its first model labelled once.
struct Oracle {
  explicit Oracle(const Case& made)
      : pool(1),
        input(prepare_input(made.points(), made.weights, pool)),
        backend(make_backend("reference", {})),
        upload(backend->upload(input)),
        session(upload->session(made.shape.k, 0)),
        seeding(upload->seeding(made.shape.k, pool)),
        x(wide_rows(made.points())) {
    PassModel model{0, &made.prototypes[0], {}};
    EXPECT_EQ(session->advance({&model, 1}, 5), 1);
    pass = model.result;
  }
  const double* row(int64_t i) const { return x.data() + i * input.points.d; }

  ThreadPool pool;
  Input input;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Upload> upload;
  std::unique_ptr<Session> session;
  std::unique_ptr<Seeding> seeding;
  std::vector<double> x;
  PassResult pass;
};

std::vector<Case> small_hostile_cases() {
  const std::vector<Shape> shapes = {{1, 1, {1}},   {37, 1, {5}},  {60, 2, {60}},
                                     {101, 3, {1}}, {150, 9, {7}}, {43, 33, {4}}};
  std::vector<Case> cases;
  uint64_t seed = 300;
  for (int family = 0; family < kFamilies; ++family) {
    for (const Shape& shape : shapes) {
      for (const Weighting weighting : {Weighting::kNone, Weighting::kRanges, Weighting::kZeros}) {
        for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
          cases.push_back(make_case(static_cast<Family>(family), type, weighting, shape, seed++));
        }
      }
    }
  }
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16, DataType::kUInt8, DataType::kInt8}) {
    cases.push_back(make_case(Family::kSpread, type, Weighting::kRanges, {90, 4, {6}}, seed++));
  }
  return cases;
}

TEST(ReferenceBackend, LabelsAreTheFirstNearest) {
  for (const Case& made : small_hostile_cases()) {
    Oracle run(made);
    const std::vector<double> c = wide_rows(made.prototypes[0].view());
    const int64_t d = made.shape.d;
    LabelSum sum = 0;
    for (int64_t i = 0; i < made.shape.n; ++i) {
      const uint32_t label = run.session->labels(0)[i];
      const double own = canonical_distance(run.row(i), c.data() + label * d, d);
      for (int64_t k = 0; k < made.shape.k[0]; ++k) {
        const double other = canonical_distance(run.row(i), c.data() + k * d, d);
        ASSERT_TRUE(k < label ? own < other : own <= other) << made.name << " row " << i << " k " << k;
      }
      sum += label_term(i, label);
    }
    EXPECT_EQ(run.pass.changed, made.shape.n);
    EXPECT_EQ(run.pass.hash_delta, LabelSum{0});
    EXPECT_EQ(run.pass.resolved, made.shape.n);
    EXPECT_EQ(run.pass.candidates, made.shape.n * made.shape.k[0]);
    // A second pass with the prototypes in reverse: what changed must be what the hash says.
    std::vector<int64_t> reversed(static_cast<size_t>(made.shape.k[0]));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    const Matrix prototypes = gather_rows(made.prototypes[0].view(), reversed);
    const Labels before = run.session->labels(0);
    PassModel model{0, &prototypes, {}};
    run.session->advance({&model, 1}, 1);
    int64_t changed = 0;
    for (int64_t i = 0; i < made.shape.n; ++i) changed += run.session->labels(0)[i] != before[i];
    EXPECT_EQ(model.result.changed, changed);
    EXPECT_EQ(model.result.hash_delta + sum, label_sum(run.session->labels(0)));
  }
}

// What the sums of one cluster should be, and how far a prototype may be from the exact mean.
struct ExactCluster {
  mpz_class q = 0;
  int64_t rows = 0;
  std::vector<mpq_class> sums;
};

std::vector<ExactCluster> exact_clusters(const Oracle& run, int64_t k) {
  std::vector<ExactCluster> clusters(static_cast<size_t>(k));
  const int64_t d = run.input.points.d;
  for (ExactCluster& cluster : clusters) cluster.sums.assign(static_cast<size_t>(d), 0);
  for (int64_t i = 0; i < run.input.points.n; ++i) {
    ExactCluster& cluster = clusters[run.session->labels(0)[i]];
    ++cluster.rows;
    cluster.q += nearest_integer(scaled(exact(run.input.weight(i)), run.input.weight_shift));
    for (int64_t j = 0; j < d; ++j) {
      cluster.sums[static_cast<size_t>(j)] += exact(run.input.weight(i) * run.row(i)[j]);  // v = RN(w' * x)
    }
  }
  return clusters;
}

// Distance from |value| to the next larger T.
double ulp(double value, DataType type) {
  const int digits = type == DataType::kFloat64 ? 53 : 24;
  const int lowest = type == DataType::kFloat64 ? -1074 : -149;
  return std::ldexp(1.0, std::max(exponent(value) - digits, lowest));
}

// 1 ulp; 2 where RN and fl_T both round at binary64; 2^-140 of the column's largest where limbs are capped.
mpq_class allowed_error(const Oracle& run, const Matrix& prototypes, int64_t k, int64_t j, bool capped) {
  const bool twice = prototypes.type() == DataType::kFloat64;
  mpq_class allowed = exact(ulp(prototypes.at(k, j), prototypes.type())) * (twice ? 2 : 1);
  if (capped) {
    const auto column = static_cast<size_t>(j);
    const double largest = std::max(std::fabs(run.input.minimum[column]), std::fabs(run.input.maximum[column]));
    allowed += scaled(exact(largest), -140);
  }
  return allowed;
}

TEST(ReferenceBackend, PrototypesAreWithinAnUlpOfExactMeans) {
  for (const Case& made : small_hostile_cases()) {
    Oracle run(made);
    const Statistics& statistics = run.session->statistics(0);
    const Matrix prototypes = solve_prototypes(statistics, run.input, made.prototypes[0], run.pool);
    const std::vector<ExactCluster> clusters = exact_clusters(run, made.shape.k[0]);
    const bool capped = run.input.limbs == max_limbs(made.type == DataType::kFloat64);
    for (int64_t k = 0; k < made.shape.k[0]; ++k) {
      const ExactCluster& cluster = clusters[static_cast<size_t>(k)];
      ASSERT_EQ(mpz_class(static_cast<long>(statistics.weights[static_cast<size_t>(k)])), cluster.q) << made.name;
      ASSERT_EQ(statistics.counts[static_cast<size_t>(k)], cluster.rows) << made.name;
      for (int64_t j = 0; j < made.shape.d; ++j) {
        const SumFormat& format = run.input.columns[static_cast<size_t>(j)];
        const mpq_class& sum = cluster.sums[static_cast<size_t>(j)];
        if (!capped) {  // then the sums are exact, bit for bit
          const mpq_class integer = scaled(sum, format.shift);
          ASSERT_EQ(integer.get_den(), 1) << made.name;
          ASSERT_EQ(recombine(statistics.row(k) + j, format, made.shape.d), to_wide(integer.get_num())) << made.name;
        }
        if (cluster.q == 0) {
          ASSERT_EQ(prototypes.at(k, j), made.prototypes[0].at(k, j)) << "an empty cluster keeps its prototype";
          continue;
        }
        const mpq_class mean = sum / scaled(cluster.q, -run.input.weight_shift);
        const mpq_class error = abs(exact(prototypes.at(k, j)) - mean);
        ASSERT_LE(error, allowed_error(run, prototypes, k, j, capped))
            << made.name << " k " << k << " j " << j << " found " << prototypes.at(k, j) << " exact " << mean.get_d();
        ASSERT_FALSE(prototypes.at(k, j) == 0 && std::signbit(prototypes.at(k, j))) << made.name;
      }
    }
  }
}

TEST(ReferenceBackend, InertiaIsExactToTwelveDigits) {
  for (const Case& made : small_hostile_cases()) {
    Oracle run(made);
    const Matrix& prototypes = made.prototypes[0];
    const ModelPrototypes model{0, &prototypes};
    const InertiaSum sum = run.session->rows().inertias({&model, 1})[0];
    const double found = std::ldexp(rounded_sum(sum.limbs.data(), sum.format), -sum.format.shift);
    mpq_class expected = 0;
    const std::vector<double> d2 = run.session->rows().distances(0, prototypes);
    for (int64_t i = 0; i < made.shape.n; ++i) {
      mpq_class distance = 0;
      for (int64_t j = 0; j < made.shape.d; ++j) {
        const mpq_class t = exact(run.row(i)[j]) - exact(prototypes.at(run.session->labels(0)[i], j));
        distance += t * t;
      }
      ASSERT_LE(abs(exact(d2[static_cast<size_t>(i)]) - distance), distance * mpq_class(1e-13)) << made.name;
      expected += exact(run.input.weight(i)) * distance;
    }
    EXPECT_LE(abs(exact(found) - expected), expected * mpq_class(1e-12)) << made.name;
  }
}

TEST(ReferenceBackend, FarthestRowsAreInOrderAndMovesKeepTheSums) {
  for (const Case& made : small_hostile_cases()) {
    Oracle run(made);
    const std::vector<double> d2 = run.session->rows().distances(0, made.prototypes[0]);
    const std::vector<DistantRow> rows = run.session->rows().farthest_rows(0, made.prototypes[0], made.shape.n);
    std::vector<bool> listed(static_cast<size_t>(made.shape.n));
    for (size_t i = 0; i < rows.size(); ++i) {
      listed[static_cast<size_t>(rows[i].row)] = true;
      ASSERT_EQ(rows[i].distance, d2[static_cast<size_t>(rows[i].row)]);
      ASSERT_EQ(rows[i].label, run.session->labels(0)[rows[i].row]);
      if (i > 0) {
        ASSERT_TRUE(rows[i - 1].distance > rows[i].distance ||
                    (rows[i - 1].distance == rows[i].distance && rows[i - 1].row < rows[i].row));
      }
    }
    for (int64_t i = 0; i < made.shape.n; ++i) {
      ASSERT_EQ(listed[static_cast<size_t>(i)], run.input.weight(i) > 0 && d2[static_cast<size_t>(i)] > 0) << made.name;
    }
    const auto first = run.session->rows().farthest_rows(0, made.prototypes[0], 2);
    ASSERT_EQ(first.size(), std::min<size_t>(2, rows.size()));
    for (const DistantRow& row : first) {
      const auto to = static_cast<uint32_t>((row.label + 1) % made.shape.k[0]);
      run.session->move_row(0, row.row, to);
      ASSERT_EQ(run.session->labels(0)[row.row], to);
    }
    const std::vector<ExactCluster> clusters = exact_clusters(run, made.shape.k[0]);
    if (run.input.limbs == max_limbs(made.type == DataType::kFloat64)) continue;
    for (int64_t k = 0; k < made.shape.k[0]; ++k) {
      const Statistics& statistics = run.session->statistics(0);
      ASSERT_EQ(statistics.counts[static_cast<size_t>(k)], clusters[static_cast<size_t>(k)].rows);
      for (int64_t j = 0; j < made.shape.d; ++j) {
        const SumFormat& format = run.input.columns[static_cast<size_t>(j)];
        const mpq_class integer = scaled(clusters[static_cast<size_t>(k)].sums[static_cast<size_t>(j)], format.shift);
        ASSERT_EQ(recombine(statistics.row(k) + j, format, made.shape.d), to_wide(integer.get_num())) << made.name;
      }
    }
  }
}

TEST(ReferenceBackend, RelabelKeepsTheChosenClusters) {
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kIntegers, {200, 3, {300}}, 8);
  Oracle run(made);
  std::vector<int64_t> kept;
  std::vector<uint32_t> new_label;
  const Statistics before = run.session->statistics(0);
  const Labels labels_before = run.session->labels(0);
  for (int64_t k = 0; k < 300; ++k) {
    new_label.push_back(static_cast<uint32_t>(kept.size()));
    if (before.counts[static_cast<size_t>(k)] > 0) kept.push_back(k);
  }
  ASSERT_LT(kept.size(), 300u);
  for (uint32_t& label : new_label) label = std::min(label, static_cast<uint32_t>(kept.size() - 1));
  run.session->renumber(0, new_label, kept);
  const Statistics& after = run.session->statistics(0);
  ASSERT_EQ(after.k, static_cast<int64_t>(kept.size()));
  for (size_t to = 0; to < kept.size(); ++to) {
    EXPECT_EQ(after.counts[to], before.counts[static_cast<size_t>(kept[to])]);
    EXPECT_EQ(after.weights[to], before.weights[static_cast<size_t>(kept[to])]);
    EXPECT_TRUE(std::equal(after.row(static_cast<int64_t>(to)), after.row(static_cast<int64_t>(to)) + after.limbs * 3,
                           before.row(kept[to])));
  }
  for (int64_t i = 0; i < 200; ++i) EXPECT_EQ(kept[run.session->labels(0)[i]], labels_before[i]);
  EXPECT_EQ(run.session->labels(0).width(), 1) << "labels take the smallest type for the clusters that are left";
}

// The integers T_i of seeding, by definition.
std::vector<mpz_class> exact_seed_terms(const Oracle& run, const std::vector<double>& least, int shift) {
  std::vector<mpz_class> terms;
  for (size_t i = 0; i < least.size(); ++i) {
    terms.push_back(nearest_integer(scaled(exact(run.input.weight(static_cast<int64_t>(i)) * least[i]), shift)));
  }
  return terms;
}

void lower(const Oracle& run, int64_t centre, std::vector<double>& least) {
  for (size_t i = 0; i < least.size(); ++i) {
    const double d2 = canonical_distance(run.row(static_cast<int64_t>(i)), run.row(centre), run.input.points.d);
    least[i] = std::min(least[i], d2);
  }
}

void check_picks(Oracle& run, const std::vector<mpz_class>& terms, std::mt19937_64& random) {
  const mpz_class total = std::accumulate(terms.begin(), terms.end(), mpz_class(0));
  ASSERT_EQ(run.seeding->total(0), to_wide(total));
  const uint64_t key = random();
  std::vector<int64_t> expected_sample;
  for (size_t i = 0; i < terms.size(); ++i) {
    const mpz_class u = static_cast<unsigned long>(random_u64(key, i, 2, Purpose::kOversample));
    if (u * total < ((5 * terms[i]) << 64)) expected_sample.push_back(static_cast<int64_t>(i));
  }
  ASSERT_EQ(run.seeding->sample(0, {key, 2, 5, to_wide(total)}), expected_sample);
  if (total == 0) return;
  for (const uint64_t u : {uint64_t{0}, ~uint64_t{0}, random(), random()}) {
    const mpz_class threshold = (total * static_cast<unsigned long>(u)) >> 64;
    mpz_class prefix = 0;
    int64_t i = -1;
    while (prefix <= threshold) prefix += terms[static_cast<size_t>(++i)];
    const WideInt target = to_wide(threshold);
    ASSERT_EQ(run.seeding->pick(0, {&target, 1}), std::vector<int64_t>{i});
  }
}

TEST(ReferenceBackend, SeedingFollowsExactIntegers) {
  std::mt19937_64 random(41);
  for (const Case& made : small_hostile_cases()) {
    Oracle run(made);
    const auto n = static_cast<uint64_t>(made.shape.n);
    std::vector<double> least(static_cast<size_t>(n), HUGE_VAL);
    int shift = 0;
    for (int step = 0; step < 3; ++step) {
      const auto centre = static_cast<int64_t>(random() % n);
      const Matrix centres = gather_rows(made.points(), {&centre, 1});
      const SeedCentres added{0, &centres};
      std::vector<double> begun;
      if (step == 0) {
        begun = run.seeding->begin({&added, 1});
      } else {
        run.seeding->add({&added, 1});
      }
      lower(run, centre, least);
      ASSERT_TRUE(std::ranges::equal(run.seeding->least(0), least)) << made.name;
      if (step == 0) {
        double largest = 0;
        for (uint64_t i = 0; i < n; ++i) {
          largest = std::max(largest, run.input.weight(static_cast<int64_t>(i)) * least[i]);
        }
        ASSERT_EQ(begun, std::vector<double>{largest}) << made.name;
        run.seeding->fix_scale(0, largest);
        shift = 3 * limb_bits(made.shape.n) - 2 - exponent(largest);
      }
      const std::vector<mpz_class> terms = exact_seed_terms(run, least, shift);
      ASSERT_NO_FATAL_FAILURE(check_picks(run, terms, random)) << made.name;
      const std::vector<int64_t> tried_rows = {static_cast<int64_t>(random() % n), centre};
      const Matrix candidates = gather_rows(made.points(), tried_rows);
      SeedTrial trial{0, &candidates};
      run.seeding->trial({&trial, 1});
      ASSERT_EQ(trial.potentials.size(), 2u);
      for (size_t t = 0; t < 2; ++t) {
        std::vector<double> with = least;
        lower(run, tried_rows[t], with);
        const std::vector<mpz_class> tried = exact_seed_terms(run, with, shift);
        ASSERT_EQ(trial.potentials[t], to_wide(std::accumulate(tried.begin(), tried.end(), mpz_class(0)))) << made.name;
      }
    }
  }
}

TEST(ReferenceBackend, RefusesAlgorithmsItDoesNotHave) {
  BackendOptions options;
  options.algorithm = "matrix";
  EXPECT_THROW(make_backend("reference", options), Error);
}

}  // namespace
}  // namespace manymeans::test
