// What the CUDA backend does beside passes (inertia, distances, farthest rows, seeding), each against the reference's
// session, bit for bit; and the device's arithmetic, as far as the host can run it, against the host's.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/device/philox.cuh"
#include "backend/cuda/device/wide.cuh"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/cuda/queries/device_seeding.h"
#include "backend/cuda/queries/seed_groups.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/device_row_queries.h"
#include "backend/device/staging.h"
#include "backend/seed_steps.h"
#include "conformance/cases.h"
#include "core/digest.h"
#include "core/label_term.h"
#include "core/random.h"
#include "data/gather.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::DeviceBuffer;

TEST(CudaArithmetic, PhiloxIsRandom123s) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t key = random();
    const uint64_t index = random();
    const auto draw = static_cast<uint32_t>(random());
    const Philox4 expected = philox(key, index, draw, Purpose::kOversample);
    const cuda::Philox4Words found = cuda::philox4x32_10(key, index, draw, 5);
    for (size_t w = 0; w < 4; ++w) ASSERT_EQ(found.v[w], expected[w]);
    ASSERT_EQ(cuda::device_random_u64(key, index, draw, 5), random_u64(key, index, draw, Purpose::kOversample));
    const cuda::LabelSumWords term = cuda::device_label_term(static_cast<int64_t>(index >> 1), draw);
    ASSERT_EQ(static_cast<LabelSum>(term.high) << 64 | term.low, label_term(static_cast<int64_t>(index >> 1), draw));
  }
  cuda::LabelSumWords sum;
  LabelSum expected = 0;
  for (int64_t i = 0; i < 100; ++i) {
    (i % 3 == 0 ? expected -= label_term(i, 7) : expected += label_term(i, 7));
    i % 3 == 0 ? sum.subtract(cuda::device_label_term(i, 7)) : sum.add(cuda::device_label_term(i, 7));
    ASSERT_EQ(static_cast<LabelSum>(sum.high) << 64 | sum.low, expected);
  }
}

// Limbs of every magnitude and sign; low words of zeros and ones, so that roundings tie.
int64_t hostile_limb(std::mt19937_64& random) {
  const auto v = static_cast<int64_t>(random() >> (2 + random() % 62));
  switch (random() % 4) {
    case 0: return v;
    case 1: return -v;
    case 2: return int64_t{1} << (random() % 61);
    default: return 0;
  }
}

TEST(CudaArithmetic, WideIntegersAreTheHosts) {
  std::mt19937_64 random(2);
  const auto check_width = [&]<int W>(int limbs, int bits) {
    int64_t a[kMaxLimbs] = {};
    int64_t b[kMaxLimbs] = {};
    for (int g = 0; g < limbs; ++g) {
      a[g] = hostile_limb(random);
      b[g] = random() % 4 == 0 ? hostile_limb(random) : a[g];
    }
    const SumFormat format{bits, limbs, 0};
    const auto found = cuda::recombined<W>(a, limbs, bits);
    const WideInt expected = recombine(a, format);
    ASSERT_EQ(found.to_double(), expected.to_double());
    ASSERT_EQ(found.is_zero(), expected.is_zero());
    ASSERT_EQ(found.negative(), expected.negative());
    ASSERT_EQ(found.less(cuda::recombined<W>(b, limbs, bits)), expected < recombine(b, format));
    if (expected.negative()) return;
    const uint64_t u = random();
    ASSERT_EQ(found.times(u).to_double(), expected.times(u).to_double());
  };
  for (int i = 0; i < 20000; ++i) {
    const int bits = 20 + static_cast<int>(random() % 42);
    check_width.operator()<3>(1 + static_cast<int>(random() % 3), std::min(bits, 60));
    check_width.operator()<4>(1 + static_cast<int>(random() % 4), std::min(bits, 60));
    check_width.operator()<7>(1 + static_cast<int>(random() % 6), bits);
    if (HasFatalFailure()) return;
  }
}

TEST(CudaArithmetic, GroupsOfModelsKeepToTheirTiles) {
  const auto sizes = [](std::vector<int> candidates, int64_t max_tiles) {
    std::vector<size_t> found;
    cuda::for_each_group(
        std::span(candidates), max_tiles, [](int each) { return each; },
        [&](std::span<int> group) { found.push_back(group.size()); });
    return found;
  };
  EXPECT_EQ(sizes({}, 4), std::vector<size_t>{});
  EXPECT_EQ(sizes({8, 8, 8, 8, 8}, 2), (std::vector<size_t>{2, 2, 1}));
  EXPECT_EQ(sizes({9, 1, 1, 17, 1}, 3), (std::vector<size_t>{2, 1, 1, 1}));
  EXPECT_EQ(sizes({1, 100, 1}, 0), (std::vector<size_t>{1, 1, 1}));
  EXPECT_EQ(sizes({1, 100, 1}, 1000), (std::vector<size_t>{3}));
}

