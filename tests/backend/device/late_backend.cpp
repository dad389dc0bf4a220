#include "backend/device/device_session.h"
#include "backend/device/late_device.h"
#include "backend/reference/reference_session.h"

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

// Whether so many of these terms have room in the format.
bool holds(const SumFormat& format, double term, int64_t count) {
  return std::ldexp(term, format.shift - (format.limbs - 1) * format.bits) * static_cast<double>(count) < 0x1p63;
}

// Both kinds of kernels. They run in the queue's threads, and enqueue() is all that the host does. What they compute
// the reference does, in a session over the rows that are there.
class LateKernels final : public device::PassKernels, public device::RowKernels {
 public:
  explicit LateKernels(const device::SessionMemory& memory) : memory_(memory), whole_(memory.input()) {}

  void begin(const PassBatch&) override {}
  int passes_between_questions(const PassBatch&) const override { return 3; }
  void pass(const PassBatch& batch, const Rows& rows, bool) override {
    for_models(batch, [=, this](const ModelMemory& model, PassControl& control, PassCounters& counted) {
      const Matrix prototypes = matrix_at(model.prototypes, model.k);
      PassModel pass{0, &prototypes, {}};
      change(model, rows, !model.labelled && control.passes == 0, [&](Session& all) { all.advance({&pass, 1}, 1); });
      LabelSum hash = static_cast<LabelSum>(counted.hash_high) << 64 | counted.hash_low;
      hash += pass.result.hash_delta;
      counted.hash_low = static_cast<uint64_t>(hash);
      counted.hash_high = static_cast<uint64_t>(hash >> 64);
      counted.changed += static_cast<uint64_t>(pass.result.changed);
      counted.resolved += static_cast<uint64_t>(rows.count);
    });
  }
  void end_pass(const PassBatch& batch) override {
    enqueue([control = pointer_to<PassControl>(batch.control)] { control->passes += control->stopped == 0; });
    for_models(batch, [](const ModelMemory& model, PassControl& control, PassCounters& counted) {
      const std::span weights(pointer_to<int64_t>(model.weights), static_cast<size_t>(model.k));
      const bool empty = std::ranges::find(weights, 0) != weights.end();
      if (empty || counted.changed == 0) control.stopped = 1;
    });
  }
  void solve(const PassBatch& batch) override {
    for_models(batch, [this](const ModelMemory& model, PassControl&, PassCounters&) {
      Statistics statistics(model.k, whole_.points.d, whole_.limbs);
      std::copy_n(pointer_to<int64_t>(model.sums), statistics.sums.size(), statistics.sums.begin());
      std::copy_n(pointer_to<int64_t>(model.weights), statistics.weights.size(), statistics.weights.begin());
      ThreadPool pool(1);
      const Matrix solved = solve_prototypes(statistics, whole_, matrix_at(model.prototypes, model.k), pool);
      std::ranges::copy(solved.bytes(), pointer_to<std::byte>(model.prototypes));
    });
  }
  Address labels_in_order(int slot) override { return memory_.labels(slot); }
  void move_row(const ModelMemory& model, const RowMove& move) override {
    enqueue([=, this] { change(model, move.row, false, [&](Session& row) { row.move_row(0, 0, move.to); }); });
  }
  void relabel(int slot, Address table) override {
    enqueue([=, this, labels = memory_.labels(slot)] {
      for (int64_t i = 0; i < whole_.points.n; ++i) set_label(labels, i, pointer_to<uint32_t>(table)[label(labels, i)]);
    });
  }

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, Address sums) override {
    SumFormat larger = format;
    larger.shift -= 1;
    enqueue([=, this] {
      const std::vector<double> d2 = distances_of(assigned);
      const Input input = input_of(assigned.rows);
      auto& found = *pointer_to<TermSums>(sums);
      for (int64_t i = 0; i < assigned.rows.count; i += step) {
        const double term = input.weight(i) * d2[static_cast<size_t>(i)];
        if (!(input.weight(i) > 0)) continue;
        if (holds(format, term, whole_.points.n)) add_term(term, format, 1, found.limbs[0]);
        if (holds(larger, term, whole_.points.n)) add_term(term, larger, 1, found.limbs[1]);
        found.farthest = std::max(found.farthest, std::bit_cast<int64_t>(d2[static_cast<size_t>(i)]));
      }
    });
  }
  void distances(const Assigned& assigned, Address out) override {
    enqueue([=, this] { std::ranges::copy(distances_of(assigned), pointer_to<double>(out)); });
  }
  void transform(const Rows& rows, Address prototypes, int64_t k, Address out) override {
    enqueue([=, this] {
      const Input input = input_of(rows);
      Matrix found(rows.count, k, type());
      ReferenceSession(input, 1, nullptr).transform(matrix_at(prototypes, k), found);
      std::ranges::copy(found.bytes(), pointer_to<std::byte>(out));
    });
  }

 private:
  void enqueue(std::function<void()> work) const {
    static_cast<const LateQueue&>(memory_.queue()).enqueue(std::move(work));
  }
  // Enqueues body(model, control, counters) for the models of a batch that has not stopped.
  template <class Body>
  void for_models(const PassBatch& batch, const Body& body) const {
    enqueue([=] {
      auto& control = *pointer_to<PassControl>(batch.control);
      for (size_t m = 0; m < batch.models.size() && control.stopped == 0; ++m) {
        body(batch.models[m], control, pointer_to<PassCounters>(batch.counters)[m]);
      }
    });
  }
  DataType type() const { return prototype_type(whole_.points.type); }
  Matrix matrix_at(Address prototypes, int64_t k) const {
    return make_prototypes({pointer_to<void>(prototypes), k, whole_.points.d, type()}, type());
  }
  // These rows as if there were no others.
  Input input_of(const Rows& rows) const {
    Input input = whole_;
    input.points = {pointer_to<void>(rows.points), rows.count, whole_.points.d, whole_.points.type};
    if (rows.weights)
      input.weights.assign(pointer_to<double>(rows.weights), pointer_to<double>(rows.weights) + rows.count);
    input.shard.first += rows.first;
    input.memory = {};
    return input;
  }
  void* label_at(Address labels, int64_t i) const {
    return pointer_to<void>(labels + static_cast<size_t>(i * memory_.label_width()));
  }
  uint32_t label(Address labels, int64_t i) const {
    uint32_t value = 0;
    std::memcpy(&value, label_at(labels, i), static_cast<size_t>(memory_.label_width()));
    return value;
  }
  void set_label(Address labels, int64_t i, uint32_t value) const {
    std::memcpy(label_at(labels, i), &value, static_cast<size_t>(memory_.label_width()));
  }
  // Any pass, and then the labels that the rows have.
  void restore(ReferenceSession& session, const Matrix& prototypes, Address labels, int64_t count) const {
    PassModel any{0, &prototypes, {}};
    session.advance({&any, 1}, 1);
    for (int64_t i = 0; i < count; ++i) session.move_row(0, i, label(labels, i));
  }
  std::vector<double> distances_of(const Assigned& assigned) const {
    const Input input = input_of(assigned.rows);
    int64_t k = 1;
    for (int64_t i = 0; i < input.points.n; ++i) k = std::max<int64_t>(k, label(assigned.labels, i) + 1);
    const Matrix prototypes = matrix_at(assigned.prototypes, k);
    ReferenceSession session(input, 1, nullptr);
    restore(session, prototypes, assigned.labels, input.points.n);
    return session.distances(0, prototypes);
  }
  // Does something to a session with these rows, and their labels if there are any, and takes over what that changes.
  template <class Change>
  void change(const ModelMemory& model, const Rows& rows, bool first_pass, const Change& change) const {
    const Input input = input_of(rows);
    const Address labels = memory_.labels(model.slot, rows.first);
    ReferenceSession session(input, 1, nullptr);
    if (!first_pass) restore(session, matrix_at(model.prototypes, model.k), labels, rows.count);
    const Statistics before = first_pass ? Statistics(model.k, input.points.d, input.limbs) : session.statistics(0);
    change(session);
    const auto add = [](Address to, const std::vector<int64_t>& now, const std::vector<int64_t>& then) {
      for (size_t i = 0; i < now.size(); ++i) pointer_to<int64_t>(to)[i] += now[i] - then[i];
    };
    add(model.sums, session.statistics(0).sums, before.sums);
    add(model.weights, session.statistics(0).weights, before.weights);
    add(model.counts, session.statistics(0).counts, before.counts);
    for (int64_t i = 0; i < rows.count; ++i) set_label(labels, i, session.labels(0)[i]);
  }

  const device::SessionMemory& memory_;
  const Input& whole_;
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
