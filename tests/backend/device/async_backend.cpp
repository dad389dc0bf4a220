#include "backend/device/async_backend.h"

#include "backend/device/async_device.h"
#include "backend/device/async_linear.h"
#include "backend/device/device_session.h"
#include "backend/device/least_distances.h"
#include "backend/device/problem_session.h"
#include "backend/device/sum_scales.h"
#include "core/data_type.h"
#include "core/label_term.h"
#include "prototype/prototype.h"

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

// What kernels of all kinds compute. It runs in the queue's thread, and enqueue() is all that the host does.
class AsyncRows {
 public:
  AsyncRows(const Input& input, const device::Queue& queue)
      : input_(input), queue_(queue), prototype_(prototype_of(input)), scales_(input) {}

 protected:
  int64_t d() const { return input_.points.d; }
  int64_t width() const { return prototype_.width(d()); }
  int64_t terms() const { return prototype_.terms(d()); }
  DataType type() const { return prototype_type(input_.points.type); }
  void enqueue(std::function<void()> work) const { static_cast<const AsyncQueue&>(queue_).enqueue(std::move(work)); }
  static Doubles widened(Address values, DataType from, int64_t count) {
    Doubles wide(static_cast<size_t>(count));
    widen(pointer_to<const void>(values), from, 0, count, wide.data());
    return wide;
  }
  Doubles points(const Rows& rows) const { return widened(rows.points, input_.points.type, rows.count * d()); }
  Doubles prototypes(Address values, int64_t k) const { return widened(values, type(), k * width()); }
  static double weight(const Rows& rows, int64_t i) { return rows.weights ? pointer_to<double>(rows.weights)[i] : 1; }
  double distance(const double* x, const double* prototype) const {
    return prototype_.linear ? async_residual(x, prototype, d()) : prototype_.f64.distance(x, prototype, d());
  }
  struct Nearest {
    double distance;
    uint32_t label;
  };
  // Of each of some rows.
  std::vector<Nearest> nearest(const Doubles& rows, const Doubles& all, int64_t k) const {
    const Doubles groups = prototype_.linear ? in_groups(all.data(), k, d()) : Doubles();
    std::vector<Nearest> found;
    for (const double* x = rows.data(); x != rows.data() + rows.size(); x += d()) {
      if (prototype_.linear) {
        const auto best = nearest_models<device::NearestModel>(x, d(), groups, k);
        found.push_back({best.squared, best.model});
        continue;
      }
      Nearest best{distance(x, all.data()), 0};
      for (int64_t c = 1; c < k; ++c) {
        const double other = distance(x, all.data() + c * width());
        if (other < best.distance) best = {other, static_cast<uint32_t>(c)};
      }
      found.push_back(best);
    }
    return found;
  }
  // Adds a row of weight w', or -w', to the sums of a cluster.
  void add_terms_of(const double* x, double weight, int64_t* sums) const {
    if (prototype_.linear) return add_products(formats(), x, d(), weight, sums);
    Doubles of_row(static_cast<size_t>(terms()));
    prototype_.f64.terms({x, 1, d()}, &weight, of_row.data());
    for (int64_t t = 0; t < terms(); ++t) {
      int64_t term[kMaxLimbs] = {};
      const SumFormat& format = input_.columns[static_cast<size_t>(t)];
      add_term(of_row[static_cast<size_t>(t)], format, 1, term);
      for (int g = 0; g < format.limbs; ++g) sums[g * terms() + t] += term[g];
    }
  }

