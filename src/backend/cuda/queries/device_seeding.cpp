#include "backend/cuda/queries/device_seeding.h"

#include "backend/cuda/queries/seed_tasks.h"
#include "backend/cuda/runtime/endless_kernel.h"
#include "backend/cuda/runtime/kept_memory.h"
#include "core/data_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace manymeans::cuda {
namespace {

constexpr int kLimbs = kDistanceLimbs;
// The screen's products are exact up to here: D * 128 * 127 < 2^31.
constexpr int64_t kMostColumnsToScreen = int64_t{1} << 17;
constexpr int kNumbersPerTile = kSeedTileColumns * kLimbs;

enum Counter : size_t { kExact, kLength, kLargest, kCounters };

// Bytes of a row's codes: the matrix products take 64 columns at a time.
int64_t code_bytes_of(int64_t d) {
  return (d + 63) / 64 * 64;
}

// A sum of seeding as the device has it: three words hold it.
Wide<3> on_device(const WideInt& sum) {
  Wide<3> wide;
  for (int i = 0; i < 3; ++i) wide.word[i] = sum.word(i);
  return wide;
}

size_t hit_words(int64_t n) {
  return static_cast<size_t>((n + 3) / 4);
}

}  // namespace

struct DeviceSeeding::Model {
  DeviceBuffer<double> least;
  std::vector<double> host_least;  // once somebody has asked
  DeviceBuffer<float> thresholds;
  DeviceBuffer<int64_t> blocks;
  DeviceBuffer<int64_t> total;
  SumFormat format;
  int64_t centres = 0;

  bool total_known = false;
  int64_t total_limbs[kLimbs] = {};

  // The last trial: its candidates, their gains, and which rows each lowers; a tile after the other.
  Matrix tried;
  std::vector<int64_t> gains;
  DeviceBuffer<unsigned> hits;
  bool hits_clear = false;
  const double* tried_centres = nullptr;  // on the device, nullptr if they are there no more
};

struct DeviceSeeding::Screen {
  DeviceBuffer<double> frame;  // centres, then steps, then ranges of the columns
  DeviceBuffer<int8_t> codes;
  DeviceBuffer<float> radii;
  DeviceBuffer<float> squares;
  int64_t code_bytes = 0;
  SeedFrame view;
};

// Candidates of one reading of the points, and where they are on the device.
struct DeviceSeeding::Batch {
  SeedArguments arguments;
  std::vector<std::byte> rows;  // tiles x 8 x d of the prototypes' type
  DeviceBuffer<std::byte> raw;
  DeviceBuffer<double> centres;
  DeviceBuffer<double> centre;  // one of another trial than the last
  DeviceBuffer<int8_t> fragments;
  DeviceBuffer<SeedColumn> columns;
  DeviceBuffer<int64_t> gains;
  PinnedBuffer<int64_t> host_gains;
  DeviceBuffer<int64_t> picked;
  PinnedBuffer<int64_t> host_picked;

  void add_tile(const SeedTile& tile, const Matrix& candidates, int64_t first) {
    const size_t row = static_cast<size_t>(candidates.columns()) * size_of(candidates.type());
    const size_t begin = rows.size();
    rows.resize(begin + kSeedTileColumns * row);
    std::memcpy(rows.data() + begin, candidates.bytes().data() + static_cast<size_t>(first) * row,
                static_cast<size_t>(tile.columns) * row);
    arguments.tile[arguments.tiles++] = tile;
  }
  // Kernels come for 1, 2 and 4 tiles.
  void pad() {
    if (arguments.tiles != 3) return;
    rows.resize(rows.size() / 3 * 4);
    arguments.tile[3] = arguments.tile[0];
    arguments.tile[3].columns = 0;
    arguments.tiles = 4;
  }
  void clear() {
    rows.clear();
    arguments.tiles = 0;
  }
};

DeviceSeeding::DeviceSeeding(const Input& input, const DevicePoints& points, int slots, const Patience& patience,
                             const SeedingOptions& options)
    : input_(input),
      points_(points),
      stream_(patience),
      options_(options),
      screens_(!options.exact && points.d >= options.columns_to_screen && points.d <= kMostColumnsToScreen),
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

// Whether there is room for the 8-bit copy and what goes with it, a tenth left free for the rest of seeding.
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
  s.frame = DeviceBuffer<double>(3 * d, "the frame of the seeding screen");
  copy_to_device(s.frame.data() + 2 * d, ranges.data(), d, stream_, "uploading the columns' ranges");
  s.codes = DeviceBuffer<int8_t>(n * static_cast<size_t>(s.code_bytes), "the 8-bit copy of the points for seeding");
  s.radii = DeviceBuffer<float>(n, "radii of the 8-bit copy");
  s.squares = DeviceBuffer<float>(n, "norms of the 8-bit copy");
  s.view = {s.frame.data(),
            s.frame.data() + d,
            std::ldexp(1.0, e),
            0,
            std::ldexp(static_cast<double>(d), 2 * e - 1074) + 0x1p-100,
            options_.bound_scale};

  std::vector<float> radii(static_cast<size_t>(sample));
  std::vector<float> code_norms(static_cast<size_t>(sample));
  find_seed_frame(points_, {sample, s.view.scale, s.frame.data() + 2 * d, s.frame.data(), s.frame.data() + d}, stream_);
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