TEST(CudaMemory, ErrorsSayWhatWasAskedFor) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  try {
    DeviceBuffer<double> much(size_t{1} << 50, "a lot");
    FAIL() << "2^53 bytes were given";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    const std::string text = error.what();
    EXPECT_NE(text.find("a lot needs 9007199254740992 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find(" free"), std::string::npos) << text;
  }
  EXPECT_THROW(cuda::check(cudaErrorInvalidValue, "testing"), Error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  DeviceBuffer<int> a(10, "ten");
  DeviceBuffer<int> b = std::move(a);
  EXPECT_EQ(a.size(), 0u);
  EXPECT_EQ(b.size(), 10u);
  b.reserve(5, "fewer");
  EXPECT_EQ(b.size(), 10u);
}

template <class T>
DeviceBuffer<T> uploaded(const void* data, size_t count, cudaStream_t stream) {
  DeviceBuffer<T> buffer(count, "test data");
  cuda::copy_to_device(buffer.data(), static_cast<const T*>(data), count, stream, "uploading test data");
  return buffer;
}

// A case on the host, with the reference's session, and on the device.
struct OnDevice {
  explicit OnDevice(const Case& made)
      : pool(1),
        input(prepare_input(made.points(), made.weights, pool)),
        backend(make_backend("reference", {})),
        upload(backend->upload(input)),
        bytes(uploaded<std::byte>(input.points.data, input.points.bytes(), stream)),
        weights(uploaded<double>(input.weights.data(), input.weights.size(), stream)),
        points{bytes.data(), input.points.type, input.points.n, input.points.d, weights.data()} {}

  explicit OnDevice(Case&&) = delete;  // the input is a view of the case

  ThreadPool pool;
  Input input;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Upload> upload;
  cuda::Stream stream;
  DeviceBuffer<std::byte> bytes;
  DeviceBuffer<double> weights;
  cuda::DevicePoints points;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases = hostile_cases();
  for (uint64_t seed = 0; seed < 150; ++seed) cases.push_back(random_case(9000 + seed));
  uint64_t seed = 70;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kBFloat16,
                              DataType::kUInt8, DataType::kInt8}) {
    for (const int64_t d : {24, 129, 1000}) {
      cases.push_back(make_case(Family::kSpread, type, Weighting::kRanges, {733, d, {9}}, seed++));
      cases.push_back(make_case(Family::kDuplicates, type, Weighting::kNone, {1025, d, {3}}, seed++));
    }
  }
  return cases;
}

void expect_same_distances(const std::vector<double>& found, const std::vector<double>& expected,
                           const std::string& name) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint64_t>(found[i]), std::bit_cast<uint64_t>(expected[i])) << name << " row " << i;
  }
}

void expect_same_rows(const std::vector<DistantRow>& found, const std::vector<DistantRow>& expected,
                      const std::string& name) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].row, expected[i].row) << name << " place " << i;
    ASSERT_EQ(found[i].distance, expected[i].distance) << name << " place " << i;
    ASSERT_EQ(found[i].label, expected[i].label) << name << " place " << i;
  }
}

// A device after a pass of a few models, with queries about distances to their assigned prototypes. All models have the
// labels of this pass. `slice_rows`: rows that fit the device.
struct WithRowQueries : OnDevice {
  static constexpr int kModels = 5;

  WithRowQueries(const Case& made, int64_t slice_rows)
      : OnDevice(made),
        prototypes(made.prototypes[0]),
        session(upload->session(made.shape.k, 0)),
        slices(input, plan_of(std::min(slice_rows, made.shape.n)), {}, stream),
        memory(input, cuda::runtime().make_queue({}), std::vector<int64_t>(kModels, prototypes.rows())),
        kernels(input, memory.label_width(), cuda::stream_of(memory.queue())),
        questions(memory, slices, kernels,
                  {[this](int slot) { return memory.model(slot, prototypes.rows()); },
                   [this](int slot) { return memory.labels(slot); }, [] {}}) {
    PassModel model{0, &prototypes, {}};
    session->advance({&model, 1}, 1);
    const Labels& found = session->labels(0);
    for (int slot = 0; slot < kModels; ++slot) {
      memory.queue().copy_to_device(memory.labels(slot), found.bytes().data(), found.bytes().size(), "test data");
    }
    stream.synchronize("uploading a test's points");
    memory.queue().synchronize("uploading a test's labels");
  }
  static device::SlicePlan plan_of(int64_t slice_rows) { return {slice_rows, slice_rows}; }

