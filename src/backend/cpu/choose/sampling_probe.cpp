#include "backend/cpu/choose/sampling_probe.h"

#include "backend/cpu/screen/coded_points.h"
#include "backend/cpu/screen/packed_points.h"
#include "backend/cpu/screen/packed_prototypes.h"
#include "core/random.h"
#include "data/gather.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace manymeans {
namespace {

constexpr int64_t kMaxPoints = 512;
constexpr int64_t kMinPoints = 32;
constexpr int64_t kPointValues = int64_t{1} << 20;
constexpr int64_t kPrototypeValues = int64_t{1} << 21;
constexpr int64_t kMinPrototypes = 16;
// Rows from which a model's prototypes are drawn apart: k-means++ finds the far ones among all, and these decide about
// the bounds. There are kPoolRows for each, at least kMinPoolRows, and at most kPoolValues values of all their
// distances.
constexpr int64_t kPoolRows = 32;
constexpr int64_t kMinPoolRows = 2048;
constexpr int64_t kPoolValues = int64_t{1} << 22;
// Models of different k that are looked at; those between them are alike.
constexpr int64_t kMaxModels = 4;

struct Some {
  int64_t clusters;
  int64_t models;  // how many models it represents, of kMaxModels or all
};

// Evenly from the sorted numbers of clusters.
std::vector<Some> some_of(std::span<const int64_t> clusters) {
  std::vector<int64_t> sorted(clusters.begin(), clusters.end());
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<int64_t>(sorted.size());
  const int64_t taken = std::min(count, kMaxModels);
  std::vector<Some> some;
  for (int64_t i = 0; i < taken; ++i) {
    const int64_t k = sorted[static_cast<size_t>((2 * i + 1) * count / (2 * taken))];
    if (some.empty() || some.back().clusters != k) some.push_back({k, 0});
    ++some.back().models;
  }
  return some;
}

bool contains(const std::vector<int64_t>& sorted, int64_t row) {
  return std::binary_search(sorted.begin(), sorted.end(), row);
}

// `count` rows evenly spread that are not among `taken`, as far as there are any.
std::vector<int64_t> other_rows(int64_t n, int64_t count, const std::vector<int64_t>& taken) {
  std::vector<int64_t> rows = spread_rows(n, std::min(n, count + static_cast<int64_t>(taken.size())));
  std::erase_if(rows, [&](int64_t row) { return contains(taken, row); });
  const std::vector<int64_t> from = rows;
  rows = spread_rows(static_cast<int64_t>(from.size()), std::min(count, static_cast<int64_t>(from.size())));
  for (int64_t& row : rows) row = from[static_cast<size_t>(row)];
  return rows;
}

// `count` rows evenly spread by weight, each once, and then others. Equal rows count in full when rows are drawn, but a
// cluster that would be empty moves elsewhere.
std::vector<int64_t> heavy_rows(const Input& input, int64_t count, const std::vector<int64_t>& taken) {
  double sum = 0, below = 0;
  for (const double weight : input.weights) sum += weight;
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < input.points.n; ++row) {
    const double steps = static_cast<double>(count) / sum;
    const bool drawn = std::floor((below + input.weight(row)) * steps) > std::floor(below * steps);
    below += input.weight(row);
    if (drawn && !contains(taken, row)) rows.push_back(row);
  }
  std::vector<int64_t> known = taken;
  known.insert(known.end(), rows.begin(), rows.end());
  std::sort(known.begin(), known.end());
  for (const int64_t row : other_rows(input.points.n, count - static_cast<int64_t>(rows.size()), known)) {
    rows.push_back(row);
  }
  return rows;
}

// Of row a to row b of the other.
double distance(const Matrix& rows, int64_t a, const Matrix& others, int64_t b, const CpuKernels& kernels) {
  const int64_t d = rows.columns();
  if (rows.type() == DataType::kFloat64) {
    return kernels.distance_f64(rows.values<double>().data() + a * d, others.values<double>().data() + b * d, d);
  }
  return kernels.distance_f32(rows.values<float>().data() + a * d, others.values<float>().data() + b * d, d);
}

// `count` rows of the pool as k-means++ draws them: by weight and squared distance from those before.
std::vector<int64_t> rows_apart(const Matrix& pool, const std::vector<double>& weights, int64_t count,
                                const CpuKernels& kernels) {
  std::vector<int64_t> drawn;
  std::vector<double> least(weights.size(), std::numeric_limits<double>::infinity());
  std::vector<double> ends(weights.size());
  std::partial_sum(weights.begin(), weights.end(), ends.begin());
  for (int64_t k = 0; k < count; ++k) {
    const uint64_t u = random_u64(0, static_cast<uint64_t>(k), 0, Purpose::kCandidate);
    const double place = ends.back() * std::ldexp(static_cast<double>(u), -64);
    drawn.push_back(std::upper_bound(ends.begin(), ends.end() - 1, place) - ends.begin());
    double sum = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      least[i] = std::min(least[i], distance(pool, static_cast<int64_t>(i), pool, drawn.back(), kernels));
      ends[i] = sum += weights[i] * least[i];
    }
  }
  return drawn;
}

