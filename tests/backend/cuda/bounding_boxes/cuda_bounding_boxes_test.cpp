// Boxes of neighbouring rows: which prototypes fall out, on the host; the order of the points and whole sessions on a
// device. The conformance tests force them on small cases (algorithm kdtree).
#include "backend/cuda/bounding_boxes/box_test.h"
#include "backend/cuda/bounding_boxes/boxed_points.h"
#include "backend/cuda/cuda_present.h"
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "core/data_type.h"
#include "core/distance.h"
#include "core/exact_numbers.h"
#include "core/fixed_point.h"
#include "core/threads.h"
#include "data/input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::Box;
using cuda::BoxBound;

template <int D>
bool falls_out(const BoxBound& bound, const Box<D>& box, const double (&near)[D], const double (&c)[D]) {
  cuda::NearPrototype<D> compared;
  std::copy_n(near, D, compared.c);
  compared.compare_by(bound, box, cuda::square_to_middle<D>(box, near));
  return cuda::falls_out<D>(bound, box, compared, c);
}

template <int D>
struct Pair {
  double near[D], other[D];
};

// Whether some corner, or the middle, is not nearer to `near`, by canonical distances.
template <int D>
bool some_point_is_not_nearer(const Box<D>& box, const Pair<D>& pair) {
  for (int corner = 0; corner <= 1 << D; ++corner) {
    double x[D];
    for (int j = 0; j < D; ++j) {
      const double half = corner == 1 << D ? 0 : box.half[j];
      x[j] = (corner >> j & 1) != 0 ? box.middle[j] + half : box.middle[j] - half;
    }
    if (canonical_distance(x, pair.near, D) >= canonical_distance(x, pair.other, D)) return true;
  }
  return false;
}

struct Count {
  int64_t out = 0, wrong = 0;
};

// Boxes and pairs of prototypes as `make` draws them, column by column.
template <int D, class Make>
Count count_out(std::mt19937_64& random, const BoxBound& bound, const Make& make) {
  Count count;
  for (int repeat = 0; repeat < 20000; ++repeat) {
    Box<D> box;
    Pair<D> pair;
    double squares = 0;
    for (int j = 0; j < D; ++j) {
      make(random, repeat, j, box, pair);
      squares += box.half[j] * box.half[j];
    }
    box.half_square = squares * (1 + 0x1p-40);
    if (!falls_out<D>(bound, box, pair.near, pair.other)) continue;
    ++count.out;
    count.wrong += some_point_is_not_nearer<D>(box, pair) ? 1 : 0;
  }
  return count;
}

// The prototypes mirror each other about the corner of the box that reaches out to the second, but for a few units in
// the last place.
template <int D>
Count mirrored(std::mt19937_64& random, const BoxBound& bound) {
  return count_out<D>(random, bound, [](std::mt19937_64& bits, int repeat, int j, Box<D>& box, Pair<D>& pair) {
    box.middle[j] = random_double(bits, 0, 3);
    box.half[j] = repeat % 2 == 0 ? 0 : std::ldexp(static_cast<double>(bits() % 8), -6);
    const double away = random_double(bits, -2, 1);
    const double corner = away > 0 ? box.middle[j] + box.half[j] : box.middle[j] - box.half[j];
    pair.other[j] = corner + away;
    pair.near[j] = corner - away;
    for (uint64_t ulps = bits() % 3; ulps > 0; --ulps) pair.near[j] = std::nextafter(pair.near[j], corner);
  });
}

// Any box and any two prototypes.
template <int D>
Count anywhere(std::mt19937_64& random, const BoxBound& bound) {
  return count_out<D>(random, bound, [](std::mt19937_64& bits, int, int j, Box<D>& box, Pair<D>& pair) {
    box.middle[j] = random_double(bits, -3, 3);
    box.half[j] = std::abs(random_double(bits, -8, 0));
    pair.near[j] = random_double(bits, -3, 3);
    pair.other[j] = random_double(bits, -3, 3);
  });
}

template <int D>
void expect_room_for_rounding() {
  std::mt19937_64 random(11);
  const BoxBound bound = BoxBound::make(D, 1);
  const Count with = mirrored<D>(random, bound);
  EXPECT_EQ(with.wrong, 0) << D;
  // Without the part that covers rounding the same cases go wrong: they do reach it.
  const Count without = mirrored<D>(random, {0, 2, 0, 0, 0});
  EXPECT_GT(without.wrong, 0) << D;
  EXPECT_GT(without.out, with.out) << D;
  const Count all = anywhere<D>(random, bound);
  EXPECT_EQ(all.wrong, 0) << D;
  EXPECT_GT(all.out, 4000) << D;
  EXPECT_GT(anywhere<D>(random, BoxBound::make(D, 0.25)).wrong, 0) << D;
}

TEST(CudaBoundingBoxTest, LeavesRoomForRounding) {
  expect_room_for_rounding<1>();
  expect_room_for_rounding<2>();
  expect_room_for_rounding<3>();
  expect_room_for_rounding<4>();
}

