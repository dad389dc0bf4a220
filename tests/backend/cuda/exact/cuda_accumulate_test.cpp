// Sums of a pass on a device, by either way, against sums on the host: the same integers, whatever the order.
#include "backend/cuda/cuda_present.h"
#include "backend/cuda/exact/accumulate.h"
#include "backend/cuda/exact/accumulate_by_label.h"
#include "backend/cuda/exact/exact_stage.h"
#include "backend/cuda/runtime/device_memory.h"
#include "conformance/cases.h"
#include "conformance/trace.h"
#include "core/data_type.h"
#include "core/fixed_point.h"
#include "core/label_term.h"
#include "core/threads.h"
#include "data/input.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

using cuda::DeviceBuffer;

template <class T>
DeviceBuffer<T> on_device(const std::vector<T>& values, cudaStream_t stream) {
  DeviceBuffer<T> buffer(values.size(), "test data");
  cuda::copy_to_device(buffer.data(), values.data(), values.size(), stream, "uploading test data");
  cuda::check(cudaStreamSynchronize(stream), "uploading test data");
  return buffer;
}

template <class T>
std::vector<T> on_host(const DeviceBuffer<T>& buffer, cudaStream_t stream) {
  std::vector<T> values(buffer.size());
  cuda::check(cudaMemcpyAsync(values.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost, stream),
              "fetching test data");
  cuda::check(cudaStreamSynchronize(stream), "fetching test data");
  return values;
}

// How the labels of a test change.
struct Change {
  double share = 1;      // of the rows
  bool crowded = false;  // half of the rows are in the first cluster
  bool stopped = false;  // an earlier pass has stopped the batch
};

// One model's labels before and after a pass.
struct Labelling {
  bool first_pass = false;
  std::vector<uint32_t> before, after;
};

std::vector<Labelling> labellings(const Case& made, const Change& change) {
  std::mt19937_64 random(made.seed + 1);
  std::uniform_real_distribution<double> chance;
  std::vector<Labelling> all;
  for (const int64_t k : made.shape.k) {
    Labelling& one = all.emplace_back();
    one.first_pass = random() % 3 == 0;
    const auto label = [&] {
      return change.crowded && random() % 2 == 0 ? 0 : static_cast<uint32_t>(random() % static_cast<uint64_t>(k));
    };
    for (int64_t i = 0; i < made.shape.n; ++i) {
      one.before.push_back(label());
      one.after.push_back(chance(random) < change.share ? label() : one.before.back());
    }
  }
  return all;
}

// What a pass leaves behind.
struct Sums {
  std::vector<WideInt> sums;  // k x d
  std::vector<int64_t> weights, counts;
  int64_t changed = 0;
  LabelSum hash = 0;
  std::vector<uint32_t> labels;

  bool operator==(const Sums&) const = default;
};

Sums host_sums(const Input& input, int64_t k, const Labelling& labels, bool stopped) {
  const int64_t d = input.points.d;
  const int limbs = input.limbs;
  Sums result{{}, std::vector<int64_t>(static_cast<size_t>(k)), std::vector<int64_t>(static_cast<size_t>(k)), 0, 0, {}};
  std::vector<int64_t> terms(static_cast<size_t>(k * d * limbs));
  std::vector<double> values(static_cast<size_t>(d));
  const auto move = [&](int64_t row, uint32_t label, int sign) {
    const double weight = input.weights.empty() ? 1 : input.weights[static_cast<size_t>(row)];
    widen(input.points.data, input.points.type, row * d, d, values.data());
    for (int64_t j = 0; j < d; ++j) {
      const auto column = static_cast<size_t>(j);
      add_term(weight * values[column], input.columns[column], sign, terms.data() + (label * d + j) * limbs);
    }
    result.weights[label] += sign * input.integer_weight(row);
    result.counts[label] += sign;
  };
  result.labels = stopped ? labels.before : labels.after;
  for (int64_t i = 0; i < input.points.n && !stopped; ++i) {
    const uint32_t before = labels.before[static_cast<size_t>(i)];
    const uint32_t after = labels.after[static_cast<size_t>(i)];
    if (!labels.first_pass && before == after) continue;
    ++result.changed;
    move(i, after, 1);
    if (labels.first_pass) continue;
    move(i, before, -1);
    result.hash += label_term(i, after) - label_term(i, before);
  }
  for (int64_t at = 0; at < k * d; ++at) {
    result.sums.push_back(recombine(terms.data() + at * limbs, input.columns[static_cast<size_t>(at % d)]));
  }
  return result;
}