// The best three scores of a tile in every span, and what they prove.
class Screened {
 public:
  Screened(const PackedPoints& points, const PackedPrototypes& packed, const CpuKernels& kernels)
      : points_(points), packed_(packed), kernels_(kernels), found_(static_cast<size_t>(packed.spans)) {
    const auto rows = static_cast<size_t>(points.tile_rows());
    for (AlignedBuffer<float>* scores : {&best_, &second_, &third_}) {
      *scores = AlignedBuffer<float>(rows * static_cast<size_t>(packed.spans));
    }
    for (AlignedBuffer<float>* of_rows : {&upper_, &lower_, &runner_up_}) *of_rows = AlignedBuffer<float>(rows);
    labels_.resize(rows);
  }

  void add(const Tile& tile, ProbeCounts& counts) {
    const MatrixSteps steps = points_.layout().steps();
    const ScreenTile to{tile.values, tile.radii, best_.data(), second_.data(), third_.data()};
    points_.screen().screen({packed_.view(0, packed_.spans, points_, steps), &to, 1, nullptr, 0});
    const CertifyTask task{best_.data(),
                           second_.data(),
                           third_.data(),
                           packed_.spans,
                           static_cast<int>(points_.tile_rows()),
                           tile.norms,
                           tile.radii,
                           packed_.bounds.slopes.data(),
                           packed_.bounds.errors.data(),
                           packed_.slack,
                           packed_.underflow,
                           packed_.order.data(),
                           labels_.data(),
                           upper_.data(),
                           lower_.data(),
                           runner_up_.data()};
    uint64_t unproved = kernels_.certify(task);
    if (tile.rows < 64) unproved &= (uint64_t{1} << tile.rows) - 1;
    if (unproved == 0) return;
    counts.unproved += std::popcount(unproved);
    const int64_t spans = kernels_.candidates(task, unproved, found_.data());
    for (int64_t i = 0; i < spans; ++i) {
      const SpanCandidates& span = found_[static_cast<size_t>(i)];
      counts.candidates += std::popcount(span.best & ~span.more) + std::popcount(span.two) +
                           SamplingProbe::kSecondLook * std::popcount(span.more);
    }
  }

  // After add(): the best prototypes of the tile's rows.
  const std::vector<uint32_t>& labels() const { return labels_; }

 private:
  const PackedPoints& points_;
  const PackedPrototypes& packed_;
  const CpuKernels& kernels_;
  AlignedBuffer<float> best_, second_, third_, upper_, lower_, runner_up_;
  std::vector<uint32_t> labels_;
  std::vector<SpanCandidates> found_;
};

}  // namespace

std::vector<int64_t> clusters_of(const Workload& workload) {
  return workload.clusters.empty() ? std::vector{workload.max_clusters} : workload.clusters;
}

SamplingProbe::SamplingProbe(const Input& input, const CpuKernels& kernels, const Frame& frame,
                             const Workload& workload)
    : kernels_(kernels), frame_(frame) {
  const int64_t n = input.points.n, d = input.points.d;
  std::vector<Some> some = some_of(clusters_of(workload));
  for (Some& one : some) one.clusters = std::min(one.clusters, std::max(kPrototypeValues / d, kMinPrototypes));
  // Of few rows half may be prototypes. Both are spread over all rows: files are often sorted.
  const int64_t most = std::clamp(kPointValues / d, kMinPoints, kMaxPoints);
  const int64_t points = std::min(most, std::max(n - some.back().clusters, (n + 1) / 2));
  const std::vector<int64_t> of_points = spread_rows(n, points);
  points_ = gather_rows(input, of_points);
  sample_.points = points_.view();
  for (const Some& one : some) {
    prototypes_.push_back(draw_prototypes(input, workload.apart, one.clusters, of_points));
    models_.push_back(one.models);
  }
}