  const Matrix& prototypes;
  std::unique_ptr<Session> session;
  device::RowSlices slices;
  device::SessionMemory memory;
  cuda::AssignedDistances kernels;
  device::DeviceRowQueries questions;
};

InertiaSum inertia_of(RowQueries& rows, const Matrix& prototypes) {
  const ModelPrototypes model{0, &prototypes};
  return rows.inertias({&model, 1})[0];
}

Matrix transformed(const PointsView& points, const Matrix& prototypes, RowQueries& rows) {
  Matrix distances(points.n, prototypes.rows(), prototypes.type());
  rows.transform(prototypes, distances);
  return distances;
}

void check_distances(const Case& made, int64_t slice_rows) {
  WithRowQueries run(made, slice_rows);
  const Matrix& prototypes = run.prototypes;
  RowQueries& rows = run.session->rows();
  RowQueries& asked = run.questions;
  const auto sum = [](const std::vector<int64_t>& limbs, const SumFormat& format) {
    return recombine(limbs.data(), format);
  };

  const InertiaSum expected = inertia_of(rows, prototypes);
  const InertiaSum found = inertia_of(asked, prototypes);
  ASSERT_EQ(found.farthest, expected.farthest) << made.name;
  ASSERT_TRUE(found.format == expected.format) << made.name;
  ASSERT_EQ(sum(found.limbs, found.format), sum(expected.limbs, expected.format)) << made.name;
  SumFormat coarser = expected.format;  // as if another rank had a farther row
  coarser.shift -= 5;
  ASSERT_EQ(sum(asked.inertia_limbs(0, prototypes, coarser), coarser),
            sum(rows.inertia_limbs(0, prototypes, coarser), coarser))
      << made.name;
  expect_same_distances(asked.distances(0, prototypes), rows.distances(0, prototypes), made.name);
  const Matrix all = transformed(run.input.points, prototypes, asked);
  ASSERT_TRUE(std::ranges::equal(all.bytes(), transformed(run.input.points, prototypes, rows).bytes())) << made.name;
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{3}, made.shape.n / 2, made.shape.n}) {
    expect_same_rows(asked.farthest_rows(0, prototypes, count), rows.farthest_rows(0, prototypes, count),
                     made.name + fmt::format(" count {}", count));
  }
}

TEST(CudaServices, AssignedDistances) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const Case& made : all_cases()) {
    for (const int64_t slice_rows : {made.shape.n, int64_t{128}, int64_t{384}}) {
      ASSERT_NO_FATAL_FAILURE(check_distances(made, slice_rows)) << "slices of " << slice_rows;
    }
  }
}

// The size of the farthest distance is guessed from the call before, and from other models: whatever those were, the
// sums are the same.
TEST(CudaServices, InertiasOfModelsTogether) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  for (const Case& made : all_cases()) {
    WithRowQueries run(made, made.shape.n);
    const Matrix& prototypes = run.prototypes;
    const Matrix zeros(prototypes.rows(), prototypes.columns(), prototypes.type());
    const Matrix* const both[] = {&prototypes, &zeros};
    const std::vector<std::vector<size_t>> calls = {{0}, {1}, {1, 1}, {0, 1, 0, 0, 1}, {}, {1, 0}};
    for (const std::vector<size_t>& call : calls) {
      std::vector<ModelPrototypes> given;
      for (const size_t which : call) given.push_back({static_cast<int>(given.size()), both[which]});
      const std::vector<InertiaSum> found = run.questions.inertias(given);
      ASSERT_EQ(found.size(), call.size());
      for (size_t i = 0; i < call.size(); ++i) {
        const InertiaSum expected = inertia_of(run.session->rows(), *both[call[i]]);
        ASSERT_EQ(found[i].farthest, expected.farthest) << made.name;
        ASSERT_TRUE(found[i].format == expected.format) << made.name;
        ASSERT_EQ(recombine(found[i].limbs.data(), found[i].format), recombine(expected.limbs.data(), expected.format))
            << made.name;
      }
    }
  }
}

