#include "backend/cuda/queries/device_seeding.h"

#include "backend/cuda/queries/centre_passes.h"
#include "backend/cuda/queries/seed_groups.h"
#include "backend/cuda/queries/seed_tasks.h"
#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/cuda/runtime/kept_memory.h"
#include "backend/cuda/runtime/kernel_memory.h"
#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int kLimbs = kDistanceLimbs;
// The screen's products are exact up to here: D * 128 * 127 < 2^31.
constexpr int64_t kMaxColumnsToScreen = int64_t{1} << 17;
constexpr int kNumbersPerTile = kSeedTileColumns * kLimbs;

// Steps whose launches are queued before a wait. The device has room for some 1000 launches; a launch beyond that waits
// in the driver, where no Patience would see that the device hangs. A step has three launches.
constexpr int64_t kStepsTogether = 128;

enum Counter : size_t { kExact, kLength, kCounters };

// A sum of seeding as the device has it: three words hold it.
Wide<3> on_device(const WideInt& sum) {
  Wide<3> wide;
  for (int i = 0; i < 3; ++i) wide.word[i] = sum.word(i);
  return wide;
}

// Rows that a warp takes at a time. Few if the device would be idle otherwise. Else many, since a warp computes four
// distances in the time of one.
int unit_rows_of(int64_t n, int parts) {
  constexpr int64_t kWarps = 32;  // of a multiprocessor
  const int64_t each = n * parts / (kWarps * multiprocessors_here());
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(each, 32, kMaxUnitRows))));
}

}  // namespace

struct DeviceSeeding::Model {
  SumFormat format;
  int64_t centres = 0;
  std::vector<double> host_least;  // once somebody has asked
  NearestOfRows nearest;

  bool total_known = false;
  bool total_stale = false;  // on the device, too
  int64_t total_limbs[kLimbs] = {};

  // The last trial, unless other candidates have taken its place on the device: its candidates, their first tile, and
  // their gains.
  Matrix tried;
  int tile = 0;
  std::vector<int64_t> gains;
};

struct DeviceSeeding::Screen {
  DeviceBuffer<double> frame;  // centres, steps, ranges and minima of the columns
  DeviceBuffer<int8_t> codes;
  DeviceBuffer<float> radii;
  DeviceBuffer<float> squares;
  int64_t code_bytes = 0;
  SeedFrame view;
};

// Candidates of one reading of the points, and where they are on the device.
struct DeviceSeeding::Batch {
  std::vector<SeedTile> tiles;
  std::vector<std::byte> rows;  // tiles x 8 x d of the prototypes' type, where the host has them
  SeedArguments arguments;
  DeviceBuffer<SeedTile> device_tiles;
  DeviceBuffer<SeedModel> models;
  DeviceBuffer<std::byte> centres;
  DeviceBuffer<int8_t> fragments;
  DeviceBuffer<SeedColumn> columns;
  DeviceBuffer<int64_t> gains;
  DeviceBuffer<int64_t> picked;
  DeviceBuffer<unsigned> hits;
  DeviceBuffer<int64_t> chosen;
  PinnedBuffer<int64_t> answer;  // of the device to the host
};

DeviceSeeding::DeviceSeeding(const Input& input, const DevicePoints& points, int slots, const Patience& patience,
                             const SeedingOptions& options)
    : input_(input),
      points_(points),
      stream_(patience),
      options_(options),
      screens_(!options.exact && points.d >= options.columns_to_screen && points.d <= kMaxColumnsToScreen),
      models_(static_cast<size_t>(slots)),
      batch_(std::make_unique<Batch>()),
      counters_(kCounters, "counters of seeding") {
  check(cudaGetDevice(&device_), "asking for the device");
  fill_zero(counters_.data(), counters_.size(), stream_, "clearing counters of seeding");
}

DeviceSeeding::~DeviceSeeding() {
  cudaSetDevice(device_);
  stream_.settle();
}

void DeviceSeeding::use_device() const {
  check(cudaSetDevice(device_), "choosing the device");
}