// The models of a case on the device.
class DevicePass {
 public:
  DevicePass(const Case& made, const Input& input, const std::vector<Labelling>& labels, bool stopped, bool tops)
      : made_(made), input_(input), models_(made.shape.k.size()) {
    stride_ = (input.points.n + 127) / 128 * 128;
    const int64_t most = *std::max_element(made.shape.k.begin(), made.shape.k.end());
    width_ = most <= 256 ? 1 : (most <= 65536 ? 2 : 4);
    const auto* bytes = static_cast<const std::byte*>(input.points.data);
    points_ = on_device(std::vector<std::byte>(bytes, bytes + input.points.bytes()), stream_);
    weights_ = on_device(input.weights, stream_);
    current_ = on_device(packed(labels, &Labelling::before), stream_);
    next_ = on_device(packed(labels, &Labelling::after), stream_);
    control_ = on_device(std::vector<cuda::PassControl>{{stopped ? 1U : 0U, 0}}, stream_);
    counters_ = on_device(std::vector<cuda::PassCounters>(models_, cuda::PassCounters{}), stream_);
    make_ranges(labels);
    make_task(tops);
  }

  void by_label(int64_t slice_rows) {
    const auto clusters = static_cast<size_t>(task_.ranges.clusters);
    const int64_t capacity = 2 * static_cast<int64_t>(models_) * slice_rows;
    DeviceBuffer<uint32_t> entries(static_cast<size_t>(capacity), "entries");
    DeviceBuffer<uint32_t> first(clusters + 1, "entries");
    DeviceBuffer<uint32_t> next(clusters, "entries");
    task_.order = {entries.data(), capacity, first.data(), next.data()};
    cuda::accumulate_by_label(task_, 3, stream_);
    stream_.synchronize("adding up by label");
  }
  void by_atomics() {
    cuda::accumulate(task_, 3, stream_);
    stream_.synchronize("adding up");
  }

  Sums sums(size_t model) {
    const int64_t k = made_.shape.k[model];
    const int64_t d = input_.points.d;
    const auto all = on_host(sums_[model], stream_);
    const auto weights = on_host(weight_sums_[model], stream_);
    const auto counts = on_host(counts_[model], stream_);
    const cuda::PassCounters counters = on_host(counters_, stream_)[model];
    Sums result;
    const std::vector<int64_t> limbs(all.begin(), all.end());
    for (int64_t at = 0; at < k * d; ++at) {
      result.sums.push_back(
          recombine(limbs.data() + at / d * input_.limbs * d + at % d, input_.columns[static_cast<size_t>(at % d)], d));
    }
    result.weights.assign(weights.begin(), weights.end());
    result.counts.assign(counts.begin(), counts.end());
    result.changed = static_cast<int64_t>(counters.changed);
    result.hash = static_cast<LabelSum>(counters.hash_high) << 64 | counters.hash_low;
    result.labels = labels_of(slot_of(model));
    return result;
  }

 private:
  // Slots in another order than ranges.
  int32_t slot_of(size_t model) const { return static_cast<int32_t>(models_ - 1 - model); }

  std::vector<std::byte> packed(const std::vector<Labelling>& labels, std::vector<uint32_t> Labelling::*which) const {
    std::vector<std::byte> bytes(models_ * static_cast<size_t>(stride_ * width_), std::byte{0xA5});
    for (size_t m = 0; m < models_; ++m) {
      for (int64_t i = 0; i < input_.points.n; ++i) {
        const uint32_t label = (labels[m].*which)[static_cast<size_t>(i)];
        std::memcpy(bytes.data() + (slot_of(m) * stride_ + i) * width_, &label, static_cast<size_t>(width_));
      }
    }
    return bytes;
  }

  std::vector<uint32_t> labels_of(int32_t slot) {
    const std::vector<std::byte> bytes = on_host(current_, stream_);
    std::vector<uint32_t> labels(static_cast<size_t>(input_.points.n));
    for (int64_t i = 0; i < input_.points.n; ++i) {
      std::memcpy(&labels[static_cast<size_t>(i)], bytes.data() + (slot * stride_ + i) * width_,
                  static_cast<size_t>(width_));
    }
    return labels;
  }

