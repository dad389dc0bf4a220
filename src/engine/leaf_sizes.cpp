#include "engine/leaf_sizes.h"

#include "backend/assigned_inertia.h"
#include "backend/balanced/balanced_upload.h"
#include "data/gather.h"
#include "data/input.h"
#include "data/unit_rows.h"
#include "engine/control.h"
#include "engine/stop_flag.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// A row that asks for its nearest leaf among some.
struct Request {
  double distance;
  int64_t row;  // its number among all rows
  uint32_t leaf;
  uint32_t label;  // the leaf that it has

  auto operator<=>(const Request&) const = default;  // rows differ
};

constexpr size_t kRowsAtATime = 1 << 16;

class LeafSizes {
 public:
  LeafSizes(const LeafRows& rows, ModelResult& leaves)
      : rows_(rows), leaves_(leaves), labels_(static_cast<size_t>(rows.points.n)), sizes_(leaves.counts) {
    leaves.labels.read(0, rows.points.n, labels_.data());
  }

  int64_t bound() {
    const int64_t most = rows_.options.max_size, least = rows_.options.min_size;
    if (most > 0) empty_to(most);
    if (least > 0) fill_to(least);
    int64_t moved = 0;
    for (int64_t i = 0; i < rows_.points.n; ++i) moved += labels_[static_cast<size_t>(i)] != leaves_.labels[i];
    rows_.comm.sum({&moved, 1});
    if (moved > 0) report();
    return moved;
  }

 private:
  template <class Condition>
  std::vector<int64_t> leaves_where(const Condition& condition) const {
    std::vector<int64_t> found;
    for (int64_t leaf = 0; leaf < std::ssize(sizes_); ++leaf) {
      if (condition(sizes_[static_cast<size_t>(leaf)])) found.push_back(leaf);
    }
    return found;
  }

  template <class Condition>
  std::vector<int64_t> rows_where(const Condition& of_size) const {
    std::vector<int64_t> found;
    for (int64_t row = 0; row < std::ssize(labels_); ++row) {
      if (of_size(sizes_[labels_[static_cast<size_t>(row)]])) found.push_back(row);
    }
    return found;
  }

  // Tells how many rows of all ranks have no place yet. All ranks call this.
  bool ended_by_caller(int64_t left) {
    if (stopped_from_outside(leaves_.stop_reason)) return is_set(rows_.hooks.cancel);  // a callback is not asked again
    max_left_ = std::max(max_left_, left);
    Progress progress{"sizes", max_left_ - left, max_left_, 1, 1};
    progress.inertia_estimate = std::numeric_limits<double>::quiet_NaN();
    return control_.ended_by_caller(progress);
  }