// What kernels see of a model.
SeedRows DeviceSeeding::rows_of(Model& model) const {
  return {model.least.data(),
          screen_ ? model.thresholds.data() : nullptr,
          screen_ ? screen_->squares.data() : nullptr,
          model.blocks.data(),
          model.total.data(),
          TermSplitter(model.format)};
}

SeedFrame DeviceSeeding::frame() const {
  return screen_ ? screen_->view : SeedFrame{};
}

// Thresholds from the least distances and, if asked for, the terms' sums.
void DeviceSeeding::summarize(Model& m, bool sums) {
  if (sums) {
    fill_zero(m.total.data(), kLimbs, stream_, "clearing a sum of seeding");
    m.total_known = false;
  }
  summarize_rows(points_, rows_of(m), frame(), sums, stream_);
}

std::vector<double> DeviceSeeding::begin(std::span<const SeedCentres> models) {
  use_device();
  std::vector<double> largest;
  for (const SeedCentres& begun : models) largest.push_back(begin(model(begun.slot), *begun.centres));
  return largest;
}

// The first centres: all distances, and the largest term.
double DeviceSeeding::begin(Model& m, const Matrix& centres) {
  make_screen();
  const auto n = static_cast<size_t>(points_.n);
  if (m.least.empty()) {
    m.least = DeviceBuffer<double>(n, "least distances of seeding");
    if (screens_) m.thresholds = DeviceBuffer<float>(n, "thresholds of seeding");
    const size_t blocks = (n + kSeedSumRows - 1) / kSeedSumRows;
    m.blocks = DeviceBuffer<int64_t>(blocks * kLimbs, "sums of seeding");
    m.total = DeviceBuffer<int64_t>(kLimbs, "a sum of seeding");
  }
  m.tried = Matrix();
  m.centres = centres.rows();
  std::vector<double> wide(static_cast<size_t>(centres.rows() * points_.d));
  widen(centres.view().data, centres.type(), 0, centres.rows() * points_.d, wide.data());
  DeviceBuffer<double> device(wide.size(), "first centres");
  const Settled settled(stream_);
  copy_to_device(device.data(), wide.data(), wide.size(), stream_, "uploading first centres");
  fill_zero(counters_.data() + kLargest, 1, stream_, "clearing a counter");
  find_first_distances(points_, {device.data(), centres.rows(), m.least.data(), counters_.data() + kLargest}, stream_);
  unsigned long long bits = 0;
  read_back(&bits, counters_.data() + kLargest, 1, stream_, "computing distances to first centres");
  return std::bit_cast<double>(static_cast<uint64_t>(bits));
}

void DeviceSeeding::fix_scale(int slot, double largest) {
  use_device();
  model(slot).format = SumFormat::make(input_.bits, kLimbs, largest);
  summarize(model(slot), true);
}

// Uploads the batch's candidates, prepares them and reads the points.
void DeviceSeeding::run_batch(Batch& batch, bool lowering) {
  batch.pad();
  for (Model& m : models_) m.tried_centres = nullptr;  // their place is needed
  SeedArguments& a = batch.arguments;
  const auto d = static_cast<size_t>(points_.d);
  const size_t most = kMostSeedTiles * kSeedTileColumns;
  batch.raw.reserve(most * d * size_of(prototype_type(points_.type)), "candidates of seeding");
  batch.centres.reserve(most * d, "candidates of seeding");
  a.points = points_;
  a.lowering = lowering;
  a.exact = counters_.data() + kExact;
  a.centres = batch.centres.data();
  batch.columns.reserve(most, "bounds of candidates");
  a.columns = batch.columns.data();
  if (screen_) {
    batch.fragments.reserve(most * static_cast<size_t>(screen_->code_bytes), "codes of candidates");
    a.codes = screen_->codes.data();
    a.code_bytes = screen_->code_bytes;
    a.radii = screen_->radii.data();
    a.fragments = reinterpret_cast<const uint4*>(batch.fragments.data());
  }
  staged_.send({batch.raw.data()}, batch.rows.data(), batch.rows.size() * sizeof(batch.rows[0]), stream_,
               "uploading candidates of seeding");
  const bool screened = screen_ != nullptr;
  prepare_candidates(a, batch.raw.data(), frame(),
                     {screened, batch.centres.data(), batch.fragments.data(), batch.columns.data()}, stream_);
  compare_candidates(a, screened, stream_);
}