TEST(CudaServices, LabelsComeInPieces) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  constexpr size_t kMiB = size_t{1} << 20;
  std::mt19937_64 random(3);
  const cuda::Stream stream;
  for (const int threads : {1, 5}) {
    device::Staging copier(cuda::runtime(), {kMiB, kMiB}, threads);
    for (const size_t bytes : {size_t{0}, size_t{1}, kMiB - 1, kMiB, kMiB + 1, 2 * kMiB + 77, size_t{300001}}) {
      for (const size_t models : {0, 1, 2, 7}) {
        std::vector<std::byte> values(models * bytes);
        for (size_t i = 0; i + 8 <= values.size(); i += 8) {
          const uint64_t v = random();
          std::memcpy(values.data() + i, &v, 8);
        }
        const auto all = uploaded<std::byte>(values.data(), values.size(), stream);
        // As with boxes, whose labels come to one place, one model after the other.
        DeviceBuffer<std::byte> place(bytes, "test data");
        std::vector<std::vector<std::byte>> found(models, std::vector<std::byte>(bytes));
        std::vector<std::byte*> to;
        for (std::vector<std::byte>& each : found) to.push_back(each.data());
        const auto from = [&](size_t i) {
          cuda::check(cudaMemcpyAsync(place.data(), all.data() + i * bytes, bytes, cudaMemcpyDeviceToDevice, stream),
                      "copying test data");
          return device::Address{place.data()};
        };
        copier.fetch(bytes, to, from, stream, "labels");
        for (size_t i = 0; i < models; ++i) {
          ASSERT_TRUE(std::equal(found[i].begin(), found[i].end(), values.begin() + static_cast<int64_t>(i * bytes)))
              << bytes << " bytes, model " << i << " of " << models << ", " << threads << " threads";
        }
      }
    }
  }
}

// So many labels that threads fetch them, in the width of the session and in a narrower one.
TEST(CudaServices, LabelsOfManyRows) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {1100001, 1, {5, 257}}, 6);
  ASSERT_GE(size_t{2} * 2 * static_cast<size_t>(made.shape.n), device::kMinStagedLabels);
  OnDevice run(made);
  const auto sums_of = [&](Session& session, bool together) {
    std::vector<PassModel> models;
    for (int m = 0; m < 2; ++m) models.push_back({m, &made.prototypes[static_cast<size_t>(m)], {}});
    session.advance(models, 1);
    if (together) session.fetch(std::vector<int>{0, 1}, std::vector<int>{0, 1});
    return std::vector<LabelSum>{label_sum(session.take_labels(0)), label_sum(session.take_labels(1))};
  };
  const std::vector<LabelSum> expected = sums_of(*run.upload->session(made.shape.k, 0), false);
  const auto backend = make_backend("cuda", BackendOptions{.threads = 4});
  const auto upload = backend->upload(run.input);
  for (const int threads : {0, 1, 3}) {
    for (const bool together : {false, true}) {
      const std::vector<LabelSum> found = sums_of(*upload->session(made.shape.k, threads), together);
      EXPECT_TRUE(found == expected) << threads << " threads";
    }
  }
}

// Everything that seeding said, in order.
struct SeedTrace {
  std::vector<WideInt> sums;
  std::vector<int64_t> rows;
  std::vector<double> least;
};

constexpr int kSeedSlots = 3;

// Gives each slot these rows as centres, the first ones or others.
void add_rows(Seeding& seeding, const PointsView& points, const std::vector<std::vector<int64_t>>& rows, bool first) {
  std::vector<Matrix> centres;
  std::vector<SeedCentres> added;
  for (const auto& of_slot : rows) centres.push_back(gather_rows(points, of_slot));
  for (size_t slot = 0; slot < rows.size(); ++slot) added.push_back({static_cast<int>(slot), &centres[slot]});
  if (!first) return seeding.add(added);
  const std::vector<double> largest = seeding.begin(added);
  for (size_t slot = 0; slot < rows.size(); ++slot) seeding.fix_scale(static_cast<int>(slot), largest[slot]);
}

// Rows picked by weight, none where nothing has any.
std::vector<int64_t> pick_rows(Seeding& seeding, int slot, const std::vector<uint64_t>& u) {
  const WideInt total = seeding.total(slot);
  if (total.is_zero()) return {};
  std::vector<WideInt> targets;
  for (const uint64_t share : u) targets.push_back(total.times(share).shift_right_64());
  return seeding.pick(slot, targets);
}

