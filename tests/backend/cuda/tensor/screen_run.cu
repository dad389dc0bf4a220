// The screen's kernels over made data: everything that they say of a row is compared with the truth.
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/tensor/matrix_screen.h"
#include "screen_check.h"

#include <cmath>
#include <cstring>

namespace manymeans::test {

using namespace cuda;

namespace {

// Everything of one screen, on the device.
class Trial {
 public:
  Trial(const ScreenData& data, const ScreenWays& ways) : data_(data), ways_(ways) {
    const char* forced = std::getenv("SCREEN_CHECK_TILE");
    unit_ = std::getenv("SCREEN_CHECK_SYNC") != nullptr ? MatrixUnit::kSync : matrix_unit_of(0);
    padded_ = (data.d + 15) / 16 * 16;
    tile_ = forced != nullptr && data.d <= 128 ? std::atoi(forced) : matrix_tile_columns(unit_, padded_, data.k);
    for (int model = 0; model < data.models; ++model) prototypes_.push_back(prototypes_of(data, model));
    make_points();
    make_columns();
    make_output();
    make_overflow_rows();
  }

  ScreenOutcome run() {
    if (ways_.fall) screen_once_for_thresholds();
    ScreenOutcome outcome;
    outcome.ms = screen_repeatedly();
    // As the backend: fewer values of prototypes than these get every distance.
    gathers_ = static_cast<int64_t>(data_.k) * data_.d > kDirectValues;
    if (gathers_) gather_candidates(points_, packed_columns_, output_, nullptr);
    CHECK_CUDA(cudaDeviceSynchronize());
    read_answers(outcome);
    count_answers(outcome);
    compare_with_truth(outcome);
    return outcome;
  }

 private:
  int64_t all() const { return data_.rows * data_.models; }
  // r / n is about 2^-12.3.
  RadiusRule rule() const { return {0x1p-12, product_roundings(unit_ == MatrixUnit::kHopper), data_.d}; }

  void make_points() {
    const int64_t padded_rows = (data_.rows + kRowBlock - 1) / kRowBlock * kRowBlock;
    x_ = Device<float>(static_cast<size_t>(data_.rows * data_.d));
    fill_points(data_, prototypes_[0], x_.data);
    values_ = Device<__half>(static_cast<size_t>(padded_rows * padded_));
    radii_ = Device<float>(static_cast<size_t>(padded_rows));
    norms_ = Device<float>(static_cast<size_t>(padded_rows));
    values_.fill(0);
    radii_.fill(0);
    norms_.fill(0);
    pack_points(x_.data, data_.d, rule(), {values_.data, radii_.data, norms_.data, data_.rows, padded_});
    points_.values = values_.data;
    points_.radii = radii_.data;
    points_.norms = norms_.data;
    points_.rows = data_.rows;
    points_.padded_rows = padded_rows;
    points_.padded_columns = padded_;
  }

  void make_columns() {
    const bool by_number = tile_ == kOneTile && !ways_.fall;
    HostColumns columns;
    for (size_t model = 0; model < prototypes_.size(); ++model) {
      pack_model(data_, prototypes_[model], static_cast<int>(model),
                 {tile_, padded_, rule(), ways_.bound_scale, by_number}, columns);
    }
    const auto count = static_cast<int64_t>(columns.order.size());
    column_values_ = Device<__half>(columns.values);
    offsets_ = Device<float>(columns.offsets);
    slopes_ = Device<float>(columns.slopes);
    errors_ = Device<float>(columns.errors);
    order_ = Device<uint32_t>(columns.order);
    ranges_ = Device<ColumnRange>(columns.ranges);
    terms_ = Device<float>(static_cast<size_t>(matrix_terms(count, tile_)));
    shifts_ = Device<float>(std::vector<float>(columns.order.size(), 1));
    packed_columns_.values = column_values_.data;
    packed_columns_.offsets = offsets_.data;
    packed_columns_.slopes = slopes_.data;
    packed_columns_.errors = errors_.data;
    packed_columns_.order = order_.data;
    packed_columns_.columns = static_cast<int32_t>(count);
    packed_columns_.ranges = ranges_.data;
    packed_columns_.models = data_.models;
    packed_columns_.unit = unit_;
    packed_columns_.tile_columns = tile_;
    packed_columns_.by_number = by_number;
    packed_columns_.terms = terms_.data;
  }

