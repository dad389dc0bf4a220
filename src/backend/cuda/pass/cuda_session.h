// Labels and statistics of an ensemble's models on a CUDA device.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/boxes/box_pass.h"
#include "backend/cuda/device/pass_ranges.h"
#include "backend/cuda/exact/resolve.h"
#include "backend/cuda/margins/carried_margins.h"
#include "backend/cuda/pass/cuda_shared.h"
#include "backend/cuda/queries/assigned_distances.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/staging.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace manymeans::cuda {

class CudaSession final : public Session, public RowQuestions {
 public:
  CudaSession(const CudaShared& shared, std::span<const int64_t> k, int threads);
  ~CudaSession() override;

  int advance(std::span<PassModel> models, int n) override;
  const Labels& labels(int slot) override;
  void fetch(std::span<const int> slots) override;
  const Statistics& statistics(int slot) override;
  Labels take_labels(int slot) override;
  void move_row(int slot, int64_t row, uint32_t label) override;
  void relabel(int slot, std::span<const uint32_t> new_label, std::span<const int64_t> kept) override;
  RowQuestions& rows() override { return *this; }

  std::vector<DistantRow> farthest_rows(int slot, const Matrix& prototypes, int64_t count) override;
  std::vector<InertiaSum> inertias(std::span<const ModelPrototypes> models) override;
  std::vector<int64_t> inertia_limbs(int slot, const Matrix& prototypes, const SumFormat& format) override;
  std::vector<double> distances(int slot, const Matrix& prototypes) override;
  void transform(const Matrix& prototypes, Matrix& distances) override;

 private:
  struct Model {
    int64_t k = 0;                                      // now; `relabel` lowers it
    int64_t most = 0;                                   // what there is room for
    int64_t first = 0;                                  // its first cluster among those of all models
    int64_t changed = 0;                                // labels in the last pass that the host knows of
    bool labelled = false;                              // there are labels
    bool labels_here = false, statistics_here = false;  // the host's copies are those of the device
    Labels labels;
    Statistics statistics;
  };

  Model& model(int slot) { return models_[static_cast<size_t>(slot)]; }
  int64_t n() const { return shared_.input.points.n; }
  int64_t d() const { return shared_.input.points.d; }
  bool float64() const { return shared_.input.points.type == DataType::kFloat64; }
  size_t prototype_bytes() const { return float64() ? 8 : 4; }
  int64_t rows_together() const { return std::min(n(), shared_.plan.slice_rows); }
  void make_room();
  void make_room_for_matrix();
  void make_room_for_boxes();
  void make_room_for_open(int64_t most_clusters);
  PassRange range_of(int slot) const;
  // From this row on.
  LabelRows current_rows(int64_t first) { return {current_.data() + first * width_, stride_, width_}; }
  // Of the slice at work.
  LabelRows next_rows() { return {next_.data(), next_stride_, width_}; }
  DeviceLabels labels_of(int slot);
  void fetch_labels(std::span<const int> slots);
  void make_statistics(Model& m);
  void fetch_statistics();
  void upload_prototypes(int slot, const Matrix& prototypes);
  void download_prototypes(int slot, Matrix& prototypes);
  void send_statistics(int slot);

  // With points in boxes labels lie in their order.
  bool boxed() const { return shared_.boxes != nullptr; }
  BoxTask box_task(const PassRanges& ranges);
  DeviceLabels unboxed_labels(int slot);
  void forget_boxes(int slot);

  // Margins of the rows of the only model (session_margins.cpp).
  void make_room_for_margins();
  bool carries() const { return !margins_.empty() && policy_.carries(); }
  MarginTask margin_task(const PassRanges& ranges);
  void enqueue_screen_of_rows_left(const PassRanges& ranges, const PackedRows& points, const PackedColumns& columns,
                                   const ScreenOutput& output);
  void learn_of_margins(size_t pass);
  void forget_margins() { margins_known_ = false; }
  void forget_margin(int64_t row);

  // One batch of passes.
  PassRanges begin_batch(std::span<const PassModel> models, int n);
  int enqueue_passes(PassRanges& ranges, int from, int to, size_t models);
  void enqueue_pass(const PassRanges& ranges);
  void enqueue_slice(const PassRanges& ranges, const PointSlice& slice);
  void enqueue_solve(const PassRanges& ranges);
  bool enqueue_resident_passes(const PassRanges& ranges, int most);
  int passes_between_questions(std::span<const PassModel> models) const;
  int end_batch(std::span<PassModel> models);
  void weigh_floors(std::span<const PassModel> models);
  void fetch_counters(size_t models);
  void learn_from_passes(std::span<const PassModel> models);
  AccumulateTask accumulate_task(const PassRanges& ranges, const DevicePoints& points);
  FloatColumns float_columns();
  FloatScreenTask float_task(const PassRanges& ranges, const PointSlice& slice);
  void enqueue_float_screen(const PassRanges& ranges, const PointSlice& slice);
  void enqueue_second_screen(const PassRanges& ranges, const PointSlice& slice);
  void enqueue_collect(const PassRanges& ranges, const PointSlice& slice);
  PackedColumns packed_columns(const PassRanges& ranges);
  MatrixPackTask matrix_pack_task(const PassRanges& ranges);
  ResolveTask resolve_task(const PassRanges& ranges, const PointSlice& slice);
  ScreenOutput matrix_output();
  void enqueue_matrix_screen(const PassRanges& ranges, const PointSlice& slice);