Matrix SamplingProbe::draw_prototypes(const Input& input, bool apart, int64_t count,
                                      const std::vector<int64_t>& of_points) const {
  const int64_t n = input.points.n;
  const int64_t others = std::max<int64_t>(1, n - static_cast<int64_t>(of_points.size()));
  const int64_t pool = std::min(std::max(kPoolRows * count, kMinPoolRows), kPoolValues / (count * input.points.d));
  if (apart && pool > count && others > count) {
    const std::vector<int64_t> rows = other_rows(n, std::min(pool, others), of_points);
    std::vector<double> weights;
    for (const int64_t row : rows) weights.push_back(input.weight(row));
    const Matrix from = gather_rows(input, rows);
    return gather_rows(from.view(), rows_apart(from, weights, std::min(count, others), kernels_));
  }
  const std::vector<int64_t> rows = input.weights.empty() ? other_rows(n, std::min(count, others), of_points)
                                                          : heavy_rows(input, std::min(count, others), of_points);
  return rows.empty() ? points_ : gather_rows(input, rows);
}

ProbeCounts SamplingProbe::run(const ScreenKernels& screen) const {
  PointsPlan plan;
  plan.screen = &screen;
  plan.frame = frame_;
  ThreadPool pool(1);
  const PackedPoints points(sample_, kernels_, plan, pool);
  AlignedBuffer<std::byte> tile(points.tile_bytes());
  ProbeCounts all;
  double pairs = 0;
  for (size_t i = 0; i < prototypes_.size(); ++i) {
    const PackedPrototypes packed = pack_prototypes(prototypes_[i], points, kernels_, 1);
    ProbeCounts counts;
    counts.columns =
        static_cast<double>(std::accumulate(packed.widths.begin(), packed.widths.end(), int64_t{0}) * sample_.points.n);
    Screened screened(points, packed, kernels_);
    for (int64_t t = 0; packed.screenable && t < points.tiles(); ++t) screened.add(points.tile(t, tile.data()), counts);
    const auto models = static_cast<double>(models_[i]);
    all.columns += models * counts.columns;
    all.unproved += models * counts.unproved;
    all.candidates += models * counts.candidates;
    pairs += models * static_cast<double>(sample_.points.n);
  }
  return {all.columns / pairs, all.unproved / pairs, all.candidates / pairs};
}

double SamplingProbe::hits(const ScreenKernels& screen, const CodedKernels& in_bytes) const {
  PointsPlan plan;
  plan.screen = &screen;
  plan.frame = frame_;
  ThreadPool pool(1);
  const PackedPoints points(sample_, kernels_, plan, pool);
  const CodedPoints coded(sample_, frame_, in_bytes.tile_rows, pool);
  AlignedBuffer<std::byte> scratch(points.tile_bytes());
  double hits = 0, pairs = 0;
  for (size_t i = 0; i < prototypes_.size(); ++i) {
    const PackedPrototypes packed = pack_prototypes(prototypes_[i], points, kernels_, 1);
    if (!packed.screenable) return std::numeric_limits<double>::infinity();
    const CodedPrototypes columns = code_prototypes({prototypes_[i], packed, coded, frame_, 1});
    Screened screened(points, packed, kernels_);
    const auto models = static_cast<double>(models_[i]);
    pairs += models * static_cast<double>(sample_.points.n);
    for (int64_t t = 0; t < points.tiles(); ++t) {
      const Tile tile = points.tile(t, scratch.data());
      ProbeCounts counts;
      screened.add(tile, counts);
      hits += models * hits_of_tile({t * points.tile_rows(), tile, screened.labels(), prototypes_[i]},
                                    {columns.view(coded), coded.tile(t).values, coded.tile(t).radii, nullptr, nullptr},
                                    packed.underflow, in_bytes);
    }
  }
  return hits / pairs;
}

// Hits of a tile's rows, without the hits of their own labels.
double SamplingProbe::hits_of_tile(const LabelledTile& rows, CodedLook look, float underflow,
                                   const CodedKernels& in_bytes) const {
  std::vector<double> d2;
  for (int64_t i = 0; i < rows.tile.rows; ++i) {
    d2.push_back(distance(points_, rows.first + i, rows.prototypes, rows.labels[static_cast<size_t>(i)], kernels_));
  }
  std::vector<float> thresholds(static_cast<size_t>(in_bytes.tile_rows), std::numeric_limits<float>::infinity());
  kernels_.seed_thresholds(
      {rows.tile.norms, d2.data(), rows.tile.rows, frame_.scale, static_cast<double>(underflow), thresholds.data()});
  std::vector<CodedHit> found(static_cast<size_t>(look.columns.count) * kSpanColumns);
  look.thresholds = thresholds.data();
  look.hits = found.data();
  found.resize(static_cast<size_t>(in_bytes.look(look)));
  double hits = -static_cast<double>(rows.tile.rows);
  for (const CodedHit& hit : found) hits += std::popcount(hit.rows);
  return std::max(0.0, hits);
}

}  // namespace manymeans
