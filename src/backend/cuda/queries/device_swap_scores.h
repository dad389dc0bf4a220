// Swaps of a search on the device that has the rows: class SwapScores of backend/swap_scores.h, the same bits.
//
// The estimates are sums in a fixed order. The device computes terms in parallel and adds them in one chain for each
// sum. Sums exist for clusters, pairs of clusters, candidates, and columns. Candidates are drawn by one sum over all
// rows, which the host computes while the device works.
#pragma once

#include "backend/cuda/device/device_points.h"
#include "backend/cuda/queries/swap_tasks.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/device/staging.h"
#include "backend/swap_scores.h"
#include "data/input.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace manymeans::cuda {

/// Device memory that swaps of N rows and K centroids take: N * 72 bytes, scratch of sorting, and N / 8 + 21 K + 8 D a
/// candidate. One reading of the points looks at as many candidates as fit.
struct SwapRoom {
  int64_t rows_bytes = 0;
  int64_t candidate_bytes = 0;
  int64_t candidates = 0;  ///< together
  std::string refusal;     ///< why the host has to score them; empty: it has not

  /// `free`: bytes, some needed by others. Queries the current device.
  static SwapRoom make(const DevicePoints& points, int64_t k, int64_t free);
};

class DeviceSwapScores final : public SwapScores {
 public:
  /// `input` describes the same points, which lie on the calling thread's device; both must outlive this. It has
  /// streams of its own: whatever wrote the points has to be done.
  DeviceSwapScores(const Input& input, const DevicePoints& points, int64_t k, const SwapRoom& room,
                   const Patience& patience);
  ~DeviceSwapScores() override;

  void assign(const Matrix& centroids, ThreadPool& pool) override;

 private:
  std::span<const double> prefix() override;
  std::vector<Swap> best_swaps(std::span<const int64_t> rows, ThreadPool& pool) override;
  void use_device() const;
  void make_room();
  void look_at(std::span<const int64_t> rows, std::vector<Swap>& found);

  int device_ = 0;
  SwapRoom room_;
  Stream stream_;
  Stream copies_;  // of the products, while the other stream works
  Event found_;    // the two nearest of all rows
  SwapModel model_;
  SwapCandidates candidates_;
  bool summed_ = true;  // whether prefix_ is the model's
  std::vector<double> prefix_;
  device::Staging staged_{runtime()};

  DeviceBuffer<double> centroids_, least_, second_least_, products_, bonuses_, of_clusters_, points_, removals_;
  DeviceBuffer<uint32_t> nearest_, second_, numbers_, by_cluster_, by_pair_, pairs_, places_, rows_, listed_, lengths_;
  DeviceBuffer<uint64_t> keys_, sorted_keys_;
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<unsigned long long> marks_;
  DeviceBuffer<uint8_t> touched_;
  DeviceBuffer<FoundSwap> swaps_;
  PinnedBuffer<double> pieces_;  // of products
};

}  // namespace manymeans::cuda