  void make_output() {
    const int64_t mark_stride = (data_.rows + 31) / 32;
    const auto capacity = static_cast<uint32_t>(std::min(all(), ways_.max_listed));
    labels_ = Device<uint32_t>(static_cast<size_t>(all()));
    marks_ = Device<uint32_t>(static_cast<size_t>(mark_stride * data_.models));
    list_ = Device<FewRow>(capacity);
    listed_ = Device<uint32_t>(1);
    lowers_ = Device<float>(static_cast<size_t>(all()));
    falls_ = Device<ScoreDrop>(
        std::vector<ScoreDrop>(static_cast<size_t>(data_.models), ScoreDrop{ways_.fall.value_or(0), 0}));
    lowers_.fill(0);
    output_.labels = {labels_.data, data_.rows, 4};
    output_.few = list_.data;
    output_.few_count = listed_.data;
    output_.few_capacity = capacity;
    output_.marks = marks_.data;
    output_.mark_stride = mark_stride;
    output_.thresholds.shifts = shifts_.data;
  }

  void make_overflow_rows() {
    const auto models = static_cast<size_t>(data_.models);
    OverflowRows& overflow = output_.overflow;
    overflow.capacity = 64 * kOverflowBlock;
    const size_t rows = models * overflow.capacity;
    overflow_rows_ = Device<OverflowRow>(rows);
    overflow_counts_ = Device<uint32_t>(models);
    overflow_found_ = Device<uint32_t>(rows);
    overflow_prototypes_ = Device<uint32_t>(rows * kMaxGathered);
    overflow_values_ = Device<__half>(rows * static_cast<size_t>(padded_));
    overflow.rows = overflow_rows_.data;
    overflow.counts = overflow_counts_.data;
    overflow.values = overflow_values_.data;
    overflow.found = overflow_found_.data;
    overflow.prototypes = overflow_prototypes_.data;
  }

  void clear() {
    labels_.fill(0xFF);
    marks_.fill(0);
    listed_.fill(0);
    overflow_counts_.fill(0);
  }

  // Thresholds are what a screen without them found; the labels of rows that it did not prove are wrong.
  void screen_once_for_thresholds() {
    clear();
    labels_.fill(0);
    output_.thresholds.lowers = lowers_.data;
    output_.thresholds.stride = data_.rows;
    gather_tile_terms(packed_columns_, nullptr);
    matrix_screen(points_, packed_columns_, output_, nullptr);
    CHECK_CUDA(cudaDeviceSynchronize());
    output_.thresholds.falls = falls_.data;
    old_labels_ = Device<uint32_t>(labels_.host());
    output_.thresholds.labels = {old_labels_.data, data_.rows, 4};
  }

  // The median of the milliseconds.
  double screen_repeatedly() {
    const std::vector<float> kept_lowers = lowers_.host();
    cudaEvent_t from;
    cudaEvent_t to;
    CHECK_CUDA(cudaEventCreate(&from));
    CHECK_CUDA(cudaEventCreate(&to));
    std::vector<float> times;
    for (int repeat = 0; repeat < ways_.repeats + 1; ++repeat) {
      clear();
      lowers_.copy(kept_lowers);
      CHECK_CUDA(cudaEventRecord(from));
      gather_tile_terms(packed_columns_, nullptr);
      matrix_screen(points_, packed_columns_, output_, nullptr);
      CHECK_CUDA(cudaEventRecord(to));
      CHECK_CUDA(cudaDeviceSynchronize());
      times.push_back(0);
      CHECK_CUDA(cudaEventElapsedTime(&times.back(), from, to));
    }
    CHECK_CUDA(cudaEventDestroy(from));
    CHECK_CUDA(cudaEventDestroy(to));
    if (ways_.repeats > 0) times.erase(times.begin());
    std::sort(times.begin(), times.end());
    return static_cast<double>(times[times.size() / 2]);
  }

  void enter(int model, int64_t row, const uint32_t* first, uint32_t count, ScreenOutcome& outcome) {
    int32_t& entry = entry_of_[static_cast<size_t>(model * data_.rows + row)];
    if (entry >= 0) ++outcome.wrong;
    entry = static_cast<int32_t>(candidates_.size());
    candidates_.emplace_back(first, first + count);
  }

  void read_answers(ScreenOutcome& outcome) {
    entry_of_.assign(static_cast<size_t>(all()), -1);
    const std::vector<FewRow> list = list_.host();
    const uint32_t places = std::min(listed_.host()[0], output_.few_capacity);
    uint32_t entries = 0;
    for (uint32_t i = 0; i < places; ++i) {
      const FewRow& entry = list[i];
      if (entry.count == 0) continue;
      ++entries;
      if (entry.count < 1 || entry.count > kMaxCandidates) ++outcome.wrong;
      enter(entry.range, entry.row, entry.candidates, static_cast<uint32_t>(entry.count), outcome);
      outcome.candidates += entry.count;
    }
    outcome.listed = entries / static_cast<double>(all());
    outcome.candidates /= std::max(1U, entries);
    read_overflow_rows(outcome);
  }