TEST(CudaBoundingBoxTest, TheNearestAndWhatIsNoNumberStay) {
  const BoxBound bound = BoxBound::make(2, 1);
  const Box<2> box{{1, 2}, {0.5, 0.5}, 0.5};
  EXPECT_FALSE(falls_out<2>(bound, box, {1, 3}, {1, 3}));
  EXPECT_FALSE(falls_out<2>(bound, box, {1, 3}, {NAN, 9}));
  EXPECT_TRUE(falls_out<2>(bound, box, {1, 3}, {1, 9}));
  // Both are as near to a row of the box, so the lower index decides.
  EXPECT_FALSE(falls_out<2>(bound, {{0, 0}, {0, 0}, 0}, {1, 0}, {-1, 0}));
}

TEST(CudaBoundingBoxTest, RunsAreWholeBoxes) {
  for (const int64_t n : {1, 128, 129, 5000, 1'000'000, 2'000'000'000}) {
    for (int64_t d = 1; d <= cuda::kMaxBoxColumns; ++d) {
      const cuda::BoxRuns runs = cuda::BoxRuns::make(n, d);
      EXPECT_GE(runs.rows[0], n);
      EXPECT_LT(runs.rows[0], n + cuda::kBoxRows);
      for (int64_t j = 0; j < d; ++j) {
        EXPECT_EQ(runs.rows[j] % cuda::kBoxRows, 0);
        EXPECT_GE(runs.rows[j], cuda::kBoxRows);
        if (j > 0) {
          EXPECT_LE(runs.rows[j], runs.rows[j - 1]);
        }
      }
    }
  }
  EXPECT_EQ(cuda::BoxRuns::make(1'000'000, 2).rows[1], 89 * 128);  // 7813 boxes, in 88 runs
}

template <class T>
std::vector<T> fetched(const T* from, size_t count, cudaStream_t stream) {
  std::vector<T> values(count);
  cuda::check(cudaMemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream),
              "fetching test data");
  cuda::check(cudaStreamSynchronize(stream), "fetching test data");
  return values;
}

// Every row stands at one place, with its values and weight, and within the box there.
template <class T>
void expect_boxed(const Case& made, const std::vector<double>& given, const cuda::BoxedRows& rows,
                  cudaStream_t stream) {
  const int64_t d = made.shape.d;
  const auto places = static_cast<size_t>(rows.count * cuda::kBoxRows);
  const auto order = fetched(rows.order, static_cast<size_t>(rows.n), stream);
  const auto values = fetched(static_cast<const T*>(rows.values), places * static_cast<size_t>(d), stream);
  const auto boxes = fetched(rows.boxes, static_cast<size_t>((2 * d + 1) * rows.count), stream);
  std::vector<double> weights;
  if (rows.weights != nullptr) weights = fetched(rows.weights, places, stream);
  std::vector<int> seen(order.size());
  std::vector<double> x(static_cast<size_t>(d));
  for (int64_t place = 0; place < rows.n; ++place) {
    const uint32_t row = order[static_cast<size_t>(place)];
    ASSERT_LT(row, order.size());
    ASSERT_EQ(seen[row]++, 0);
    if (!weights.empty()) {
      ASSERT_EQ(weights[static_cast<size_t>(place)], given[row]);
    }
    widen(made.points().data, made.type, row * d, d, x.data());
    const int64_t box = place / cuda::kBoxRows;
    for (int64_t j = 0; j < d; ++j) {
      const double v = x[static_cast<size_t>(j)];
      ASSERT_EQ(static_cast<double>(values[static_cast<size_t>(place * d + j)]), v);
      const double middle = boxes[static_cast<size_t>(j * rows.count + box)];
      ASSERT_LE(std::abs(v - middle), boxes[static_cast<size_t>((d + j) * rows.count + box)]);
    }
  }
}

// How terms become limbs, on the device.
struct DeviceTerms {
  cuda::DeviceBuffer<int32_t> exponents;
  cuda::ColumnTerms terms;

  DeviceTerms(const Input& input, cudaStream_t stream) : exponents(input.columns.size(), "test data") {
    std::vector<int32_t> all;
    for (const SumFormat& format : input.columns) {
      all.push_back(format.shift - (format.limbs - 1) * format.bits);
    }
    cuda::copy_to_device(exponents.data(), all.data(), all.size(), stream, "test data");
    cuda::check(cudaStreamSynchronize(stream), "test data");
    terms = {input.limbs, input.bits, std::ldexp(1.0, input.bits), nullptr, exponents.data()};
  }
};