DeviceSeeding::Model& DeviceSeeding::model(int slot) {
  return models_[static_cast<size_t>(slot)];
}

// Returns true if the 8-bit copy and its arrays fit, with a tenth left free for the rest of seeding.
bool DeviceSeeding::screen_fits() const {
  DeviceMemory there;
  check(ask_device_memory(&there), "asking for the device's free memory");
  const auto budget = static_cast<size_t>(options_.memory_budget);
  const size_t limit = budget > 0 ? std::min(there.free, budget) : there.free;
  const auto row_bytes = static_cast<size_t>(code_bytes_of(points_.d)) + 2 * sizeof(float);
  return static_cast<size_t>(points_.n) <= limit / 10 * 9 / row_bytes;
}

// The 8-bit copy, once for all models.
void DeviceSeeding::make_screen() {
  constexpr int64_t kSample = 1024;
  if (!screens_ || screen_) return;
  screens_ = screen_fits();
  if (!screens_) return;
  const auto n = static_cast<size_t>(points_.n);
  const auto d = static_cast<size_t>(points_.d);
  auto made = std::make_unique<Screen>();
  Screen& s = *made;
  s.code_bytes = code_bytes_of(points_.d);
  std::vector<double> ranges(d);
  const int64_t sample = std::min(points_.n, kSample);
  DeviceBuffer<float> norms(static_cast<size_t>(sample), "a sample's norms");
  const Settled settled(stream_);
  for (size_t j = 0; j < d; ++j) ranges[j] = input_.maximum[j] - input_.minimum[j];
  const double range = *std::max_element(ranges.begin(), ranges.end());
  const int e = range > 0 ? std::clamp(40 - exponent(range * std::sqrt(static_cast<double>(d))), -900, 900) : 0;
  s.frame = DeviceBuffer<double>(4 * d, "the frame of the seeding screen");
  copy_to_device(s.frame.data() + 2 * d, ranges.data(), d, stream_, "uploading the columns' ranges");
  copy_to_device(s.frame.data() + 3 * d, input_.minimum.data(), d, stream_, "uploading the columns' ranges");
  s.codes = DeviceBuffer<int8_t>(n * static_cast<size_t>(s.code_bytes), "the 8-bit copy of the points for seeding");
  s.radii = DeviceBuffer<float>(n, "radii of the 8-bit copy");
  s.squares = DeviceBuffer<float>(n, "norms of the 8-bit copy");
  s.view = {s.frame.data(),
            s.frame.data() + d,
            std::ldexp(1.0, e),
            0,
            std::ldexp(static_cast<double>(d), 2 * e - 1074) + 0x1p-100,
            options_.bound_scale};

  std::vector<float> radii(static_cast<size_t>(sample)), code_norms(static_cast<size_t>(sample));
  find_seed_frame(
      points_,
      {sample, s.view.scale, s.frame.data() + 2 * d, s.frame.data() + 3 * d, s.frame.data(), s.frame.data() + d},
      stream_);
  encode_rows(points_, s.view,
              {points_.n / sample, sample, s.code_bytes, nullptr, s.radii.data(), s.squares.data(), norms.data()},
              stream_);
  read_back(radii.data(), s.radii.data(), radii.size(), stream_, "coding a sample of the points");
  read_back(code_norms.data(), norms.data(), code_norms.size(), stream_, "coding a sample of the points");
  const double radius_sum = std::accumulate(radii.begin(), radii.end(), 0.0);
  const double norm_sum = std::accumulate(code_norms.begin(), code_norms.end(), 0.0);
  // Any positive ratio is sound; this one wastes little on usual rows. A code is 2^-20 of a unit at least.
  const double ratio = norm_sum > 0 ? radius_sum / norm_sum : 0;
  s.view.ratio = std::max(ratio, 0x1p-80);
  encode_rows(points_, s.view, {1, points_.n, s.code_bytes, s.codes.data(), s.radii.data(), s.squares.data(), nullptr},
              stream_);
  screen_ = std::move(made);
}