void DeviceSeeding::trial(std::span<SeedTrial> trials) {
  use_device();
  hang_if_asked("seeding", stream_);
  struct Placed {
    SeedTile tile;
    const Matrix* candidates = nullptr;
    int64_t first = 0;
  };
  std::vector<Placed> placed;
  for (SeedTrial& trial : trials) {
    Model& m = model(trial.slot);
    m.tried = *trial.candidates;
    const int64_t rows = m.tried.rows();
    const size_t words = hit_words(points_.n);
    const auto tiles = static_cast<size_t>((rows + kSeedTileColumns - 1) / kSeedTileColumns);
    if (m.hits.size() < tiles * words) {
      stream_.synchronize("making room for a trial of seeding");  // which may still clear the marks there were
      m.hits.reserve(tiles * words, "rows that candidates lower");
      m.hits_clear = false;
    }
    if (!m.hits_clear) fill_zero(m.hits.data(), m.hits.size(), stream_, "clearing marks of seeding");
    m.hits_clear = false;
    m.tried_centres = nullptr;
    for (int64_t first = 0; first < rows; first += kSeedTileColumns) {
      const auto width = static_cast<int>(std::min<int64_t>(kSeedTileColumns, rows - first));
      unsigned* hits = m.hits.data() + static_cast<size_t>(first / kSeedTileColumns) * words;
      placed.push_back({{m.thresholds.data(), m.least.data(), hits, width, TermSplitter(m.format)}, &m.tried, first});
    }
  }
  // Gains of a batch of three tiles take the room of four.
  const size_t numbers = (placed.size() + kMostSeedTiles) * kNumbersPerTile;
  batch_->gains.reserve(numbers, "gains of candidates");
  fill_zero(batch_->gains.data(), numbers, stream_, "clearing gains of candidates");
  for (size_t i = 0; i < placed.size(); i += kMostSeedTiles) {
    batch_->clear();
    batch_->arguments.gains = batch_->gains.data() + i * kNumbersPerTile;
    for (size_t t = i; t < std::min(placed.size(), i + kMostSeedTiles); ++t) {
      batch_->add_tile(placed[t].tile, *placed[t].candidates, placed[t].first);
    }
    run_batch(*batch_, false);
  }
  batch_->host_gains.reserve(placed.size() * kNumbersPerTile, "gains of candidates");
  copy_to_host(batch_->host_gains, batch_->gains.data(), placed.size() * kNumbersPerTile, stream_,
               "reading gains of candidates");
  stream_.synchronize("screening candidates of seeding");
  const int64_t* at = batch_->host_gains.data();
  const double* centres = placed.size() <= kMostSeedTiles ? batch_->centres.data() : nullptr;
  for (SeedTrial& trial : trials) {
    Model& m = model(trial.slot);
    total(trial.slot);
    const auto candidates = static_cast<size_t>(m.tried.rows());
    const size_t tiles = (candidates + kSeedTileColumns - 1) / kSeedTileColumns;
    m.gains.assign(at, at + tiles * kNumbersPerTile);
    at += tiles * kNumbersPerTile;
    m.tried_centres = centres;
    if (centres != nullptr) centres += tiles * kSeedTileColumns * static_cast<size_t>(points_.d);
    trial.potentials.clear();
    for (size_t k = 0; k < candidates; ++k) {
      int64_t limbs[kLimbs];
      for (size_t g = 0; g < kLimbs; ++g) limbs[g] = m.total_limbs[g] - m.gains[k * kLimbs + g];
      trial.potentials.push_back(recombine(limbs, m.format));
    }
  }
}

// True if `centre` was a candidate of the last trial, and is a centre now.
bool DeviceSeeding::apply_trial(Model& m, const Matrix& centre) {
  const size_t bytes = static_cast<size_t>(centre.columns()) * size_of(centre.type());
  int64_t k = 0;
  while (k < m.tried.rows() &&
         std::memcmp(m.tried.bytes().data() + static_cast<size_t>(k) * bytes, centre.bytes().data(), bytes) != 0) {
    ++k;
  }
  if (k == m.tried.rows()) return false;
  batch_->centre.reserve(static_cast<size_t>(points_.d), "a centre");
  const double* on_device = batch_->centre.data();
  if (m.tried_centres != nullptr) {
    on_device = m.tried_centres + k * points_.d;
  } else {
    std::vector<double> wide(static_cast<size_t>(points_.d));
    widen(centre.view().data, centre.type(), 0, points_.d, wide.data());
    staged_.send({batch_->centre.data()}, wide.data(), wide.size() * sizeof(double), stream_, "uploading a centre");
  }
  const unsigned* hits = m.hits.data() + static_cast<size_t>(k / kSeedTileColumns) * hit_words(points_.n);
  add_centre(points_, rows_of(m), frame(), {hits, static_cast<int>(k % kSeedTileColumns), on_device}, stream_);
  // For the next trial, while the host is busy with what comes before it.
  fill_zero(m.hits.data(), m.hits.size(), stream_, "clearing marks of seeding");
  m.hits_clear = true;
  for (size_t g = 0; g < kLimbs; ++g) m.total_limbs[g] -= m.gains[static_cast<size_t>(k) * kLimbs + g];
  return true;
}