  // With more candidates than are kept, or none gathered, every prototype is looked at.
  void read_overflow_rows(ScreenOutcome& outcome) {
    const std::vector<OverflowRow> rows = overflow_rows_.host();
    const std::vector<uint32_t> found = overflow_found_.host();
    const std::vector<uint32_t> gathered = overflow_prototypes_.host();
    const std::vector<uint32_t> counts = overflow_counts_.host();
    const uint32_t capacity = output_.overflow.capacity;
    const uint32_t every = ~0U;
    int64_t overflowing = 0;
    for (int model = 0; model < data_.models; ++model) {
      for (uint32_t i = 0; i < std::min(counts[static_cast<size_t>(model)], capacity); ++i) {
        const size_t at = static_cast<size_t>(model) * capacity + i;
        const bool few = gathers_ && found[at] <= kMaxGathered;
        enter(model, rows[at].row, few ? &gathered[at * kMaxGathered] : &every, few ? found[at] : 1, outcome);
        ++overflowing;
      }
    }
    outcome.overflow = static_cast<double>(overflowing) / static_cast<double>(all());
  }

  // Every row of every model is proved, listed with few candidates, in overflow, or marked: one of these.
  void count_answers(ScreenOutcome& outcome) {
    got_ = labels_.host();
    const std::vector<uint32_t> marked = marks_.host();
    int64_t certified = 0;
    int64_t marks_set = 0;
    for (int64_t at = 0; at < all(); ++at) {
      const int64_t row = at % data_.rows;
      const auto word = static_cast<size_t>(at / data_.rows * output_.mark_stride + row / 32);
      const bool is_marked = (marked[word] >> (row % 32) & 1) != 0;
      const bool is_listed = entry_of_[static_cast<size_t>(at)] >= 0;
      const bool is_proved = got_[static_cast<size_t>(at)] != ~0U;
      if (is_marked + is_listed + is_proved != 1) ++outcome.wrong;
      certified += is_proved;
      marks_set += is_marked;
    }
    outcome.certified = static_cast<double>(certified) / static_cast<double>(all());
    outcome.marked = static_cast<double>(marks_set) / static_cast<double>(all());
  }

  bool is_right(size_t at, uint32_t want) const {
    if (got_[at] != ~0U) return got_[at] == want;
    if (entry_of_[at] < 0) return true;
    const std::vector<uint32_t>& entry = candidates_[static_cast<size_t>(entry_of_[at])];
    return entry == std::vector<uint32_t>{~0U} || std::find(entry.begin(), entry.end(), want) != entry.end();
  }

  void compare_with_truth(ScreenOutcome& outcome) const {
    const double work = static_cast<double>(all()) * data_.k * data_.d;
    const auto stride = static_cast<int64_t>(std::ceil(work / ways_.max_work));
    for (int model = 0; model < data_.models; ++model) {
      const std::vector<uint32_t> right = true_labels(data_, x_.data, prototypes_[static_cast<size_t>(model)], stride);
      for (size_t i = 0; i < right.size(); ++i) {
        const int64_t row = static_cast<int64_t>(i) * stride;
        const auto at = static_cast<size_t>(model * data_.rows + row);
        if (is_right(at, right[i]) || ++outcome.wrong > 3) continue;
        std::printf("  row %lld model %d: label %d, not %u\n", static_cast<long long>(row), model,
                    static_cast<int>(got_[at]), right[i]);
      }
      outcome.looked_at += static_cast<int64_t>(right.size());
    }
  }

  const ScreenData data_;
  const ScreenWays ways_;
  MatrixUnit unit_ = MatrixUnit::kHopper;
  int padded_ = 0;
  int tile_ = 0;
  bool gathers_ = false;
  std::vector<std::vector<float>> prototypes_;
  Device<float> x_, radii_, norms_, offsets_, slopes_, errors_, terms_, lowers_, shifts_;
  Device<__half> values_, column_values_, overflow_values_;
  Device<uint32_t> order_, labels_, old_labels_, marks_, listed_, overflow_counts_, overflow_found_,
      overflow_prototypes_;
  Device<ColumnRange> ranges_;
  Device<FewRow> list_;
  Device<OverflowRow> overflow_rows_;
  Device<ScoreDrop> falls_;
  PackedRows points_;
  PackedColumns packed_columns_;
  ScreenOutput output_;
  // What was found.
  std::vector<uint32_t> got_;
  std::vector<std::vector<uint32_t>> candidates_;
  std::vector<int32_t> entry_of_;
};

}  // namespace

ScreenOutcome run_screen(const ScreenData& data, const ScreenWays& ways) {
  return Trial(data, ways).run();
}

}  // namespace manymeans::test
