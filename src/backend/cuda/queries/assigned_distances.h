// Distances of rows to the prototypes of their labels, or to all prototypes, on the device. A session uses them for
// inertia, distances, farthest rows and transform (device/device_row_queries.h).
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/device/matrix_operands.h"
#include "backend/cuda/device/term_splitter.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/device_kernels.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace manymeans::cuda {

constexpr int kDigitBits = 12;
constexpr int kDigits = 1 << kDigitBits;

/// Rows 0, step, .., (count - 1) * step and their labels.
struct AssignedRows {
  DevicePoints points;
  LabelRows labels;  ///< of slot 0
  const void* prototypes = nullptr;
  int64_t step = 1;
  int64_t count = 0;
};

/// d2 of all rows, 0 for those that farthest rows are not sought among.
struct RowDistances {
  const double* d2 = nullptr;
  int64_t n = 0;
};

/// The rows that remain while the farthest are sought digit by digit. Their distance begins with `distance` (its bits
/// >> distance_shift). Once that is complete, their row number begins with `row`.
struct DigitPrefix {
  uint64_t distance = 0;
  int distance_shift = 64;
  uint64_t row = 0;
  int row_shift = 64;
};

/// A digit of the row number, or of the distance.
struct Digit {
  bool of_row;
  int shift;
};

/// One of the farthest rows.
struct FoundRow {
  double distance;
  int64_t row;
  uint32_t label;
};

/// The bits and the row number of the last of the farthest rows that were asked for; bits 0 (all rows) if there are
/// fewer.
struct LastRow {
  uint64_t bits = 0;
  int64_t row = 0;
};

struct FoundRows {
  FoundRow* rows;
  int64_t capacity;
  unsigned long long* count;
};

// All functions below are asynchronous.

/// Adds the words of 32 bits of the label terms of `count` rows to sums[0 .. 3]. Row 0 is number `first` of all.
void sum_label_terms(const LabelRows& labels, int64_t first, int64_t count, int64_t* sums, cudaStream_t stream);

/// Adds the limbs of the terms in both formats to sums[0 ..]. Behind them it takes the max of the bits of d2 over all
/// rows with w' > 0.
void sum_terms(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums,
               cudaStream_t stream);
/// out[i] = d2 of row i; if `eligible`, 0 for rows that weigh nothing.
void find_distances(const AssignedRows& rows, bool eligible, double* out, cudaStream_t stream);
/// Writes labels as int32.
void widen_labels(const LabelRows& labels, int64_t count, int32_t* out, cudaStream_t stream);
/// The distances of all rows to k prototypes, (n, k); both of the prototypes' type.
void find_all_distances(const DevicePoints& points, const void* prototypes, int64_t k, void* out, cudaStream_t stream);
/// Adds up how many rows in the running have which digit next.
void count_digits(const RowDistances& all, const DigitPrefix& prefix, const Digit& digit, unsigned long long* counts,
                  cudaStream_t stream);
/// Lists the rows farther than `last`, and rows exactly as far up to its number; in any order.
void list_farthest(const RowDistances& all, const LastRow& last, const LabelRows& labels, const FoundRows& found,
                   cudaStream_t stream);

/// Answers queries about rows and the prototypes of their labels, for any distance.
class AssignedKernels : public device::RowKernels {
 public:
  /// For rows of `input`, with labels of label_width bytes. Input and stream must outlive this.
  AssignedKernels(const Input& input, int label_width, const Stream& stream)
      : input_(input), label_width_(label_width), stream_(stream) {}

  void add_terms(const Assigned& assigned, const SumFormat& format, int64_t step, device::Address sums) final;
  bool adds_label_terms() const final { return true; }
  void add_label_terms(const NumberedLabels& labels, device::Address sums) final;
  device::Address address_of(const ResultRoom& room) const final;
  void widen_labels(device::Address labels, int64_t count, device::Address out) final;
  void distances(const Assigned& assigned, device::Address out) final;
  /// 8 bytes a row on the device, and up to 12 readings of them.
  std::optional<std::vector<DistantRow>> farthest_rows(const Assigned& assigned, int64_t count) final;

 protected:
  /// sum_terms() and find_distances(), of this distance.
  virtual void sum(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums) const = 0;
  virtual void find(const AssignedRows& rows, bool eligible, double* out) const = 0;
  /// Name of the distances, for messages.
  virtual const char* found() const = 0;

  const Input& input_;
  int label_width_;
  const Stream& stream_;

 private:
  AssignedRows every(int64_t step, const Assigned& assigned) const;
};

class AssignedDistances final : public AssignedKernels {
 public:
  using AssignedKernels::AssignedKernels;

  void transform(const device::Rows& rows, device::Address prototypes, int64_t k, device::Address out) override;

 private:
  void sum(const AssignedRows& rows, const TermSplitter& a, const TermSplitter& b, int64_t* sums) const override {
    sum_terms(rows, a, b, sums, stream_);
  }
  void find(const AssignedRows& rows, bool eligible, double* out) const override {
    find_distances(rows, eligible, out, stream_);
  }
  const char* found() const override { return "distances of all rows"; }
};

}  // namespace manymeans::cuda