// A box's sums are those of its rows.
void expect_sums(const Input& input, const cuda::BoxedRows& rows, cudaStream_t stream) {
  const int64_t d = rows.d;
  const int64_t numbers = input.limbs * d + 1;
  const auto sums = fetched(rows.sums, static_cast<size_t>(numbers * rows.count), stream);
  const auto order = fetched(rows.order, static_cast<size_t>(rows.n), stream);
  std::vector<double> x(static_cast<size_t>(d));
  for (int64_t box = 0; box < rows.count; ++box) {
    std::vector<int64_t> expected(static_cast<size_t>(d * input.limbs));
    int64_t weight = 0;
    for (int64_t place = box * cuda::kBoxRows; place < std::min(rows.n, (box + 1) * cuda::kBoxRows); ++place) {
      const int64_t row = order[static_cast<size_t>(place)];
      const double w = input.weights.empty() ? 1 : input.weights[static_cast<size_t>(row)];
      widen(input.points.data, input.points.type, row * d, d, x.data());
      for (int64_t j = 0; j < d; ++j) {
        add_term(w * x[static_cast<size_t>(j)], input.columns[static_cast<size_t>(j)], 1,
                 expected.data() + j * input.limbs);
      }
      weight += input.integer_weight(row);
    }
    ASSERT_EQ(sums[static_cast<size_t>((numbers - 1) * rows.count + box)], weight);
    for (int64_t j = 0; j < d; ++j) {
      const SumFormat& format = input.columns[static_cast<size_t>(j)];
      const WideInt found = recombine(sums.data() + j * rows.count + box, format, d * rows.count);
      ASSERT_EQ(found, recombine(expected.data() + j * input.limbs, format));
    }
  }
}

TEST(CudaBoundingBoxes, HoldTheirRows) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  ThreadPool pool(1);
  uint64_t seed = 40;
  for (const int64_t n : {1, 128, 131, 5003}) {
    for (int64_t d = 1; d <= cuda::kMaxBoxColumns; ++d) {
      for (int i = 0; i < 6; ++i, ++seed) {
        const auto family = std::array{Family::kNormal, Family::kClusters, Family::kOutlier, Family::kOffset}[seed % 4];
        const auto type = static_cast<DataType>(i);
        const Case made = make_case(family, type, static_cast<Weighting>(seed % kWeightings), {n, d, {1}}, seed);
        const PointsView from = made.points();
        const cuda::Stream stream;
        cuda::DeviceBuffer<std::byte> bytes(from.bytes(), "test data");
        cuda::copy_to_device(bytes.data(), static_cast<const std::byte*>(from.data), from.bytes(), stream, "test data");
        const Input input = prepare_input(from, made.weights, pool);
        cuda::DeviceBuffer<double> weights(input.weights.size(), "test data");
        cuda::copy_to_device(weights.data(), input.weights.data(), input.weights.size(), stream, "test data");
        const DeviceTerms terms(input, stream);
        const cuda::BoxedPoints boxed({bytes.data(), type, n, d, weights.data()}, terms.terms, input.weight_shift,
                                      stream);
        SCOPED_TRACE(made.name);
        if (type == DataType::kFloat64) {
          ASSERT_NO_FATAL_FAILURE(expect_boxed<double>(made, input.weights, boxed.rows(), stream));
        } else {
          ASSERT_NO_FATAL_FAILURE(expect_boxed<float>(made, input.weights, boxed.rows(), stream));
        }
        ASSERT_NO_FATAL_FAILURE(expect_sums(input, boxed.rows(), stream));
      }
    }
  }
}

// Large enough for boxes with one prototype, for several threads a box, and for prototypes that do not fit shared
// memory; against the cpu backend, which the conformance tests compare with the reference.
TEST(CudaBoundingBoxes, SessionsAreTheCpus) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const auto cpu = make_backend("cpu", {});
  const auto cuda = make_backend("cuda", {.algorithm = "kdtree"});
  uint64_t seed = 70;
  for (const Shape& shape : {Shape{40'001, 2, {10, 3, 1}}, Shape{70'003, 3, {60}}, Shape{33'000, 1, {300, 2}},
                             Shape{50'000, 4, {7, 20}}, Shape{20'000, 2, {1500}}}) {
    for (const Family family : {Family::kClusters, Family::kOutlier}) {
      const auto type = seed % 3 == 0 ? DataType::kFloat64 : DataType::kFloat32;
      const auto weighting = static_cast<Weighting>(seed % kWeightings);
      const Case made = make_case(family, type, weighting, shape, seed++);
      EXPECT_EQ(first_difference(trace_of(*cpu, made), trace_of(*cuda, made)), "") << made.name;
    }
  }
}

// Most rows of many are never looked at.
TEST(CudaBoundingBoxes, LabelWholeBoxes) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {200'000, 2, {5}}, 8);
  ThreadPool pool(1);
  const Input input = prepare_input(made.points(), {}, pool);
  const auto backend = make_backend("cuda", {});
  const auto upload = backend->upload(input);
  EXPECT_NE(upload->plan().find("boxes"), std::string::npos) << upload->plan();
  const auto session = upload->session(made.shape.k, 0);
  PassModel model{0, made.prototypes.data(), {}};
  session->advance({&model, 1}, 3);
  EXPECT_GT(model.result.certified, made.shape.n * 2 / 3);
  EXPECT_GT(model.result.resolved, 0);
  EXPECT_LT(model.result.candidates, 3 * model.result.resolved);
}

}  // namespace
}  // namespace manymeans::test