  // The requests of `rows`, of this rank, for `leaves`, the nearest first. `left`: see ended_by_caller().
  std::vector<Request> requests(std::span<const int64_t> rows, std::span<const int64_t> leaves, int64_t left) {
    const Predictor predictor(gather_rows(leaves_.prototypes.view(), leaves).view());
    const FitOptions& fit = rows_.options;
    const PredictOptions options{.backend = fit.backend,
                                 .threads = fit.threads,
                                 .metric = fit.metric,
                                 .distances = true,
                                 .abort = rows_.hooks.abort};
    std::vector<Request> all;
    bool stopped = ended_by_caller(left);
    for (size_t first = 0; first < rows.size() && !stopped; first += kRowsAtATime) {
      const std::span<const int64_t> some = rows.subspan(first, std::min(kRowsAtATime, rows.size() - first));
      const Prediction found = predictor.predict(gather_rows(rows_.points, some).view(), options);
      for (size_t i = 0; i < some.size(); ++i) {
        const auto leaf = static_cast<uint32_t>(leaves[found.labels[static_cast<int64_t>(i)]]);
        all.push_back({found.distances[i], rows_.first + some[i], leaf, labels_[static_cast<size_t>(some[i])]});
      }
      stopped = is_set(rows_.hooks.cancel);
    }
    if (rows_.comm.max(int64_t{stopped}) > 0) {
      throw Error(ErrorCode::kInterrupted, "tree", "it was stopped before its leaves had the sizes asked for");
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  // Calls visit() for the requests of all ranks, the nearest first. Each rank sends its first ones. Requests behind
  // the last one of some rank wait: this rank may have others before them.
  template <class Visit>
  void for_each_request(std::span<const Request> own, const Visit& visit) const {
    for (std::optional<Request> last = Request(); last;) {
      last.reset();
      std::vector<Request> all;
      for (const std::vector<Request>& part : rows_.comm.gather(own.first(std::min(kRowsAtATime, own.size())))) {
        if (part.size() == kRowsAtATime && (!last || part.back() < *last)) last = part.back();
        all.insert(all.end(), part.begin(), part.end());
      }
      std::sort(all.begin(), all.end());
      for (const Request& request : all) {
        if (last && *last < request) break;
        visit(request);
      }
      if (last) own = {std::upper_bound(own.begin(), own.end(), *last), own.end()};
    }
  }

  bool is_own(const Request& request) const {
    return request.row >= rows_.first && request.row < rows_.first + rows_.points.n;
  }

  void grant(const Request& request) {
    ++sizes_[request.leaf];
    if (is_own(request)) labels_[static_cast<size_t>(request.row - rows_.first)] = request.leaf;
  }

  // Each round, a leaf takes the nearest rows that ask for it, as long as it has room. Leaves without room are closed.
  void empty_to(int64_t most) {
    std::vector<int64_t> waiting = rows_where([&](int64_t size) { return size > most; });
    int64_t left = 0;  // rows of all ranks that wait
    for (int64_t& size : sizes_) left += size > most ? std::exchange(size, 0) : 0;
    while (left > 0) {
      const std::vector<Request> own = requests(waiting, leaves_where([&](int64_t size) { return size < most; }), left);
      waiting.clear();
      for_each_request(own, [&](const Request& request) {
        if (sizes_[request.leaf] < most) {
          grant(request);
          --left;
        } else if (is_own(request)) {
          waiting.push_back(request.row - rows_.first);
        }
      });
    }
  }

  // Each round, rows of leaves that can spare some ask for the nearest leaf that needs some.
  void fill_to(int64_t least) {
    while (true) {
      const std::vector<int64_t> needy = leaves_where([&](int64_t size) { return size < least; });
      if (needy.empty()) return;
      int64_t left = 0;
      for (const int64_t leaf : needy) left += least - sizes_[static_cast<size_t>(leaf)];
      const std::vector<Request> own = requests(rows_where([&](int64_t size) { return size > least; }), needy, left);
      for_each_request(own, [&](const Request& request) {
        if (sizes_[request.leaf] >= least || sizes_[request.label] <= least) return;
        --sizes_[request.label];
        grant(request);
      });
    }
  }

  void report() {
    ThreadPool pool(thread_count(rows_.options.threads), rows_.hooks.abort);
    RowCopy measured = measured_rows(rows_.points, rows_.options.metric, {pool.size()});
    if (rows_.options.metric == Metric::kCosine) measured.view.type = leaves_.prototypes.type();  // also of no rows
    const Input input = prepare_input(measured.view, rows_.weights, pool, {}, rows_.comm);
    std::vector<int64_t> weights(sizes_.size());
    for (int64_t i = 0; i < rows_.points.n; ++i) weights[labels_[static_cast<size_t>(i)]] += input.integer_weight(i);
    rows_.comm.sum(std::span(weights));
    for (size_t k = 0; k < weights.size(); ++k) {
      leaves_.weights[k] = std::ldexp(static_cast<double>(weights[k]), input.weight_exponent - input.weight_shift);
    }
    leaves_.counts = sizes_;
    leaves_.labels.write(0, rows_.points.n, labels_.data());
    const std::vector<double> d2 = assigned_distances(input, leaves_.prototypes, leaves_.labels, pool);
    InertiaSum inertia = inertia_of_distances(input, d2);
    inertia.farthest = rows_.comm.max(inertia.farthest);
    inertia.format = distance_format(input, inertia.farthest);
    inertia.limbs = limbs_of_distances(input, d2, inertia.format);
    rows_.comm.sum(std::span(inertia.limbs));
    leaves_.inertia = inertia.rounded(input.weight_exponent);
  }

  const LeafRows& rows_;
  ModelResult& leaves_;
  std::vector<uint32_t> labels_;
  std::vector<int64_t> sizes_;
  int64_t max_left_ = 0;
  Control control_{rows_.hooks, 0, rows_.comm};
};

}  // namespace

void check_leaf_sizes(const TreeOptions& options, int64_t rows) {
  check_sizes({options.min_size, options.max_size}, rows, options.k[0]);
}

int64_t bound_leaf_sizes(const LeafRows& rows, ModelResult& leaves) {
  return rows.options.balanced() ? LeafSizes(rows, leaves).bound() : 0;
}

}  // namespace manymeans
