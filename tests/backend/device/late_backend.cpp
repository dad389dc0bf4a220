#include "backend/device/late_backend.h"

#include "backend/device/device_session.h"
#include "backend/device/late_device.h"
#include "core/data_type.h"
#include "core/distance.h"
#include "core/label_term.h"
#include "prototype/centroid.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace manymeans::test {
namespace {

using device::Address;
using device::ModelMemory;
using device::PassBatch;
using device::PassControl;
using device::PassCounters;
using device::Rows;

using Doubles = std::vector<double>;

// Whether so many of these terms have room in the format.
bool holds(const SumFormat& format, double term, int64_t count) {
  return std::ldexp(term, format.shift - (format.limbs - 1) * format.bits) * static_cast<double>(count) < 0x1p63;
}

// Both kinds of kernels. They run in the queue's thread, and enqueue() is all that the host does.
class LateKernels final : public device::PassKernels, public device::RowKernels {
 public:
  explicit LateKernels(const device::SessionMemory& memory) : memory_(memory), input_(memory.input()) {}

  void begin(const PassBatch&) override {}
  int passes_between_questions(const PassBatch&) const override { return 3; }
  void pass(const PassBatch& batch, const Rows& rows, bool) override {
    enqueue([=, this] {
      const auto& control = *pointer_to<PassControl>(batch.control);
      if (control.stopped != 0) return;
      for (size_t m = 0; m < batch.models.size(); ++m) {
        const bool first_pass = !batch.models[m].labelled && control.passes == 0;
        label_rows(batch.models[m], rows, first_pass, pointer_to<PassCounters>(batch.counters)[m]);
      }
    });
  }
  void end_pass(const PassBatch& batch) override {
    enqueue([=] {
      auto& control = *pointer_to<PassControl>(batch.control);
      if (control.stopped != 0) return;
      ++control.passes;
      for (size_t m = 0; m < batch.models.size(); ++m) {
        const std::span weights(pointer_to<int64_t>(batch.models[m].weights), static_cast<size_t>(batch.models[m].k));
        const bool empty = std::ranges::find(weights, 0) != weights.end();
        if (empty || pointer_to<PassCounters>(batch.counters)[m].changed == 0) control.stopped = 1;
      }
    });
  }
  void solve(const PassBatch& batch) override {
    enqueue([=, this] {
      if (pointer_to<PassControl>(batch.control)->stopped != 0) return;
      for (const ModelMemory& model : batch.models) solve_model(model);
    });
  }
  Address labels_in_order(int slot) override { return memory_.labels(slot); }
  void move_row(const ModelMemory& model, const RowMove& move) override {
    enqueue([=, this] {
      const Doubles x = points(move.row);
      add_row(model, {x.data(), weight(move.row, 0)}, move.from, -1);
      add_row(model, {x.data(), weight(move.row, 0)}, move.to, 1);
      set_label(memory_.labels(model.slot), move.row.first, move.to);
    });
  }
  void relabel(int slot, Address table) override {
    enqueue([=, this, labels = memory_.labels(slot)] {
      for (int64_t i = 0; i < input_.points.n; ++i) set_label(labels, i, pointer_to<uint32_t>(table)[label(labels, i)]);
    });
  }

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) override {
    SumFormat larger = format;
    larger.shift -= 1;
    enqueue([=, this] {
      const Doubles all = assigned_distances(assigned);
      auto& found = *pointer_to<TermSums>(sums);
      for (int64_t i = 0; i < assigned.rows.count; i += step) {
        const double w = weight(assigned.rows, i);
        if (!(w > 0)) continue;
        const double d2 = all[static_cast<size_t>(i)];
        if (holds(format, w * d2, input_.points.n)) add_term(w * d2, format, 1, found.limbs[0]);
        if (holds(larger, w * d2, input_.points.n)) add_term(w * d2, larger, 1, found.limbs[1]);
        found.farthest = std::max(found.farthest, std::bit_cast<int64_t>(d2));
      }
    });
  }
  void distances(const Assigned& assigned, Address out) override {
    enqueue([=, this] { std::ranges::copy(assigned_distances(assigned), pointer_to<double>(out)); });
  }
  void transform(const Rows& rows, Address prototypes, int64_t k, Address out) override {
    enqueue([=, this] {
      const Doubles x = points(rows);
      const Doubles c = widened(prototypes, type(), k);
      for (int64_t at = 0; at < rows.count * k; ++at) {
        const double root = std::sqrt(canonical_distance(x.data() + at / k * d(), c.data() + at % k * d(), d()));
        if (type() == DataType::kFloat64) pointer_to<double>(out)[at] = root;
        if (type() == DataType::kFloat32) pointer_to<float>(out)[at] = static_cast<float>(root);
      }
    });
  }