// A model's rows as kernels see them.
SeedRows DeviceSeeding::rows_of(int slot) {
  const auto at = static_cast<size_t>(slot);
  const auto n = static_cast<size_t>(points_.n);
  return {least_.data() + at * n,
          screen_ ? thresholds_.data() + at * n : nullptr,
          screen_ ? screen_->squares.data() : nullptr,
          blocks_.data() + at * static_cast<size_t>(sum_blocks(points_.n)) * kLimbs,
          totals_.data() + at * kLimbs,
          TermSplitter(model(slot).format)};
}

SeedFrame DeviceSeeding::frame() const {
  return screen_ ? screen_->view : SeedFrame{};
}

// Thresholds from the least distances and, if asked for, the terms' sums.
void DeviceSeeding::summarize(int slot, bool sums) {
  Model& m = model(slot);
  const SeedRows rows = rows_of(slot);
  if (sums) {
    fill_zero(rows.total, kLimbs, stream_, "clearing a sum of seeding");
    m.total_known = m.total_stale = false;
  }
  summarize_rows(points_, rows, frame(), sums, stream_);
}

// Room for what is known of all models' rows.
void DeviceSeeding::make_room() {
  make_screen();
  if (!least_.empty()) return;
  const size_t rows = models_.size() * static_cast<size_t>(points_.n);
  least_ = DeviceBuffer<double>(rows, "least distances of seeding");
  if (screens_) thresholds_ = DeviceBuffer<float>(rows, "thresholds of seeding");
  blocks_ =
      DeviceBuffer<int64_t>(models_.size() * static_cast<size_t>(sum_blocks(points_.n)) * kLimbs, "sums of seeding");
  totals_ = DeviceBuffer<int64_t>(models_.size() * kLimbs, "sums of seeding");
}

// The first centres: all distances, and the largest terms.
std::vector<double> DeviceSeeding::begin(std::span<const SeedCentres> models) {
  use_device();
  make_room();
  forget_trials();
  std::vector<double> wide;
  for (const SeedCentres& begun : models) {
    const auto values = static_cast<size_t>(begun.centres->rows() * points_.d);
    wide.resize(wide.size() + values);
    widen(begun.centres->view().data, begun.centres->type(), 0, static_cast<int64_t>(values),
          wide.data() + wide.size() - values);
  }
  DeviceBuffer<double> centres(wide.size(), "first centres");
  DeviceBuffer<unsigned long long> largest(models.size(), "largest terms of seeding");
  const Settled settled(stream_);
  copy_to_device(centres.data(), wide.data(), wide.size(), stream_, "uploading first centres");
  fill_zero(largest.data(), largest.size(), stream_, "clearing largest terms");
  const double* first = centres.data();
  for (size_t i = 0; i < models.size(); ++i) {
    Model& begun = model(models[i].slot);
    begun.centres = models[i].centres->rows();
    begun.nearest.begin(begun.centres);
    find_first_distances(points_, {first, models[i].centres->rows(), rows_of(models[i].slot).least, largest.data() + i},
                         stream_);
    first += models[i].centres->rows() * points_.d;
  }
  std::vector<unsigned long long> bits(models.size());
  read_back(bits.data(), largest.data(), bits.size(), stream_, "computing distances to first centres");
  std::vector<double> terms;
  for (const unsigned long long term : bits) terms.push_back(std::bit_cast<double>(static_cast<uint64_t>(term)));
  return terms;
}

void DeviceSeeding::fix_scale(int slot, double largest) {
  use_device();
  model(slot).format = SumFormat::make(input_.bits, kLimbs, largest);
  summarize(slot, true);
}

// Their place on the device is needed.
void DeviceSeeding::forget_trials() {
  for (Model& m : models_) m.tried = Matrix();
  batch_->tiles.clear();
  batch_->rows.clear();
}