// Steps of k-means++ for three models at once, then a centre that was no candidate, then many centres, then a sample.
// What happens depends only on what was answered, so equal answers give equal traces.
SeedTrace seed_trace(Seeding& seeding, const Input& input, uint64_t seed) {
  const PointsView& points = input.points;
  SeedTrace trace;
  std::mt19937_64 random(seed);
  const auto any_row = [&] { return static_cast<int64_t>(random() % static_cast<uint64_t>(points.n)); };
  std::vector<std::vector<int64_t>> centres(kSeedSlots);
  for (auto& of_slot : centres) of_slot = {any_row()};
  add_rows(seeding, points, centres, true);
  for (int step = 0; step < 4; ++step) {
    std::vector<std::vector<int64_t>> tried;
    std::vector<Matrix> candidates;
    std::vector<SeedTrial> trials;
    for (int slot = 0; slot < kSeedSlots; ++slot) {
      trace.sums.push_back(seeding.total(slot));
      std::vector<uint64_t> u = {0, ~uint64_t{0}};
      while (u.size() < static_cast<size_t>(2 + 4 * slot)) u.push_back(random());
      std::vector<int64_t> rows = pick_rows(seeding, slot, u);
      trace.rows.insert(trace.rows.end(), rows.begin(), rows.end());
      rows.push_back(any_row());
      rows.push_back(rows[0]);
      candidates.push_back(gather_rows(points, rows));
      tried.push_back(std::move(rows));
    }
    for (int slot = 0; slot < kSeedSlots; ++slot) trials.push_back({slot, &candidates[static_cast<size_t>(slot)]});
    seeding.trial(trials);
    for (size_t slot = 0; slot < kSeedSlots; ++slot) {
      trace.sums.insert(trace.sums.end(), trials[slot].potentials.begin(), trials[slot].potentials.end());
      centres[slot] = {tried[slot][random() % tried[slot].size()]};
    }
    if (step == 2) centres[0] = {any_row()};
    add_rows(seeding, points, centres, false);
  }
  for (auto& of_slot : centres) {
    for (int i = 0; i < 45; ++i) of_slot.push_back(any_row());
  }
  const uint64_t key = random();
  for (int slot = 0; slot < kSeedSlots; ++slot) {
    const std::vector<int64_t> rows = seeding.sample(slot, {key, 3, 7, seeding.total(slot)});
    trace.rows.push_back(-1);
    trace.rows.insert(trace.rows.end(), rows.begin(), rows.end());
  }
  add_rows(seeding, points, centres, false);
  for (int slot = 0; slot < kSeedSlots; ++slot) {
    trace.sums.push_back(seeding.total(slot));
    const std::span<const double> least = seeding.least(slot);
    for (int64_t i = 0; i < points.n; ++i) {
      if (input.weight(i) > 0) trace.least.push_back(least[static_cast<size_t>(i)]);
    }
  }
  return trace;
}

std::string difference(const SeedTrace& expected, const SeedTrace& found) {
  if (expected.sums.size() != found.sums.size() || expected.rows.size() != found.rows.size()) return "sizes";
  for (size_t i = 0; i < expected.sums.size(); ++i) {
    if (!(expected.sums[i] == found.sums[i])) {
      return fmt::format("sum {}: {} for {}", i, found.sums[i].to_double(), expected.sums[i].to_double());
    }
  }
  for (size_t i = 0; i < expected.rows.size(); ++i) {
    if (expected.rows[i] != found.rows[i]) return fmt::format("row {}: {} for {}", i, found.rows[i], expected.rows[i]);
  }
  return expected.least == found.least ? "" : "least distances";
}

SeedTrace host_trace(OnDevice& run, Upload& upload, uint64_t seed) {
  const std::vector<int64_t> k(kSeedSlots, 1);
  return seed_trace(*upload.seeding(k, run.pool), run.input, seed);
}

SeedTrace reference_trace(OnDevice& run, uint64_t seed) {
  return host_trace(run, *run.upload, seed);
}

SeedTrace device_trace(OnDevice& run, const cuda::SeedingOptions& options, uint64_t seed, int64_t* exact = nullptr) {
  run.stream.synchronize("uploading test data");
  cuda::DeviceSeeding seeding(run.input, run.points, kSeedSlots, {}, options);
  const SeedTrace trace = seed_trace(seeding, run.input, seed);
  if (exact != nullptr) *exact += seeding.exact_distances();
  return trace;
}

TEST(CudaServices, Seeding) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  int64_t with_screen = 0;
  int64_t without = 0;
  for (const Case& made : all_cases()) {
    OnDevice run(made);
    const SeedTrace expected = reference_trace(run, made.seed);
    ASSERT_EQ(difference(expected, device_trace(run, {.columns_to_screen = 1}, made.seed, &with_screen)), "")
        << made.name << ", screened";
    ASSERT_EQ(difference(expected, device_trace(run, {.exact = true}, made.seed, &without)), "")
        << made.name << ", every distance";
  }
  EXPECT_LT(with_screen, without / 2) << "the screen excludes too little";
  EXPECT_GT(with_screen, 0);
  fmt::print("{} of {} distances were left to be computed\n", with_screen, without);
}