 private:
  int64_t d() const { return input_.points.d; }
  DataType type() const { return prototype_type(input_.points.type); }
  void enqueue(std::function<void()> work) const {
    static_cast<const LateQueue&>(memory_.queue()).enqueue(std::move(work));
  }
  Doubles widened(Address values, DataType from, int64_t rows) const {
    Doubles wide(static_cast<size_t>(rows * d()));
    widen(pointer_to<const void>(values), from, 0, rows * d(), wide.data());
    return wide;
  }
  Doubles points(const Rows& rows) const { return widened(rows.points, input_.points.type, rows.count); }
  static double weight(const Rows& rows, int64_t i) { return rows.weights ? pointer_to<double>(rows.weights)[i] : 1; }
  std::byte* label_at(Address labels, int64_t i) const {
    return pointer_to<std::byte>(labels) + i * memory_.label_width();
  }
  uint32_t label(Address labels, int64_t i) const {
    uint32_t value = 0;
    std::memcpy(&value, label_at(labels, i), static_cast<size_t>(memory_.label_width()));
    return value;
  }
  void set_label(Address labels, int64_t i, uint32_t value) const {
    std::memcpy(label_at(labels, i), &value, static_cast<size_t>(memory_.label_width()));
  }
  // d2 of each row to the prototype of its label.
  Doubles assigned_distances(const Assigned& assigned) const {
    const Doubles x = points(assigned.rows);
    Doubles found;
    for (int64_t i = 0; i < assigned.rows.count; ++i) {
      const size_t row = label(assigned.labels, i) * static_cast<size_t>(d()) * size_of(type());
      const Doubles c = widened(assigned.prototypes + row, type(), 1);
      found.push_back(canonical_distance(x.data() + i * d(), c.data(), d()));
    }
    return found;
  }

  void label_rows(const ModelMemory& model, const Rows& rows, bool first_pass, PassCounters& counted) const {
    const Doubles points_of_slice = points(rows);
    const Doubles c = widened(model.prototypes, type(), model.k);
    const Address labels = memory_.labels(model.slot, rows.first);
    LabelSum hash = static_cast<LabelSum>(counted.hash_high) << 64 | counted.hash_low;
    for (int64_t i = 0; i < rows.count; ++i) {
      const double* x = points_of_slice.data() + i * d();
      Doubles all;
      for (int64_t k = 0; k < model.k; ++k) all.push_back(canonical_distance(x, c.data() + k * d(), d()));
      const auto found = static_cast<uint32_t>(std::ranges::min_element(all) - all.begin());
      const uint32_t before = first_pass ? found : label(labels, i);
      if (!first_pass && found == before) continue;
      ++counted.changed;
      const int64_t row = input_.shard.first + rows.first + i;
      hash += label_term(row, found) - label_term(row, before);
      if (!first_pass) add_row(model, {x, weight(rows, i)}, before, -1);
      add_row(model, {x, weight(rows, i)}, found, 1);
      set_label(labels, i, found);
    }
    counted.hash_low = static_cast<uint64_t>(hash);
    counted.hash_high = static_cast<uint64_t>(hash >> 64);
    counted.resolved += static_cast<uint64_t>(rows.count);
  }
  struct Row {
    const double* x;
    double weight;
  };
  void add_row(const ModelMemory& model, const Row& row, uint32_t label, int sign) const {
    int64_t* sums = pointer_to<int64_t>(model.sums) + label * input_.limbs * d();
    for (int64_t j = 0; j < d(); ++j) {
      int64_t term[kMaxLimbs] = {};
      const SumFormat& format = input_.columns[static_cast<size_t>(j)];
      add_term(row.weight * row.x[j], format, sign, term);
      for (int g = 0; g < format.limbs; ++g) sums[g * d() + j] += term[g];
    }
    const double q = std::ldexp(row.weight, input_.weight_shift);  // 0 without weights
    pointer_to<int64_t>(model.weights)[label] += sign * static_cast<int64_t>(q);
    pointer_to<int64_t>(model.counts)[label] += sign;
  }
  void solve_model(const ModelMemory& model) const {
    Statistics statistics(model.k, d(), input_.limbs);
    std::copy_n(pointer_to<int64_t>(model.sums), statistics.sums.size(), statistics.sums.begin());
    std::copy_n(pointer_to<int64_t>(model.weights), statistics.weights.size(), statistics.weights.begin());
    ThreadPool pool(1);
    void* const there = pointer_to<void>(model.prototypes);
    const Matrix old = make_prototypes({there, model.k, d(), type()}, type());
    const Matrix solved = solve_prototypes(statistics, input_, old, pool);
    std::memcpy(there, solved.bytes().data(), solved.bytes().size());
  }

  const device::SessionMemory& memory_;
  const Input& input_;
};

class LateUpload final : public Upload {
 public:
  LateUpload(const Input& input, const BackendOptions& options)
      : input_(input), slices_(input, plan_of(input, options), {2, options.abort}, queue_) {
    queue_.synchronize("uploading points");
  }
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    auto memory = std::make_unique<device::SessionMemory>(input_, late_runtime().make_queue({}), k);
    device::DeviceSession::Parts parts;
    parts.passes = std::make_unique<LateKernels>(*memory);
    parts.rows = std::make_unique<LateKernels>(*memory);
    parts.memory = std::move(memory);
    return std::make_unique<device::DeviceSession>(std::move(parts), slices_, k, threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t>, ThreadPool&) override { return nullptr; }
  std::string plan() const override { return "every canonical distance, late"; }

 private:
  // A third of the slices stays.
  static device::SlicePlan plan_of(const Input& input, const BackendOptions& options) {
    const int64_t rows = options.tuning.cuda.slice_rows;
    if (rows == 0 || rows >= input.points.n) return {input.points.n, input.points.n};
    return {rows, input.points.n / rows / 3 * rows};
  }

  const Input& input_;
  LateQueue queue_{{}};
  device::RowSlices slices_;
};

class LateBackend final : public Backend {
 public:
  explicit LateBackend(const BackendOptions& options) : options_(options) {}
  std::string_view name() const override { return "late"; }
  std::string instruction_set() const override { return "portable"; }
  int threads() const override { return 1; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload&) override {
    return std::make_unique<LateUpload>(input, options_);
  }

 private:
  BackendOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_late_backend(const BackendOptions& options) {
  return std::make_unique<LateBackend>(options);
}

}  // namespace manymeans::test