  // The statistics of k clusters, and their prototypes.
  struct Clusters {
    Address sums, weights, prototypes, before;
    int64_t k;
  };
  ShiftCounts update_prototypes(const Clusters& of, double still) const {
    Statistics statistics(of.k, terms(), input_.limbs);
    std::copy_n(pointer_to<int64_t>(of.sums), statistics.sums.size(), statistics.sums.begin());
    std::copy_n(pointer_to<int64_t>(of.weights), statistics.weights.size(), statistics.weights.begin());
    ThreadPool pool(1);
    void* const there = pointer_to<void>(of.prototypes);
    const Matrix old = make_prototypes({there, of.k, width(), type()}, type());
    const Matrix solved = solve_prototypes(statistics, input_, old, pool);
    std::memcpy(pointer_to<void>(of.before), there, solved.bytes().size());
    std::memcpy(there, solved.bytes().data(), solved.bytes().size());
    ShiftCounts counts;
    for (const double d2 : squared_shifts(prototype_, old, solved)) {
      counts.sum += d2;
      counts.still += d2 <= still;
    }
    return counts;
  }

  device::ProductFormats formats() const {
    const double* tops = scales_.normal ? scales_.tops.data() : nullptr;
    return {scales_.limbs, scales_.radix, tops, scales_.exponents.data()};
  }

  const Input& input_;
  const device::Queue& queue_;
  const Prototype& prototype_;
  device::SumScales scales_;
};

class AsyncSeedKernels final : public device::SeedKernels, private AsyncRows {
 public:
  using AsyncRows::AsyncRows;

  void lower(const Rows& rows, const device::Prototypes& centres, bool first, Address least) override {
    enqueue([=, this] {
      const std::vector<Nearest> found = nearest(points(rows), prototypes(centres.at, centres.k), centres.k);
      auto* to = pointer_to<double>(least);
      for (const Nearest& of_row : found) {
        *to = first ? of_row.distance : std::min(*to, of_row.distance);
        ++to;
      }
    });
  }
  void add_potentials(const Rows& rows, const Potentials& asked) override {
    enqueue([=, this] {
      const Doubles x = points(rows);
      const Doubles candidates = prototypes(asked.candidates.at, asked.candidates.k);
      for (int64_t i = 0; i < rows.count; ++i) {
        for (int64_t c = 0; c < asked.candidates.k; ++c) {
          const double d2 = distance(x.data() + i * d(), candidates.data() + c * width());
          const double least = std::min(pointer_to<double>(asked.least)[i], d2);
          add_term(weight(rows, i) * least, asked.format, 1, pointer_to<int64_t>(asked.sums) + c * kDistanceLimbs);
        }
      }
    });
  }
};

class AsyncKernels final : public device::PassKernels, public device::RowKernels, private AsyncRows {
 public:
  AsyncKernels(const device::SessionMemory& memory, bool updates)
      : AsyncRows(memory.input(), memory.queue()), memory_(memory), updates_(updates) {}