  void make_ranges(const std::vector<Labelling>& labels) {
    std::vector<cuda::PassRange> ranges;
    for (size_t m = 0; m < models_; ++m) {
      const int64_t k = made_.shape.k[m];
      const auto zeros = [&](int64_t count) {
        return on_device(std::vector<long long>(static_cast<size_t>(count)), stream_);
      };
      sums_.push_back(zeros(k * input_.limbs * input_.points.d));
      weight_sums_.push_back(zeros(k));
      counts_.push_back(zeros(k));
      cuda::PassRange& range = ranges.emplace_back();
      range.slot = slot_of(m);
      range.first_pass = labels[m].first_pass ? 1 : 0;
      range.k = k;
      range.first = task_.ranges.clusters;
      range.sums = sums_[m].data();
      range.weights = weight_sums_[m].data();
      range.counts = counts_[m].data();
      task_.ranges.clusters += (k + 3) / 4 * 4;
      task_.ranges.max_clusters = std::max(task_.ranges.max_clusters, k);
    }
    ranges_ = on_device(ranges, stream_);
  }

  void make_task(bool tops) {
    std::vector<double> powers;
    std::vector<int32_t> exponents;
    for (const SumFormat& format : input_.columns) {
      exponents.push_back(format.shift - (format.limbs - 1) * format.bits);
      tops = tops && std::abs(exponents.back()) < 1022;
      powers.push_back(std::ldexp(1.0, exponents.back()));
    }
    tops_ = on_device(powers, stream_);
    exponents_ = on_device(exponents, stream_);
    task_.points = {points_.data(), input_.points.type, input_.points.n, input_.points.d, weights_.data()};
    task_.terms = {input_.limbs, input_.bits, std::ldexp(1.0, input_.bits), tops ? tops_.data() : nullptr,
                   exponents_.data()};
    task_.terms.plain = tops && cuda::are_plain(exponents, input_.bits);
    task_.weight_shift = input_.weight_shift;
    task_.ranges.at = ranges_.data();
    task_.ranges.count = static_cast<int32_t>(models_);
    task_.ranges.float64 = input_.points.type == DataType::kFloat64;
    task_.ranges.counters = counters_.data();
    task_.ranges.control = control_.data();
    task_.next = {next_.data(), stride_, width_};
    task_.current = {current_.data(), stride_, width_};
  }

  const Case& made_;
  const Input& input_;
  size_t models_;
  int64_t stride_ = 0;
  int32_t width_ = 1;
  cuda::Stream stream_;
  cuda::AccumulateTask task_;
  DeviceBuffer<std::byte> points_, current_, next_;
  DeviceBuffer<double> weights_, tops_;
  DeviceBuffer<int32_t> exponents_;
  DeviceBuffer<cuda::PassControl> control_;
  DeviceBuffer<cuda::PassCounters> counters_;
  DeviceBuffer<cuda::PassRange> ranges_;
  std::vector<DeviceBuffer<long long>> sums_, weight_sums_, counts_;
};

void expect_same(const Sums& found, const Sums& expected, const std::string& name) {
  ASSERT_EQ(found.changed, expected.changed) << name;
  ASSERT_EQ(found.counts, expected.counts) << name;
  ASSERT_EQ(found.weights, expected.weights) << name;
  ASSERT_TRUE(found.hash == expected.hash) << name;
  ASSERT_EQ(found.labels, expected.labels) << name;
  for (size_t at = 0; at < expected.sums.size(); ++at) {
    ASSERT_EQ(found.sums[at], expected.sums[at]) << name << " value " << at;
  }
}

