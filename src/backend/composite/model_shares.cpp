#include "backend/composite/model_shares.h"

#include "backend/composite/composite_part.h"
#include "backend/composite/row_shares.h"
#include "backend/deal_models.h"
#include "backend/swap_scores.h"
#include "prototype/prototype.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace manymeans {
namespace {

// A device is driven by the thread that asks for a session or a seeding.
class UploadOfShare final : public Upload {
 public:
  explicit UploadOfShare(CompositePart& part) : part_(part) {}
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    return here().session(k, threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    return here().seeding(k, pool);
  }
  std::string plan() const override { return part_.upload->plan(); }

 private:
  Upload& here() {
    part_.backend->bind_thread();
    return *part_.upload;
  }

  CompositePart& part_;
};

class UploadByModels final : public Upload {
 public:
  UploadByModels(CompositeParts parts, std::vector<int64_t> ends) : parts_(std::move(parts)), ends_(std::move(ends)) {
    for (const auto& part : parts_) uploads_.emplace_back(*part);
  }
  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    return uploads_[0].session(k, threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    return uploads_[0].seeding(k, pool);
  }
  std::unique_ptr<SwapScores> swap_scores(int64_t /*k*/) override {
    host_scores_swaps_ = true;
    return nullptr;
  }
  std::vector<ModelShare> shares() override {
    std::vector<ModelShare> shares;
    for (size_t p = 0; p < parts_.size(); ++p) shares.push_back({parts_[p]->backend, &uploads_[p]});
    return shares;
  }
  std::string plan() const override {
    std::string text;
    int64_t first = 0;
    for (size_t p = 0; p < parts_.size(); first = ends_[p++]) {
      text += fmt::format("{}{} has {} of {} models: {}", text.empty() ? "" : "; ", parts_[p]->name, ends_[p] - first,
                          ends_.back(), parts_[p]->upload->plan());
    }
    if (host_scores_swaps_) text += "; swaps scored by the host, since several devices share the models";
    return text;
  }
  std::vector<std::string> warnings() const override { return parts_[0]->upload->warnings(); }  // of the same rows

 private:
  CompositeParts parts_;
  std::vector<UploadOfShare> uploads_;  // by part
  std::vector<int64_t> ends_;           // of the parts' models
  std::atomic<bool> host_scores_swaps_ = false;
};

Workload of_models(const Workload& all, int64_t first, int64_t last) {
  Workload own = all;
  own.clusters = {all.clusters.begin() + first, all.clusters.begin() + last};
  own.models = last - first;
  own.all_clusters = own.max_clusters = 0;
  for (const int64_t k : own.clusters) {
    own.all_clusters += k;
    own.max_clusters = std::max(own.max_clusters, k);
  }
  return own;
}

}  // namespace

bool may_deal_out_models(const PointsView& points, const Workload& workload, size_t devices) {
  constexpr size_t kMaxBytes = 4'000'000'000;  // there is surely room for these
  return workload.models >= 4 * static_cast<int64_t>(devices) && points.bytes() <= kMaxBytes;
}

// Rates of a Hopper and its links, to one significant digit: the two sides differ by more for most shapes. Models of
// one group may take more iterations than models of another, so each group needs several.
bool deals_out_models(const Input& input, const Workload& workload, size_t devices, double min_products) {
  constexpr double kReading = 2.5e12, kUploading = 25e9, kSums = 150e9, kMeeting = 25e-6, kUsualPasses = 50;
  const auto count = static_cast<double>(devices);
  const auto bytes = static_cast<double>(input.points.bytes());
  const auto models = static_cast<int64_t>(workload.clusters.size());
  if (!may_deal_out_models(input.points, workload, devices) || workload.models != models) return false;
  if (!input.comm->alone() || !prototype_of(input).euclidean) return false;
  const double products = products_of_pass(input.points, workload);
  if (products < min_products) return products >= min_products / 100;
  const double others = 1 - 1 / count;  // what a device has more of when it has all rows
  const double passes = std::min(kUsualPasses, static_cast<double>(workload.passes) / static_cast<double>(models));
  const double sums = 16 * static_cast<double>(workload.all_clusters) * static_cast<double>(input.points.d);
  return kMeeting + sums * (count - 1) / kSums > others * bytes * (1 / kReading + 1 / (kUploading * passes));
}

std::unique_ptr<Upload> make_upload_by_models(const Input& input, std::span<const NamedBackend> backends,
                                              const Workload& workload) {
  std::vector<int64_t> ends = deal_models(workload.clusters, backends.size());
  CompositeParts parts;
  for (const NamedBackend& each : backends) {
    parts.push_back(
        std::make_unique<CompositePart>(each.backend.get(), each.name, 0, rows_of(input, 0, input.points.n)));
  }
  ThreadPool drivers(static_cast<int>(parts.size()));
  for_each_part(parts, drivers, [&](size_t p) {
    const Workload own = of_models(workload, p == 0 ? 0 : ends[p - 1], ends[p]);
    parts[p]->upload = parts[p]->backend->upload(parts[p]->input, own);
  });
  return std::make_unique<UploadByModels>(std::move(parts), std::move(ends));
}

}  // namespace manymeans