// Adds tiles for the candidates of a model; place_batch() comes after all are added. Returns the first.
int DeviceSeeding::add_tiles(int slot, int64_t candidates) {
  const SeedRows rows = rows_of(slot);
  const auto tile = static_cast<int>(batch_->tiles.size());
  for (int64_t first = 0; first < candidates; first += kSeedTileColumns) {
    const auto columns = static_cast<int>(std::min<int64_t>(kSeedTileColumns, candidates - first));
    batch_->tiles.push_back({rows.thresholds, rows.least, nullptr, columns, rows.splitter});
  }
  return tile;
}

// Adds tiles for candidates from the host.
int DeviceSeeding::add_tiles(int slot, const Matrix& candidates, int64_t first, int64_t last) {
  std::vector<std::byte>& rows = batch_->rows;
  const int tile = add_tiles(slot, last - first);
  const size_t row = static_cast<size_t>(points_.d) * size_of(candidates.type());
  rows.resize(batch_->tiles.size() * kSeedTileColumns * row);
  std::memcpy(rows.data() + static_cast<size_t>(tile) * kSeedTileColumns * row,
              candidates.bytes().data() + static_cast<size_t>(first) * row, static_cast<size_t>(last - first) * row);
  return tile;
}

// Reserves memory for the batch's candidates, their results, and the marks of marked_tiles tiles.
void DeviceSeeding::make_room_for_batch(int marked_tiles) {
  Batch& b = *batch_;
  const size_t tiles = std::max<size_t>(b.tiles.size(), kMaxSeedTiles);
  const size_t columns = tiles * kSeedTileColumns;
  const size_t marks = static_cast<size_t>(marked_tiles) * static_cast<size_t>(hit_words(points_.n));
  if (tiles <= b.device_tiles.size() && marks <= b.hits.size()) return;
  stream_.synchronize("making room for candidates of seeding");
  b.device_tiles.reserve(tiles, "candidates of seeding");
  b.centres.reserve(columns * static_cast<size_t>(points_.d) * size_of(prototype_type(points_.type)),
                    "candidates of seeding");
  b.gains.reserve(columns * kLimbs, "gains of candidates");
  b.picked.reserve(std::max<size_t>(columns, kMaxTargets), "rows picked");
  b.hits.reserve(marks, "rows that candidates lower");
  if (!screen_) return;
  b.fragments.reserve(columns * static_cast<size_t>(screen_->code_bytes), "codes of candidates");
  b.columns.reserve(columns, "bounds of candidates");
}

// Brings the batch's tiles to the device, and the rows that the host has.
void DeviceSeeding::place_batch(bool marks) {
  Batch& b = *batch_;
  const auto tiles = static_cast<int>(b.tiles.size());
  // Kernels of the screen come for 1, 2 and 4 tiles.
  if (screen_ && tiles > 2) {
    SeedTile padding = b.tiles[0];
    padding.columns = 0;
    while (b.tiles.size() % kMaxSeedTiles != 0) b.tiles.push_back(padding);
  }
  make_room_for_batch(marks ? tiles : 0);
  const auto words = static_cast<size_t>(hit_words(points_.n));
  for (size_t t = 0; marks && t < static_cast<size_t>(tiles); ++t) b.tiles[t].hits = b.hits.data() + t * words;
  const char* const doing = "uploading candidates of seeding";
  staged_.send({b.device_tiles.data()}, b.tiles.data(), b.tiles.size() * sizeof(SeedTile), stream_, doing);
  if (!b.rows.empty()) staged_.send({b.centres.data()}, b.rows.data(), b.rows.size(), stream_, doing);
  SeedArguments& a = b.arguments;
  a = {};
  a.points = points_;
  a.candidates = {b.device_tiles.data(), static_cast<int>(b.tiles.size()),
                  b.centres.data(),      b.fragments.data(),
                  b.columns.data(),      b.gains.data(),
                  b.picked.data()};
  if (screen_) {
    a.codes = screen_->codes.data();
    a.code_bytes = screen_->code_bytes;
    a.radii = screen_->radii.data();
  }
  a.lowering = !marks;
  a.exact = counters_.data() + kExact;
  a.unit_rows = unit_rows_of(points_.n, tiles);
}