// Slices of the least size and of all rows, the columns' powers at hand or not, and the sums without an order.
void check_case(const Case& made, const Input& input, const Change& change) {
  const std::vector<Labelling> labels = labellings(made, change);
  std::vector<Sums> expected;
  for (size_t m = 0; m < labels.size(); ++m) {
    expected.push_back(host_sums(input, made.shape.k[m], labels[m], change.stopped));
  }
  const auto compare = [&](DevicePass& pass, const char* way) {
    for (size_t m = 0; m < labels.size(); ++m) {
      const std::string name =
          fmt::format("{}, {} limbs, model {}, share {}{}{}, {}", made.name, input.limbs, m, change.share,
                      change.crowded ? ", crowded" : "", change.stopped ? ", stopped" : "", way);
      ASSERT_NO_FATAL_FAILURE(expect_same(pass.sums(m), expected[m], name));
    }
  };
  DevicePass plain(made, input, labels, change.stopped, true);
  plain.by_atomics();
  ASSERT_NO_FATAL_FAILURE(compare(plain, "in any order"));
  if (input.limbs > cuda::kMaxLabelOrderLimbs) return;
  DevicePass in_slices(made, input, labels, change.stopped, true);
  in_slices.by_label(cuda::kLabelOrderRows);
  ASSERT_NO_FATAL_FAILURE(compare(in_slices, "by label in slices"));
  DevicePass at_once(made, input, labels, change.stopped, false);
  at_once.by_label((made.shape.n + cuda::kLabelOrderRows - 1) / cuda::kLabelOrderRows * cuda::kLabelOrderRows);
  ASSERT_NO_FATAL_FAILURE(compare(at_once, "by label at once"));
}

std::vector<Case> sum_cases() {
  // One with so many clusters that a block does not count them in its shared memory, with labels of every width.
  const std::vector<Shape> shapes = {{1, 5, {1}},          {257, 300, {257}},     {5003, 129, {200}},
                                     {4096, 64, {100, 7}}, {6007, 3, {40, 300}},  {9001, 20, {9000, 5}},
                                     {12289, 33, {77, 1}}, {4100, 1, {70000, 2}}, {8195, 6, {3, 8192, 12}}};
  std::vector<Case> cases;
  uint64_t seed = 500;
  for (const Shape& shape : shapes) {
    for (int i = 0; i < 6; ++i, ++seed) {
      const auto family = std::array{Family::kNormal, Family::kClusters, Family::kSpread,
                                     Family::kOffset, Family::kOutlier,  Family::kTiny}[(seed + seed / 6) % 6];
      const auto type = static_cast<DataType>(i);
      cases.push_back(make_case(family, type, static_cast<Weighting>(seed % kWeightings), shape, seed));
    }
  }
  return cases;
}

TEST(CudaAccumulate, TheSameIntegersInAnyOrder) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  std::map<int, int> limbs;
  ThreadPool pool(1);
  size_t turn = 0;
  for (const Case& made : sum_cases()) {
    const Input input = prepare_input(made.points(), made.weights, pool);
    ++limbs[input.limbs];
    ASSERT_NO_FATAL_FAILURE(check_case(made, input, {.share = 0.6}));
    ASSERT_NO_FATAL_FAILURE(check_case(made, input, {.share = std::array{1.0, 0.02, 0.0}[turn++ % 3]}));
    ASSERT_NO_FATAL_FAILURE(check_case(made, input, {.share = 0.6, .crowded = true}));
  }
  for (int g = 1; g <= cuda::kMaxLabelOrderLimbs; ++g) EXPECT_GT(limbs[g], 0) << "no case has " << g << " limbs";
}

TEST(CudaAccumulate, NothingHappensInAStoppedBatch) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  ThreadPool pool(1);
  const Case made = make_case(Family::kNormal, DataType::kFloat32, Weighting::kIntegers, {5000, 70, {200, 9}}, 3);
  const Input input = prepare_input(made.points(), made.weights, pool);
  check_case(made, input, {.share = 1, .stopped = true});
}

// So much that a session's passes add up by label; against the cpu backend, which the conformance tests compare with
// the reference.
TEST(CudaAccumulate, LargePassesAreTheCpus) {
  if (!device_present()) GTEST_SKIP() << "no CUDA device";
  const auto cpu = make_backend("cpu", {});
  const auto cuda = make_backend("cuda", {});
  for (const Shape& shape : {Shape{70'001, 129, {100}}, Shape{170'003, 30, {900, 17}}}) {
    const Case made = make_case(Family::kClusters, DataType::kFloat32, Weighting::kNone, shape, 31);
    ThreadPool pool(1);
    const Input input = prepare_input(made.points(), made.weights, pool);
    const int64_t most = *std::max_element(shape.k.begin(), shape.k.end());
    ASSERT_GT(cuda::label_order_capacity(shape.n, shape.d, input.limbs, most, static_cast<int64_t>(shape.k.size())), 0);
    EXPECT_EQ(first_difference(trace_of(*cpu, made), trace_of(*cuda, made)), "") << made.name;
  }
}

}  // namespace
}  // namespace manymeans::test