// Centres that no trial has seen: as many columns at a time as there are centres already, so that a row meets few of
// them at a time and its threshold falls in between.
void DeviceSeeding::lower(int slot, const Matrix& centres) {
  Model& m = model(slot);
  const int64_t most = kMostSeedTiles * kSeedTileColumns;
  for (int64_t first = 0; first < centres.rows();) {
    const int64_t wanted = screens_ ? std::clamp<int64_t>(m.centres + first, kSeedTileColumns, most) : most;
    const int64_t last = std::min(centres.rows(), first + wanted);
    batch_->clear();
    batch_->arguments.gains = nullptr;
    for (; first < last; first += kSeedTileColumns) {
      const auto width = static_cast<int>(std::min<int64_t>(kSeedTileColumns, last - first));
      batch_->add_tile({m.thresholds.data(), m.least.data(), nullptr, width, TermSplitter(m.format)}, centres, first);
    }
    first = last;
    run_batch(*batch_, true);
    summarize(m, last == centres.rows());
  }
}

void DeviceSeeding::add(std::span<const SeedCentres> models) {
  use_device();
  for (const SeedCentres& added : models) {
    Model& m = model(added.slot);
    if (added.centres->rows() != 1 || !apply_trial(m, *added.centres)) lower(added.slot, *added.centres);
    m.centres += added.centres->rows();
    m.tried = Matrix();
  }
}

WideInt DeviceSeeding::total(int slot) {
  use_device();
  Model& m = model(slot);
  if (!m.total_known) {
    read_back(m.total_limbs, m.total.data(), kLimbs, stream_, "summing terms of seeding");
    m.total_known = true;
  }
  return recombine(m.total_limbs, m.format);
}

std::vector<int64_t> DeviceSeeding::pick(int slot, std::span<const WideInt> targets) {
  use_device();
  Model& m = model(slot);
  std::vector<int64_t> rows;
  batch_->picked.reserve(kMostTargets, "rows picked");
  batch_->host_picked.reserve(kMostTargets, "rows picked");
  for (size_t first = 0; first < targets.size(); first += kMostTargets) {
    const size_t count = std::min<size_t>(targets.size() - first, kMostTargets);
    SeedTargets some;
    some.count = static_cast<int>(count);
    for (size_t i = 0; i < count; ++i) some.target[i] = on_device(targets[first + i]);
    pick_rows(points_, rows_of(m), some, batch_->picked.data(), stream_);
    copy_to_host(batch_->host_picked, batch_->picked.data(), count, stream_, "reading rows picked");
    stream_.synchronize("picking rows");
    rows.insert(rows.end(), batch_->host_picked.data(), batch_->host_picked.data() + count);
  }
  return rows;
}

std::vector<int64_t> DeviceSeeding::sample(int slot, const SeedSample& sample) {
  use_device();
  Model& m = model(slot);
  if (sample.total.is_zero()) return {};
  const SeedDraw request{sample.key, sample.draw, static_cast<uint64_t>(sample.factor),
                         std::ldexp(static_cast<double>(sample.factor), 64) / sample.total.to_double(),
                         on_device(sample.total)};
  int64_t capacity = std::min(points_.n, 2 * sample.factor + 4096);  // expected: at most `factor`
  for (;;) {
    DeviceBuffer<int64_t> found(static_cast<size_t>(capacity), "rows sampled");
    const Settled settled(stream_);
    fill_zero(counters_.data() + kLength, 1, stream_, "clearing a counter");
    sample_rows(points_, rows_of(m), request, {found.data(), capacity, counters_.data() + kLength}, stream_);
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

std::span<const double> DeviceSeeding::least(int slot) {
  use_device();
  Model& m = model(slot);
  m.host_least.resize(m.least.size());
  read_back(m.host_least.data(), m.least.data(), m.least.size(), stream_, "reading least distances of seeding");
  return m.host_least;
}

int64_t DeviceSeeding::exact_distances() {
  unsigned long long count = 0;
  read_back(&count, counters_.data() + kExact, 1, stream_, "counting distances of seeding");
  return static_cast<int64_t>(count);
}

}  // namespace manymeans::cuda