void DeviceSeeding::compare_batch() {
  if (screen_) code_candidates(batch_->arguments, frame(), stream_);
  compare_candidates(batch_->arguments, stream_);
}

// Of candidates that are on the device at the same time.
int64_t DeviceSeeding::max_tiles() const {
  const int64_t centre = points_.d * static_cast<int64_t>(size_of(prototype_type(points_.type)));
  return options_.candidate_bytes / (kSeedTileColumns * (centre + code_bytes_of(points_.d)));
}

void DeviceSeeding::trial(std::span<SeedTrial> trials) {
  use_device();
  hang_if_asked("seeding", stream_);
  for_each_group(
      trials, max_tiles(), [](const SeedTrial& trial) { return trial.candidates->rows(); },
      [&](std::span<SeedTrial> group) { try_together(group); });
}

// Candidates of groups before are forgotten: those that become centres cost another reading of the points.
void DeviceSeeding::try_together(std::span<SeedTrial> trials) {
  forget_trials();
  for (const SeedTrial& trial : trials) {
    Model& m = model(trial.slot);
    m.tried = *trial.candidates;
    m.tile = add_tiles(trial.slot, m.tried, 0, m.tried.rows());
  }
  const size_t numbers = batch_->tiles.size() * kNumbersPerTile;
  place_batch(true);
  fill_zero(batch_->gains.data(), numbers, stream_, "clearing gains of candidates");
  compare_batch();
  batch_->answer.reserve(numbers, "gains of candidates");
  copy_to_host(batch_->answer, batch_->gains.data(), numbers, stream_, "reading gains of candidates");
  stream_.synchronize("screening candidates of seeding");
  for (SeedTrial& trial : trials) {
    Model& m = model(trial.slot);
    total(trial.slot);
    const int64_t* gains = batch_->answer.data() + static_cast<size_t>(m.tile) * kNumbersPerTile;
    const auto candidates = static_cast<size_t>(m.tried.rows());
    m.gains.assign(gains, gains + candidates * kLimbs);
    trial.potentials.clear();
    for (size_t k = 0; k < candidates; ++k) {
      int64_t limbs[kLimbs];
      for (size_t g = 0; g < kLimbs; ++g) limbs[g] = m.total_limbs[g] - m.gains[k * kLimbs + g];
      trial.potentials.push_back(recombine(limbs, m.format));
    }
  }
}

// The kernel arguments of a model whose candidates begin with this tile.
SeedModel DeviceSeeding::to_choose(int slot, int tile) {
  SeedModel one;
  one.rows = rows_of(slot);
  one.hits = batch_->hits.data() + static_cast<size_t>(tile) * static_cast<size_t>(hit_words(points_.n));
  one.tile = tile;
  return one;
}

// Returns a step over these models, and uploads all of them.
SeedStep DeviceSeeding::step_of(std::span<const SeedModel> models) {
  if (batch_->models.size() < models.size()) stream_.synchronize("making room for candidates of seeding");
  batch_->models.reserve(models.size(), "models of seeding");
  staged_.send({batch_->models.data()}, models.data(), models.size_bytes(), stream_, "uploading models of seeding");
  return {batch_->models.data(), static_cast<int>(models.size()), 0, hit_words(points_.n), nullptr};
}

bool DeviceSeeding::run(std::span<SeedRun> runs, int64_t steps) {
  use_device();
  hang_if_asked("seeding", stream_);
  for_each_group(
      runs, max_tiles(), [](const SeedRun& run) { return run.draws; },
      [&](std::span<SeedRun> group) { run_together(group, steps); });
  return true;
}

void DeviceSeeding::run_together(std::span<SeedRun> runs, int64_t steps) {
  forget_trials();
  std::vector<int> tiles;
  std::vector<SeedModel> models;
  for (const SeedRun& run : runs) tiles.push_back(add_tiles(run.slot, run.draws));
  place_batch(true);
  for (size_t i = 0; i < runs.size(); ++i) {
    models.push_back(to_choose(runs[i].slot, tiles[i]));
    models[i].draws = runs[i].draws;
    models[i].key = runs[i].key;
    models[i].centres = runs[i].centres;
    models[i].k = runs[i].k;
  }
  batch_->arguments.chooses = true;
  SeedStep step = step_of(models);
  while (step.index < steps) make_steps(runs, step, std::min(steps, step.index + kStepsTogether));
  for (const SeedRun& run : runs) {
    Model& m = model(run.slot);
    m.total_known = false;
    m.total_stale = true;
    m.nearest.forget();
  }
  batch_->tiles.clear();
}