  void begin(const PassBatch&) override {}
  bool updates() const override { return updates_; }
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
        const auto changed = static_cast<int64_t>(pointer_to<PassCounters>(batch.counters)[m].changed);
        if (empty || changed <= control.changed) control.stopped = device::kByPass;
      }
    });
  }
  void update(const PassBatch& batch) override {
    enqueue([=, this] {
      auto& control = *pointer_to<PassControl>(batch.control);
      if (control.stopped != 0) return;
      if (prototype_.linear && ++asked_ % kUnsolved == 0) {  // one that a device cannot make
        control.unsolved = 1;
        control.stopped = device::kByPass;
        return;
      }
      for (const ModelMemory& model : batch.models) {
        const ShiftCounts counts = update_prototypes(
            {model.sums, model.weights, model.prototypes, model.before, model.k}, control.shifts.each);
        if (may_be_last(control.shifts, counts, model.k)) control.stopped = device::kByUpdate;
      }
    });
  }
  bool joins() const override { return updates_; }
  // Limbs are integers modulo 2^64.
  void join(const Joining& joining) override {
    enqueue([=] {
      std::vector<uint64_t> sums;
      for (const Joining::Member& member : joining.members) add_pieces(joining, member, sums);
      for (const Joining::Member& member : joining.members) {
        std::copy(sums.begin() + static_cast<std::ptrdiff_t>(joining.first),
                  sums.begin() + static_cast<std::ptrdiff_t>(joining.last),
                  pointer_to<uint64_t>(member.sums) + joining.first);
      }
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
  void renumber(int slot, Address table) override {
    enqueue([=, this, labels = memory_.labels(slot)] {
      for (int64_t i = 0; i < input_.points.n; ++i) set_label(labels, i, pointer_to<uint32_t>(table)[label(labels, i)]);
    });
  }

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) override {
    enqueue([=, this] {
      const Doubles all = assigned_distances(assigned);
      auto& found = *pointer_to<TermSums>(sums);
      for (int64_t i = 0; i < assigned.rows.count; i += step) {
        found.add(weight(assigned.rows, i), all[static_cast<size_t>(i)], format, input_.points.n);
      }
    });
  }
  void distances(const Assigned& assigned, Address out) override {
    enqueue([=, this] { std::ranges::copy(assigned_distances(assigned), pointer_to<double>(out)); });
  }
  void transform(const Rows& rows, Address prototypes, int64_t k, Address out) override {
    enqueue([=, this] {
      const Doubles x = points(rows);
      const Doubles c = AsyncRows::prototypes(prototypes, k);
      for (int64_t at = 0; at < rows.count * k; ++at) {
        const double root = std::sqrt(distance(x.data() + at / k * d(), c.data() + at % k * width()));
        if (type() == DataType::kFloat64) pointer_to<double>(out)[at] = root;
        if (type() == DataType::kFloat32) pointer_to<float>(out)[at] = static_cast<float>(root);
      }
    });
  }
  bool finds_two_nearest() const override { return prototype_.linear; }
  void two_nearest(const Rows& rows, const device::Prototypes& among, Address out) override {
    enqueue([=, this] {
      const Doubles x = points(rows);
      const Doubles groups = in_groups(prototypes(among.at, among.k).data(), among.k, d());
      for (int64_t i = 0; i < rows.count; ++i) {
        const auto best = nearest_models<device::TwoNearestModels>(x.data() + i * d(), d(), groups, among.k);
        pointer_to<TwoNearest>(out)[i] = best.found;
      }
    });
  }

 private:
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
  static void add_pieces(const Joining& joining, const Joining::Member& member, std::vector<uint64_t>& sums) {
    size_t at = 0;
    for (size_t piece = 0; piece < joining.values.size(); ++piece) {
      sums.resize(std::max(sums.size(), at + joining.values[piece]));
      const auto* values = pointer_to<uint64_t>(member.own[piece]);
      for (size_t i = 0; i < joining.values[piece]; ++i) sums[at++] += values[i];
    }
  }
  // d2 of each row to the prototype of its label.
  Doubles assigned_distances(const Assigned& assigned) const {
    const Doubles x = points(assigned.rows);
    Doubles found;
    for (int64_t i = 0; i < assigned.rows.count; ++i) {
      const size_t at = label(assigned.labels, i) * static_cast<size_t>(width()) * size_of(type());
      found.push_back(distance(x.data() + i * d(), prototypes(assigned.prototypes + at, 1).data()));
    }
    return found;
  }

  void label_rows(const ModelMemory& model, const Rows& rows, bool first_pass, PassCounters& counted) const {
    const Doubles points_of_slice = points(rows);
    const std::vector<Nearest> nearest_of = nearest(points_of_slice, prototypes(model.prototypes, model.k), model.k);
    const Address labels = memory_.labels(model.slot, rows.first);
    LabelSum hash = static_cast<LabelSum>(counted.hash_high) << 64 | counted.hash_low;
    for (int64_t i = 0; i < rows.count; ++i) {
      const double* x = points_of_slice.data() + i * d();
      const uint32_t found = nearest_of[static_cast<size_t>(i)].label;
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
    add_terms_of(row.x, sign * row.weight, pointer_to<int64_t>(model.sums) + label * input_.limbs * terms());
    const double q = std::ldexp(row.weight, input_.weight_shift);  // 0 without weights
    pointer_to<int64_t>(model.weights)[label] += sign * static_cast<int64_t>(q);
    pointer_to<int64_t>(model.counts)[label] += sign;
  }
  const device::SessionMemory& memory_;
  static constexpr int kUnsolved = 5;

  bool updates_;
  int asked_ = 0;  // for updates
};

class AsyncProblemKernels final : public device::ProblemKernels, private AsyncRows {
  using Batch = device::ProblemBatch;
  using Model = device::ProblemModel;

 public:
  using AsyncRows::AsyncRows;

  void begin(const Batch&) override {}
  void pass(const Batch& batch) override {
    enqueue([=, this] {
      for_going(batch, [&](size_t m, const Model& model, PassControl& control) {
        const bool first_pass = model.first_pass != 0 && control.passes == 0;
        label_rows(batch, model, first_pass, pointer_to<PassCounters>(batch.counters)[m]);
      });
    });
  }
  void update(const Batch& batch, bool last) override {
    enqueue([=, this] {
      for_going(batch, [&](size_t m, const Model& model, PassControl& control) {
        PassCounters& counters = pointer_to<PassCounters>(batch.counters)[m];
        const std::span weights(pointer_to<int64_t>(batch.weights) + model.first_cluster, static_cast<size_t>(model.k));
        const bool first_pass = model.first_pass != 0 && control.passes == 0;
        ++control.passes;
        const bool few = !first_pass && static_cast<int64_t>(counters.changed) <= control.changed;
        const bool lost = std::ranges::find(weights, 0) != weights.end();
        const bool helps = lost && !few && !last && control.relocates != 0;
        if (few || (lost && !(helps && relocate(batch, model, counters)))) {
          control.stopped = device::kByPass;
        } else if (!last && may_be_last(control.shifts, solve(batch, model, control.shifts.each), model.k)) {
          control.stopped = device::kByUpdate;
        }
      });
    });
  }
  void facts(const Batch& batch, Address facts) override {
    enqueue([=, this] {
      for_active(batch, [&](size_t m, const Model& model) {
        auto& found = pointer_to<device::ProblemFacts>(facts)[m];
        LabelSum hash = 0;
        for (int64_t i = 0; i < model.rows; ++i) {
          found.farthest = std::max(found.farthest, std::bit_cast<uint64_t>(assigned_distance(batch, model, i)));
          hash += label_term(i, label(batch, model, i));
        }
        found.hash_low = static_cast<uint64_t>(hash);
        found.hash_high = static_cast<uint64_t>(hash >> 64);
      });
    });
  }
  void terms(const Batch& batch, std::span<const SumFormat> formats, Address limbs) override {
    enqueue([=, this] {
      for_active(batch, [&](size_t m, const Model& model) {
        auto* to = pointer_to<int64_t>(limbs) + m * kDistanceLimbs;
        for (int64_t i = 0; i < model.rows; ++i) add_term(assigned_distance(batch, model, i), formats[m], 1, to);
      });
    });
  }

  void distances(const Batch& batch, Address out) override {
    enqueue([=, this] {
      for_active(batch, [&](size_t, const Model& model) {
        for (int64_t i = 0; i < model.rows; ++i) pointer_to<double>(out)[i] = assigned_distance(batch, model, i);
      });
    });
  }
  void ranges(const Batch& batch, Address ranges) override {
    enqueue([=, this] {
      for_active(batch, [&](size_t m, const Model& model) {
        double* const lowest = pointer_to<double>(ranges) + m * 2 * static_cast<size_t>(d());
        double* const highest = lowest + d();
        for (int64_t i = 0; i < model.rows; ++i) {
          const Doubles x = row(batch, model, i);
          for (size_t j = 0; j < x.size(); ++j) {
            lowest[j] = i == 0 ? x[j] : std::min(lowest[j], x[j]);
            highest[j] = i == 0 ? x[j] : std::max(highest[j], x[j]);
          }
        }
      });
    });
  }

 private:
  template <class Body>
  static void for_active(const Batch& batch, const Body& body) {
    for (size_t m = 0; m < batch.here.size(); ++m) {
      const Model& model = pointer_to<Model>(batch.models)[m];
      if (model.active != 0) body(m, model);
    }
  }
  template <class Body>
  static void for_going(const Batch& batch, const Body& body) {
    for_active(batch, [&](size_t m, const Model& model) {
      auto& control = pointer_to<PassControl>(batch.controls)[m];
      if (control.stopped == device::kGoesOn) body(m, model, control);
    });
  }
  Doubles row(const Batch& batch, const Model& model, int64_t i) const {
    const auto row_bytes = static_cast<size_t>(d()) * size_of(input_.points.type);
    return points(batch.rows.part(model.first_row + i, 1, row_bytes));
  }
  Doubles prototypes_of(const Batch& batch, const Model& model) const {
    const auto at = static_cast<size_t>(model.first_cluster * d()) * size_of(type());
    return prototypes(batch.prototypes + at, model.k);
  }
  static std::byte* label_at(const Batch& batch, const Model& model, int64_t i) {
    return pointer_to<std::byte>(batch.labels) + (model.first_label + i) * batch.label_width;
  }
  static uint32_t label(const Batch& batch, const Model& model, int64_t i) {
    uint32_t value = 0;
    std::memcpy(&value, label_at(batch, model, i), static_cast<size_t>(batch.label_width));
    return value;
  }
  double assigned_distance(const Batch& batch, const Model& model, int64_t i) const {
    return distance(row(batch, model, i).data(), prototypes_of(batch, model).data() + label(batch, model, i) * d());
  }
  void add_row(const Batch& batch, const Model& model, const Doubles& x, uint32_t label, int sign) const {
    const int64_t cluster = model.first_cluster + label;
    add_terms_of(x.data(), sign, pointer_to<int64_t>(batch.sums) + cluster * input_.limbs * d());
    pointer_to<int64_t>(batch.weights)[cluster] += sign;
    pointer_to<int64_t>(batch.counts)[cluster] += sign;
  }
  void label_rows(const Batch& batch, const Model& model, bool first_pass, PassCounters& counted) const {
    const Doubles all = prototypes_of(batch, model);
    LabelSum hash = 0;
    for (int64_t i = 0; i < model.rows; ++i) {
      const Doubles x = row(batch, model, i);
      const uint32_t found = nearest(x, all, model.k)[0].label;
      const uint32_t before = first_pass ? found : label(batch, model, i);
      if (!first_pass && found == before) continue;
      ++counted.changed;
      hash += label_term(i, found) - label_term(i, before);
      if (!first_pass) add_row(batch, model, x, before, -1);
      add_row(batch, model, x, found, 1);
      std::memcpy(label_at(batch, model, i), &found, static_cast<size_t>(batch.label_width));
    }
    counted.hash_low = static_cast<uint64_t>(hash);
    counted.hash_high = static_cast<uint64_t>(hash >> 64);
  }
  // Only where one cluster is empty, and the farthest row is not the last one of its own.
  bool relocate(const Batch& batch, const Model& model, PassCounters& counted) const {
    const std::span weights(pointer_to<int64_t>(batch.weights) + model.first_cluster, static_cast<size_t>(model.k));
    if (std::ranges::count(weights, 0) > 1) return false;
    DistantRow donor{0, -1, 0};
    for (int64_t i = 0; i < model.rows; ++i) {
      const DistantRow here{assigned_distance(batch, model, i), i, label(batch, model, i)};
      if (DistantRow::is_farther(here, donor)) donor = here;
    }
    if (donor.row < 0 || weights[donor.label] == 1) return false;
    const auto empty = static_cast<uint32_t>(std::ranges::find(weights, 0) - weights.begin());
    const Doubles x = row(batch, model, donor.row);
    add_row(batch, model, x, donor.label, -1);
    add_row(batch, model, x, empty, 1);
    std::memcpy(label_at(batch, model, donor.row), &empty, static_cast<size_t>(batch.label_width));
    LabelSum hash = static_cast<LabelSum>(counted.hash_high) << 64 | counted.hash_low;
    hash += label_term(donor.row, empty) - label_term(donor.row, donor.label);
    counted.hash_low = static_cast<uint64_t>(hash);
    counted.hash_high = static_cast<uint64_t>(hash >> 64);
    counted.empty = 1;
    return true;
  }
  ShiftCounts solve(const Batch& batch, const Model& model, double still) const {
    const auto at = static_cast<size_t>(model.first_cluster * d()) * size_of(type());
    return update_prototypes({batch.sums + static_cast<size_t>(model.first_cluster * input_.limbs * d()) * 8,
                              batch.weights + static_cast<size_t>(model.first_cluster) * 8, batch.prototypes + at,
                              batch.before + at, model.k},
                             still);
  }
};

class AsyncUpload final : public Upload {
 public:
  AsyncUpload(const Input& input, const BackendOptions& options)
      : input_(input),
        updates_(options.algorithm != "brute"),
        slices_(input, plan_of(input, options), {2, options.abort}, queue_) {
    queue_.synchronize("uploading points");
  }
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    auto memory = std::make_unique<device::SessionMemory>(input_, async_runtime().make_queue({}), k);
    device::DeviceSession::Parts parts;
    parts.passes = std::make_unique<AsyncKernels>(*memory, updates_);
    parts.rows = std::make_unique<AsyncKernels>(*memory, updates_);
    parts.memory = std::move(memory);
    return std::make_unique<device::DeviceSession>(std::move(parts), slices_, k, threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    device::LeastDistances::Parts parts;
    parts.queue = async_runtime().make_queue({});
    parts.kernels = std::make_unique<AsyncSeedKernels>(input_, *parts.queue);
    return std::make_unique<device::LeastDistances>(input_, slices_, std::move(parts), k.size(), pool);
  }
  std::string plan() const override { return "every canonical distance, late"; }

 private:
  // A third of the slices stays.
  static device::SlicePlan plan_of(const Input& input, const BackendOptions& options) {
    const int64_t rows = options.tuning.cuda.slice_rows;
    if (rows == 0 || rows >= input.points.n) return {input.points.n, input.points.n};
    return {rows, input.points.n / rows / 3 * rows};
  }

  const Input& input_;
  bool updates_;
  AsyncQueue queue_{{}};
  device::RowSlices slices_;
};

class AsyncBackend final : public Backend {
 public:
  explicit AsyncBackend(const BackendOptions& options) : options_(options) {}
  std::string_view name() const override { return "async"; }
  std::string instruction_set() const override { return "portable"; }
  int threads() const override { return 1; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload&) override {
    return std::make_unique<AsyncUpload>(input, options_);
  }
  double max_joined_products() const override { return 1e9; }
  std::unique_ptr<ProblemUpload> upload_problems(const Input& input, std::span<const ModelRows> models) override {
    auto queue = async_runtime().make_queue({});
    const device::SlicePlan whole{input.points.n, input.points.n};
    auto slices = std::make_unique<device::RowSlices>(input, whole, device::RowSlices::Host{1, options_.abort}, *queue);
    queue->synchronize("uploading points");
    return std::make_unique<device::ProblemPoints>(input, models, std::move(slices), [&input] {
      device::ProblemSession::Parts parts;
      parts.queue = async_runtime().make_queue({});
      parts.kernels = std::make_unique<AsyncProblemKernels>(input, *parts.queue);
      return parts;
    });
  }

 private:
  BackendOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_async_backend(const BackendOptions& options) {
  return std::make_unique<AsyncBackend>(options);
}

}  // namespace manymeans::test