// Models of different k, one of two tiles of candidates, which run out of centres or of distinct rows at different
// times; between two runs a total is asked for, a trial made and a centre added.
SeedTrace run_trace(Seeding& seeding, const Input& input, uint64_t seed) {
  const PointsView& points = input.points;
  SeedTrace trace;
  std::vector<std::vector<int64_t>> first;
  std::vector<SeedRun> runs;
  const std::vector<int> draws = {3, 9, 8};
  for (int slot = 0; slot < kSeedSlots; ++slot) {
    first.push_back(
        {static_cast<int64_t>((seed + static_cast<uint64_t>(slot)) * 131 % static_cast<uint64_t>(points.n))});
    runs.push_back({slot, seed * 31 + static_cast<uint64_t>(slot), 1, 4 + 9 * slot, draws[static_cast<size_t>(slot)]});
  }
  add_rows(seeding, points, first, true);
  for (const int64_t steps : {1, 7}) {
    run_steps(seeding, points, runs, steps);
    for (SeedRun& run : runs) {
      trace.rows.insert(trace.rows.end(), run.rows.begin(), run.rows.end());
      trace.rows.push_back(-1);
      run.centres += static_cast<int64_t>(run.rows.size());
      run.rows.clear();
      trace.sums.push_back(seeding.total(run.slot));
    }
    std::vector<std::vector<int64_t>> more(kSeedSlots, {static_cast<int64_t>(seed % static_cast<uint64_t>(points.n))});
    add_rows(seeding, points, more, false);
    const Matrix candidates = gather_rows(points, std::vector<int64_t>{0, points.n - 1, points.n / 2});
    SeedTrial trial{1, &candidates};
    seeding.trial({&trial, 1});
    trace.sums.insert(trace.sums.end(), trial.potentials.begin(), trial.potentials.end());
    for (SeedRun& run : runs) ++run.centres;
  }
  std::vector<SeedRun> last = {runs[2], runs[0]};
  run_steps(seeding, points, last, 20);
  trace.rows.insert(trace.rows.end(), last[0].rows.begin(), last[0].rows.end());
  for (int slot = 0; slot < kSeedSlots; ++slot) trace.sums.push_back(seeding.total(slot));
  return trace;
}

TEST(CudaServices, SeedingRunsByItself) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const std::vector<int64_t> k(kSeedSlots, 1);
  for (const Case& made : all_cases()) {
    OnDevice run(made);
    const SeedTrace expected = run_trace(*run.upload->seeding(k, run.pool), run.input, made.seed);
    for (const cuda::SeedingOptions& options :
         {cuda::SeedingOptions{.columns_to_screen = 1}, cuda::SeedingOptions{.exact = true}}) {
      run.stream.synchronize("uploading test data");
      cuda::DeviceSeeding seeding(run.input, run.points, kSeedSlots, {}, options);
      ASSERT_EQ(difference(expected, run_trace(seeding, run.input, made.seed)), "")
          << made.name << (options.exact ? ", every distance" : ", screened");
    }
  }
}

// Only the first rows of these are points, all on the device: the answers are the reference's, which has no others.
void expect_no_row_beyond(const Case& longer, int64_t rows) {
  const std::vector<int64_t> k(kSeedSlots, 1);
  Case made = longer;
  made.shape.n = rows;
  made.bytes.resize(made.points().bytes());
  OnDevice all(longer);
  OnDevice run(made);
  all.stream.synchronize("uploading test data");
  run.points.data = all.bytes.data();
  ASSERT_EQ(difference(reference_trace(run, 3), device_trace(run, {}, 3)), "") << longer.name;
  cuda::DeviceSeeding seeding(run.input, run.points, kSeedSlots, {});
  const SeedTrace expected = run_trace(*run.upload->seeding(k, run.pool), run.input, 4);
  ASSERT_EQ(difference(expected, run_trace(seeding, run.input, 4)), "") << longer.name << ", by itself";
  ASSERT_TRUE(seeding.screens());
}