// Steps up to `last`, and what they chose.
void DeviceSeeding::make_steps(std::span<SeedRun> runs, SeedStep& step, int64_t last) {
  std::vector<int64_t> rows(static_cast<size_t>(last - step.index) * runs.size());
  // The array is idle: its last user waited for the stream.
  batch_->chosen.reserve(static_cast<size_t>(kStepsTogether) * runs.size(), "centres chosen");
  step.chosen = batch_->chosen.data();
  for (; step.index < last; ++step.index) {
    draw_candidates(batch_->arguments, frame(), step, stream_);
    compare_candidates(batch_->arguments, stream_);
    add_chosen(batch_->arguments, frame(), step, stream_);
    step.chosen += runs.size();
  }
  read_back(rows.data(), batch_->chosen.data(), rows.size(), stream_, "choosing centres");
  for (size_t i = 0; i < runs.size(); ++i) {
    for (size_t at = i; at < rows.size() && rows[at] >= 0; at += runs.size()) runs[i].rows.push_back(rows[at]);
  }
}

// Which candidate of the last trial this is; -1: none.
int64_t DeviceSeeding::tried(const Model& m, const Matrix& centre) {
  const size_t bytes = static_cast<size_t>(centre.columns()) * size_of(centre.type());
  if (centre.rows() != 1) return -1;
  for (int64_t k = 0; k < m.tried.rows(); ++k) {
    const std::byte* candidate = m.tried.bytes().data() + static_cast<size_t>(k) * bytes;
    if (std::memcmp(candidate, centre.bytes().data(), bytes) == 0) return k;
  }
  return -1;
}

// Candidates of the last trial become centres.
void DeviceSeeding::add_tried(std::span<const SeedCentres> models) {
  std::vector<SeedModel> chosen;
  for (const SeedCentres& added : models) {
    Model& m = model(added.slot);
    const int64_t k = tried(m, *added.centres);
    m.nearest.forget();
    chosen.push_back(to_choose(added.slot, m.tile));
    chosen.back().chosen = static_cast<int>(k);
    for (size_t g = 0; g < kLimbs; ++g) m.total_limbs[g] -= m.gains[static_cast<size_t>(k) * kLimbs + g];
  }
  if (!chosen.empty()) add_chosen(batch_->arguments, frame(), step_of(chosen), stream_);
}

// Lowers by centres that no trial has seen. Takes as many columns at a time as centres exist, so that a row meets few
// at a time and its threshold falls in between.
void DeviceSeeding::lower(int slot, const Matrix& centres) {
  if (lower_by_pass(slot, centres)) return;
  Model& m = model(slot);
  m.nearest.forget();
  const int64_t most = kMaxSeedTiles * kSeedTileColumns;
  for (int64_t first = 0; first < centres.rows();) {
    const int64_t wanted = screens_ ? std::clamp<int64_t>(m.centres + first, kSeedTileColumns, most) : most;
    const int64_t last = std::min(centres.rows(), first + wanted);
    forget_trials();
    add_tiles(slot, centres, first, last);
    first = last;
    place_batch(false);
    compare_batch();
    summarize(slot, last == centres.rows());
  }
}

bool DeviceSeeding::lower_by_pass(int slot, const Matrix& centres) {
  const std::optional<NearestCentres> found = nearest_by_pass(options_.upload, input_, centres);
  if (!found) return false;
  least(slot);
  Model& m = model(slot);
  m.nearest.take(*found, m.centres, m.host_least);
  const Settled settled(stream_);
  copy_to_device(rows_of(slot).least, m.host_least.data(), m.host_least.size(), stream_, "uploading least distances");
  summarize(slot, true);
  return true;
}

