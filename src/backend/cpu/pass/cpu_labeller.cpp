#include "backend/cpu/pass/cpu_labeller.h"

#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/choose/screen_costs.h"
#include "core/data_type.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// Above, squared distances of float64 points could overflow: prepare_input() says so.
constexpr int64_t kMaxColumns = int64_t{1} << 18;
// Rows that are widened together; of wide points fewer, to stay in the second cache.
constexpr int64_t kWideValues = 1 << 15;
constexpr int64_t kMinWideRows = 4;
// Waking a thread takes about so long.
constexpr double kThreadNs = 50e3;
// The minimum time of a thread's piece.
constexpr double kPieceNs = 20e3;
// Costs of a screen before its first row, and of a row in addition to its scores: it is packed, certified and sometimes
// resolved.
constexpr double kScreenNs = 100e3;
constexpr double kScreenedRow = 4;
constexpr double kScreenedValue = 0.15;

AlignedBuffer<double> make_panels(const Matrix& prototypes) {
  const int64_t k = prototypes.rows(), d = prototypes.columns();
  const int64_t count = (k + kPanelPrototypes - 1) / kPanelPrototypes;
  AlignedBuffer<double> panels(static_cast<size_t>(count * d * kPanelPrototypes));
  const auto fill = [&](const auto* values) {
    double* to = panels.data();
    for (int64_t first = 0; first < k; first += kPanelPrototypes) {
      const int64_t some = std::min(kPanelPrototypes, k - first);
      for (int64_t j = 0; j < d; ++j, to += kPanelPrototypes) {
        for (int64_t p = 0; p < some; ++p) to[p] = static_cast<double>(values[(first + p) * d + j]);
        std::fill(to + some, to + kPanelPrototypes, std::numeric_limits<double>::infinity());
      }
    }
  };
  if (prototypes.type() == DataType::kFloat64) {
    fill(prototypes.values<double>().data());
  } else {
    fill(prototypes.values<float>().data());
  }
  return panels;
}

// Rows [first, first + count) in binary64, in `scratch` unless they are; null where a value is not acceptable.
const double* wide_rows(const PanelKernels& kernels, const PointsView& points, int64_t first, int64_t count,
                        double* scratch) {
  const int64_t values = count * points.d;
  if (points.type == DataType::kFloat64) {
    const double* x = static_cast<const double*>(points.data) + first * points.d;
    return kernels.acceptable_f64(x, values) ? x : nullptr;
  }
  if (points.type == DataType::kFloat32) {
    const float* x = static_cast<const float*>(points.data) + first * points.d;
    if (!kernels.acceptable_f32(x, values)) return nullptr;
    kernels.widen(x, values, scratch);
    return scratch;
  }
  widen(points.data, points.type, first * points.d, values, scratch);
  return kernels.acceptable_f64(scratch, values) ? scratch : nullptr;
}

// The frame is the prototypes' frame, and points may be anywhere. The screens' proofs hold up to this norm
// (docs/developer/screens.md, "Nothing overflows").
constexpr float kMaxRowNorm = 0x1p60F;

// False for NaN, too.
bool near_enough(const Tile& tile) {
  return std::all_of(tile.norms, tile.norms + tile.rows, [](float norm) { return norm <= kMaxRowNorm; });
}

// The block is read here for the first time, and packed next.
bool is_acceptable(const CpuShared& shared, const TileBlock& block, Worker& worker) {
  const PointsView& points = shared.input.points;
  const int64_t count = block.rows * points.d;
  switch (points.type) {
    case DataType::kUInt8:
    case DataType::kInt8: return true;
    case DataType::kFloat64:
      return shared.kernels.panels.acceptable_f64(static_cast<const double*>(points.data) + block.first_row * points.d,
                                                  count);
    default: break;
  }
  if (points.type != DataType::kFloat32) worker.wide_f32.resize(static_cast<size_t>(count));
  return shared.kernels.panels.acceptable_f32(
      rows_as<float>(points, block.first_row, block.rows, worker.wide_f32.data()), count);
}

// Points that come once are screened and resolved as in a pass. They are packed block by block, and nothing is summed.
// Rows may lie anywhere.
bool label_points(const CpuShared& shared, const PassTarget& target, ThreadPool& pool, Labels& labels, double* d2) {
  const int64_t n = shared.input.points.n, k = target.prototypes->rows();
  const SessionPlan plan = plan_session(shared, {&k, 1}, pool.size());
  const CpuDistances distances(shared);
  CpuScreen screen(shared, plan, pool.size());
  screen.prepare();
  std::atomic<bool> good{true};
  const auto label_tiles = [&](int w, int64_t first, int64_t last) {
    Worker& worker = screen.worker(w);
    TileBlock block = screen.make_block(first, last);
    if (!is_acceptable(shared, block, worker)) good = false;
    if (!good) return;
    PassResult ignored;
    screen.load_tiles(block, worker);
    if (std::ranges::all_of(block.tiles, near_enough)) {
      screen.find_labels(target, block, worker, ignored);
    } else {
      screen.find_all_labels(target, block, worker, ignored);
    }
    labels.write(block.first_row, block.rows, worker.labels.data());
    if (d2 == nullptr) return;
    const LabelledBlock rows{block.first_row, block.rows, worker.labels.data()};
    distances.find_distances(*target.prototypes, rows, worker.wide_f32, d2 + block.first_row);
  };
  pool.for_each_range((n + screen.tile_rows() - 1) / screen.tile_rows(), plan.tiles_per_block, label_tiles);
  return good;
}

}  // namespace