  const CudaShared& shared_;
  std::vector<Model> models_;
  int64_t clusters_ = 0;  // of all models
  int64_t stride_ = 0;    // between the labels of two slots
  int64_t next_stride_ = 0;
  int32_t width_ = 1;  // bytes of a label

  // Places in numbers_; three for each model follow: its open rows, and whether it was too far out for the matrix
  // screen, and for the float32 screen.
  static constexpr size_t kListed = 0, kLeft = 1, kMarked = 2, kNumbers = 3;
  uint32_t* far_from_matrix() { return numbers_.data() + kNumbers + models_.size(); }
  uint32_t* far_from_float() { return numbers_.data() + kNumbers + 2 * models_.size(); }

  Stream stream_;
  DeviceBuffer<std::byte> current_;  // labels of all rows
  DeviceBuffer<std::byte> next_;     // those that a pass finds, of a slice
  DeviceBuffer<std::byte> prototypes_;
  DeviceBuffer<long long> sums_, weights_, counts_;
  DeviceBuffer<float> columns_;  // starts, slopes and values; for more than kLowColumns columns errors too
  // For the matrix screen:
  int32_t tile_columns_ = 0;
  int32_t batch_columns_ = 0;  // of the models of this batch
  DeviceBuffer<uint16_t> halves_;
  DeviceBuffer<float> bounds_;  // offsets, slopes and errors
  DeviceBuffer<uint32_t> order_;
  DeviceBuffer<float> tile_terms_;
  DeviceBuffer<ColumnRange> column_ranges_;
  PinnedBuffer<ColumnRange> host_column_ranges_;
  DeviceBuffer<uint64_t> sort_keys_;  // of plans with floors, see ColumnSort
  DeviceBuffer<uint32_t> sorted_prototypes_, column_of_;
  DeviceBuffer<std::byte> sort_scratch_;
  DeviceBuffer<float> lowers_, sampled_falls_, prototypes_before_, moves_;  // of plans with floors, see Floors
  DeviceBuffer<Fall> falls_;
  bool floors_known_ = false;  // a pass before has left lower scores of all models at work
  bool floors_pay_ = false;    // and few enough labels change
  DeviceBuffer<Unproved> list_;
  DeviceBuffer<int64_t> marked_rows_;
  DeviceBuffer<uint32_t> marked_counts_;
  DeviceBuffer<SliceTop> slice_tops_;
  DeviceBuffer<uint32_t> marks_;
  int64_t mark_stride_ = 0;
  // For rows that the screens leave. Numbers, zero when a pass begins: listed rows, left rows, whether any are marked,
  // and those of the models.
  DeviceBuffer<uint32_t> numbers_;
  OpenRows open_;  // into these:
  DeviceBuffer<OpenRow> open_rows_;
  DeviceBuffer<uint16_t> open_values_;
  DeviceBuffer<uint32_t> open_found_, open_prototypes_;
  DeviceBuffer<LeftRow> left_;
  DeviceBuffer<SliceNearest> nearest_;
  DeviceBuffer<uint32_t> entries_, first_entries_, next_entries_;  // for sums by label order
  DeviceBuffer<uint32_t> box_labels_;                              // for points in boxes: (models, boxes)
  DeviceBuffer<BoxEntry> box_entries_;
  DeviceBuffer<float> margins_;  // empty where none are ever carried; NaN: not known
  DeviceBuffer<std::byte> followed_prototypes_;
  DeviceBuffer<float> moved_, losses_;
  DeviceBuffer<uint32_t> left_numbers_;
  DeviceBuffer<uint16_t> piece_values_;
  DeviceBuffer<float> piece_radii_, piece_norms_;
  DeviceBuffer<MarginState> margin_state_;
  BoundsPolicy policy_;
  bool margins_known_ = false;             // those that are numbers are right, as of the last pass
  std::vector<uint8_t> pass_had_margins_;  // of this batch
  int64_t passes_ = 0;                     // of all batches; only where margins may be carried
  DeviceBuffer<PassRange> ranges_;
  DeviceBuffer<PassCounters> counters_;  // (passes, models), then the control
  DeviceBuffer<PassControl> control_;
  PinnedBuffer<PassRange> host_ranges_;
  PinnedBuffer<PassCounters> host_counters_;
  size_t fetched_passes_ = 0;  // of this batch, whose counters the host has
  PinnedBuffer<PassControl> host_control_;
  device::Buffer moved_row_;
  int threads_ = 1;
  std::unique_ptr<device::Staging> label_staging_;  // where labels are many, from the first that are fetched on
  AssignedDistances assigned_distances_;
};

}  // namespace manymeans::cuda