void DeviceSeeding::add(std::span<const SeedCentres> models) {
  use_device();
  std::vector<SeedCentres> known, others;
  for (const SeedCentres& added : models) {
    (tried(model(added.slot), *added.centres) >= 0 ? known : others).push_back(added);
  }
  add_tried(known);
  for (const SeedCentres& added : known) model(added.slot).tried = Matrix();
  for (const SeedCentres& added : others) lower(added.slot, *added.centres);
  for (const SeedCentres& added : models) model(added.slot).centres += added.centres->rows();
}

WideInt DeviceSeeding::total(int slot) {
  use_device();
  Model& m = model(slot);
  if (m.total_stale) summarize(slot, true);
  if (!m.total_known) {
    read_back(m.total_limbs, rows_of(slot).total, kLimbs, stream_, "summing terms of seeding");
    m.total_known = true;
  }
  return recombine(m.total_limbs, m.format);
}

std::vector<int64_t> DeviceSeeding::pick(int slot, std::span<const WideInt> targets) {
  use_device();
  std::vector<int64_t> rows;
  make_room_for_batch(0);
  batch_->answer.reserve(kMaxTargets, "rows picked");
  for (size_t first = 0; first < targets.size(); first += kMaxTargets) {
    const size_t count = std::min<size_t>(targets.size() - first, kMaxTargets);
    SeedTargets some;
    some.count = static_cast<int>(count);
    for (size_t i = 0; i < count; ++i) some.target[i] = on_device(targets[first + i]);
    pick_rows(points_, rows_of(slot), some, batch_->picked.data(), stream_);
    copy_to_host(batch_->answer, batch_->picked.data(), count, stream_, "reading rows picked");
    stream_.synchronize("picking rows");
    rows.insert(rows.end(), batch_->answer.data(), batch_->answer.data() + count);
  }
  return rows;
}

std::vector<int64_t> DeviceSeeding::sample(int slot, const SeedSample& sample) {
  use_device();
  if (sample.total.is_zero()) return {};
  const SeedDraw request{sample.key, sample.draw, static_cast<uint64_t>(sample.factor),
                         std::ldexp(static_cast<double>(sample.factor), 64) / sample.total.to_double(),
                         on_device(sample.total)};
  int64_t capacity = std::min(points_.n, 2 * sample.factor + 4096);  // expected: at most `factor`
  for (;;) {
    DeviceBuffer<int64_t> found(static_cast<size_t>(capacity), "rows sampled");
    const Settled settled(stream_);
    fill_zero(counters_.data() + kLength, 1, stream_, "clearing a counter");
    sample_rows(points_, rows_of(slot), request, {found.data(), capacity, counters_.data() + kLength}, stream_);
    unsigned long long length = 0;
    read_back(&length, counters_.data() + kLength, 1, stream_, "sampling rows");
    const auto listed = static_cast<int64_t>(length);
    if (listed > capacity) {
      capacity = listed;
      continue;
    }
    std::vector<int64_t> rows(static_cast<size_t>(listed));
    read_back(rows.data(), found.data(), rows.size(), stream_, "sampling rows");
    std::sort(rows.begin(), rows.end());
    return rows;
  }
}

std::vector<int64_t> DeviceSeeding::cluster_weights(int slot) {
  return model(slot).nearest.weights(input_, model(slot).centres);
}

std::span<const double> DeviceSeeding::least(int slot) {
  use_device();
  Model& m = model(slot);
  m.host_least.resize(static_cast<size_t>(points_.n));
  read_back(m.host_least.data(), rows_of(slot).least, m.host_least.size(), stream_,
            "reading least distances of seeding");
  return m.host_least;
}

int64_t DeviceSeeding::exact_distances() {
  unsigned long long count = 0;
  read_back(&count, counters_.data() + kExact, 1, stream_, "counting distances of seeding");
  return static_cast<int64_t>(count);
}

}  // namespace manymeans::cuda