// A warp's last 32 rows may be fewer. Where slopes are infinite, as those of candidates beside a sample of equal rows,
// no bound excludes the rest; and the rows that lie there are near.
TEST(CudaServices, SeedingLooksAtNoRowBeyondTheLast) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  constexpr int64_t kRows = 2049;  // of which the sample has every second one
  const Shape shape{kRows + 31, 30, {2}};
  Case equal = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, shape, 7);
  Case tiny = make_case(Family::kTiny, DataType::kFloat32, Weighting::kNone, shape, 8);
  auto* of_equal = reinterpret_cast<float*>(equal.bytes.data());
  auto* of_tiny = reinterpret_cast<float*>(tiny.bytes.data());
  for (int64_t i = 0; i < shape.n * shape.d; ++i) {
    const bool sampled = i / shape.d < kRows && i / shape.d % 2 == 0;
    of_equal[i] = sampled ? 0.5f : 4 + of_equal[i] / 8;
    if (i % shape.d == 0) of_tiny[i] = 0;
  }
  ASSERT_NO_FATAL_FAILURE(expect_no_row_beyond(equal, kRows));
  ASSERT_NO_FATAL_FAILURE(expect_no_row_beyond(tiny, kRows));
}

// float32 points with a column of zeros and one of zeros and ones beside them, or with the first of these only.
Case with_more_columns(const Case& made, int64_t more) {
  Case wide = made;
  wide.shape.d += more;
  wide.bytes.clear();
  for (int64_t i = 0; i < made.shape.n; ++i) {
    const float added[] = {0, i % 3 == 0 ? 1.0f : 0.0f};
    const std::byte* row = made.bytes.data() + i * made.shape.d * 4;
    wide.bytes.insert(wide.bytes.end(), row, row + made.shape.d * 4);
    const auto* end = reinterpret_cast<const std::byte*>(added);
    wide.bytes.insert(wide.bytes.end(), end, end + more * 4);
  }
  return wide;
}

// Columns of whole numbers count by their ranges: they round nothing of the others away.
TEST(CudaServices, SeedingScreensBesideWholeNumbers) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, {4001, 30, {2}}, 11);
  int64_t left[3] = {};
  int64_t every = 0;
  for (const int64_t more : {0, 1, 2}) {
    const Case wide = with_more_columns(made, more);
    OnDevice run(wide);
    ASSERT_EQ(difference(reference_trace(run, 5), device_trace(run, {}, 5, &left[more])), "") << more;
    if (more == 0) device_trace(run, {.exact = true}, 5, &every);
  }
  EXPECT_LT(left[0], every * 3 / 4);
  EXPECT_LE(left[1], left[0] + left[0] / 10);
  EXPECT_LE(left[2], left[0] + left[0] / 2);
  fmt::print("{}, {} and {} of {} distances were left to be computed\n", left[0], left[1], left[2], every);
}

// More steps than are queued at a time; and models whose candidates have no room beside each other's.
TEST(CudaServices, SeedingInParts) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const std::vector<int64_t> k(kSeedSlots, 1);
  for (const int64_t d : {2, 30}) {
    const Case made = make_case(Family::kClusters, DataType::kFloat64, Weighting::kIntegers, {1501, d, {2}}, 12);
    OnDevice run(made);
    ASSERT_EQ(difference(reference_trace(run, 6), device_trace(run, {.candidate_bytes = 1}, 6)), "") << made.name;
    const auto chosen = [&](Seeding& seeding) {
      add_rows(seeding, run.input.points, {{1}, {2}, {3}}, true);
      std::vector<SeedRun> runs = {{0, 5, 1, 300, 7}, {1, 6, 1, 140, 9}, {2, 7, 1, 10, 3}};
      run_steps(seeding, run.input.points, runs, 350);
      return runs;
    };
    const std::vector<SeedRun> expected = chosen(*run.upload->seeding(k, run.pool));
    for (const int64_t bytes : {int64_t{1}, int64_t{1} << 26}) {
      cuda::DeviceSeeding seeding(run.input, run.points, kSeedSlots, {}, {.candidate_bytes = bytes});
      const std::vector<SeedRun> found = chosen(seeding);
      for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i].rows, expected[i].rows) << made.name << " " << i;
    }
  }
}

// As many models as have more tiles of candidates than the device has blocks at once, and few rows.
TEST(CudaServices, SeedingOfManyModels) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  constexpr int kModels = 700;
  const std::vector<int64_t> k(kModels, 1);
  for (const int64_t d : {2, 30}) {
    const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kIntegers, {301, d, {2}}, 33);
    OnDevice run(made);
    run.stream.synchronize("uploading test data");
    cuda::DeviceSeeding seeding(run.input, run.points, kModels, {});
    const auto reference = run.upload->seeding(k, run.pool);
    for (Seeding* one : {static_cast<Seeding*>(&seeding), reference.get()}) {
      std::vector<std::vector<int64_t>> first;
      for (int64_t slot = 0; slot < kModels; ++slot) first.push_back({slot % made.shape.n});
      add_rows(*one, run.input.points, first, true);
    }
    std::vector<SeedRun> runs;
    for (int slot = 0; slot < kModels; ++slot)
      runs.push_back({slot, static_cast<uint64_t>(slot), 1, 2 + slot % 6, 1 + slot % 11});
    std::vector<SeedRun> expected = runs;
    run_steps(*reference, run.input.points, expected, 6);
    ASSERT_TRUE(seeding.run(runs, 6));
    for (size_t i = 0; i < runs.size(); ++i) ASSERT_EQ(runs[i].rows, expected[i].rows) << "model " << i;
  }
}