CpuLabeller::CpuLabeller(std::shared_ptr<const Matrix> prototypes, const CpuKernels& kernels,
                         const BackendOptions& options)
    : prototypes_(std::move(prototypes)), kernels_(kernels), options_(options), panels_(make_panels(*prototypes_)) {}

CpuLabeller::~CpuLabeller() = default;

bool CpuLabeller::serves(const Matrix& prototypes, const BackendOptions& options) {
  const bool known = options.algorithm == "auto" || options.algorithm == "matrix" || options.algorithm == "brute";
  return known && prototypes.columns() <= kMaxColumns;
}

// Of a row.
double CpuLabeller::panel_ns() const {
  const ScreenCosts& costs = screen_costs(kernels_.name);
  const auto k = static_cast<double>(prototypes_->rows()), d = static_cast<double>(prototypes_->columns());
  return k * (costs.panel_score + costs.panel_value * d);
}

// A thread for all that is less than two wakings.
int CpuLabeller::threads_for(int64_t rows, const LabelCall& call) const {
  const double share = static_cast<double>(rows) * panel_ns() / kThreadNs;
  if (call.threads == 1 || share < 2) return 1;
  return static_cast<int>(std::min(share, static_cast<double>(thread_count(call.threads))));
}

// Calls body(first row, rows, rows in binary64) for blocks of all rows.
template <class Body>
bool CpuLabeller::for_each_wide_block(const PointsView& points, const LabelCall& call, Body&& body) const {
  const int64_t block = std::min(points.n, std::clamp(kWideValues / points.d, kMinWideRows, kPanelRows));
  ThreadPool pool(threads_for(points.n, call), call.abort);
  std::vector<AlignedBuffer<double>> scratch(static_cast<size_t>(pool.size()));
  const auto piece = static_cast<int64_t>(kPieceNs / panel_ns()) / block * block;
  std::atomic<bool> good{true};
  pool.for_each_range(points.n, std::max(piece, block), [&](int w, int64_t begin, int64_t end) {
    AlignedBuffer<double>& wide = scratch[static_cast<size_t>(w)];
    if (wide.size() == 0) wide = AlignedBuffer<double>(static_cast<size_t>(block * points.d));
    for (int64_t first = begin; first < end && good; first += block) {
      const int64_t rows = std::min(block, end - first);
      const double* x = wide_rows(kernels_.panels, points, first, rows, wide.data());
      if (x == nullptr) {
        good = false;
      } else {
        body(first, rows, x);
      }
    }
  });
  return good;
}

bool CpuLabeller::label(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const {
  if (screen_pays(points.n)) return label_by_screen(points, call, labels, d2);
  return for_each_wide_block(points, call, [&](int64_t first, int64_t rows, const double* x) {
    uint32_t nearest[kPanelRows];
    double squares[kPanelRows];
    kernels_.panels.nearest(x, rows, panels(), nearest, squares);
    labels.write(first, rows, nearest);
    if (d2 != nullptr) std::copy_n(squares, rows, d2 + first);
  });
}

bool CpuLabeller::transform(const PointsView& points, const LabelCall& call, Matrix& distances) const {
  const int64_t k = prototypes_->rows();
  return for_each_wide_block(points, call, [&](int64_t first, int64_t rows, const double* x) {
    if (distances.type() == DataType::kFloat64) {
      kernels_.panels.distances_f64(x, rows, panels(), distances.values<double>().data() + first * k);
    } else {
      kernels_.panels.distances_f32(x, rows, panels(), distances.values<float>().data() + first * k);
    }
  });
}

bool CpuLabeller::screen_pays(int64_t rows) const {
  if (options_.algorithm != "auto") return options_.algorithm == "matrix";
  if (!options_.tuning.cpu.screen_format.empty()) return true;
  const auto d = static_cast<double>(prototypes_->columns());
  const ScreenCosts& costs = screen_costs(kernels_.name);
  const double scores = static_cast<double>(prototypes_->rows()) * (costs.score + costs.value * d);
  const double saved = panel_ns() - (kScreenedRow + kScreenedValue * d + scores);
  return static_cast<double>(rows) * saved > kScreenNs;
}

PointsPlan CpuLabeller::plan_screen(const Input& input) const {
  const int64_t k = prototypes_->rows();
  PointsPlan plan;
  const std::string& format = options_.tuning.cpu.screen_format;
  plan.screen = &choose_screen_by_shape(kernels_, format, prototypes_->columns(), {k, k, 1});
  plan.frame = find_wide_frame(input);
  return plan;
}

// The first caller makes it.
const CpuLabeller::Screen& CpuLabeller::screen() const {
  std::call_once(screen_made_, [&] {
    ThreadPool alone(1);
    auto made = std::make_unique<Screen>();
    made->input = prepare_input(prototypes_->view(), {}, alone);
    made->plan = plan_screen(made->input);
    made->frame = PackedPoints(made->input, kernels_, made->plan, alone);
    made->target.prototypes = prototypes_.get();
    made->target.packed = pack_prototypes(*prototypes_, made->frame, kernels_, options_.tuning.cpu.bound_scale);
    screen_ = std::move(made);
  });
  return *screen_;
}

bool CpuLabeller::label_by_screen(const PointsView& points, const LabelCall& call, Labels& labels, double* d2) const {
  const Screen& prepared = screen();
  Input input;
  input.points = points;
  BackendOptions options = options_;
  options.abort = call.abort;
  const CpuShared shared{input,
                         prototype_of(input),
                         kernels_,
                         options,
                         prepared.plan,
                         prepared.frame.of_others(input),
                         TermScales(input),
                         UnitScales(input)};
  ThreadPool pool(threads_for(points.n, call), call.abort);
  return label_points(shared, prepared.target, pool, labels, d2);
}

}  // namespace manymeans