// So many rows that every warp of the screen has several units; against the cpu backend, which the conformance tests
// compare with the reference.
TEST(CudaServices, SeedingOfManyRows) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const auto cpu = make_backend("cpu", {});
  for (const int64_t d : {3, 70}) {
    const Case made = make_case(Family::kClusters, DataType::kUInt8, Weighting::kIntegers, {2'000'003, d, {2}}, 21);
    OnDevice run(made);
    const auto upload = cpu->upload(run.input);
    ASSERT_EQ(difference(host_trace(run, *upload, 3), device_trace(run, {}, 3)), "") << made.name;
    cuda::DeviceSeeding seeding(run.input, run.points, kSeedSlots, {});
    const std::vector<int64_t> k(kSeedSlots, 1);
    const SeedTrace expected = run_trace(*upload->seeding(k, run.pool), run.input, 4);
    ASSERT_EQ(difference(expected, run_trace(seeding, run.input, 4)), "") << made.name << ", by itself";
  }
}

// Errors of codes lie along the candidates where there is one column, so bounds a quarter as large exclude rows
// wrongly; with the right ones the same data is right.
TEST(CudaServices, SeedingNeedsItsBound) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const auto d = static_cast<int64_t>(1 + seed % 3);
    const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kNone, {9001, d, {2}}, seed);
    OnDevice run(made);
    const SeedTrace expected = reference_trace(run, seed);
    ASSERT_EQ(difference(expected, device_trace(run, {.columns_to_screen = 1}, seed)), "") << made.name;
    const cuda::SeedingOptions quarter{.columns_to_screen = 1, .bound_scale = 0.25};
    wrong += difference(expected, device_trace(run, quarter, seed)).empty() ? 0 : 1;
  }
  EXPECT_GT(wrong, 0) << "a quarter of the bound was enough";
}

// A sampled row count beyond the first guess, and totals of zero.
TEST(CudaServices, SeedingAtItsLimits) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kZeros, {20000, 3, {2}}, 4);
  const Case same = make_case(Family::kConstant, DataType::kFloat64, Weighting::kNone, {5000, 30, {2}}, 5);
  for (const Case* c : {&made, &same}) {
    OnDevice run(*c);
    const int64_t k = 1;
    const auto expected = run.upload->seeding({&k, 1}, run.pool);
    run.stream.synchronize("uploading test data");
    cuda::DeviceSeeding seeding(run.input, run.points, 1, {});
    const std::vector<std::vector<int64_t>> centre = {{7}};
    add_rows(*expected, run.input.points, centre, true);
    add_rows(seeding, run.input.points, centre, true);
    const std::vector<uint64_t> u = {~uint64_t{0}};
    const WideInt total = expected->total(0);
    EXPECT_EQ(pick_rows(seeding, 0, u), pick_rows(*expected, 0, u));
    EXPECT_EQ(seeding.total(0), total);
    for (const int64_t factor : {int64_t{0}, int64_t{1}, int64_t{1000}, int64_t{1} << 40}) {
      const SeedSample sample{5, 1, factor, total};
      EXPECT_EQ(seeding.sample(0, sample), expected->sample(0, sample)) << factor;
    }
    EXPECT_EQ(seeding.screens(), c == &same);  // the other has three columns
    // Without room for the copy every distance is computed.
    const int64_t bytes = c->shape.n * (c->shape.d + 8);
    for (const int64_t budget : {bytes / 2, 4 * bytes}) {
      cuda::DeviceSeeding capped(run.input, run.points, 1, {}, {.memory_budget = budget});
      add_rows(capped, run.input.points, centre, true);
      EXPECT_EQ(capped.screens(), c == &same && budget > bytes);
      EXPECT_EQ(capped.total(0), total);
      EXPECT_EQ(pick_rows(capped, 0, u), pick_rows(*expected, 0, u));
    }
  }
}

}  // namespace
}  // namespace manymeans::test
