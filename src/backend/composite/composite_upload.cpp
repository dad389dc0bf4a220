#include "backend/composite/composite_upload.h"

#include "backend/composite/composite_seeding.h"
#include "backend/composite/composite_session.h"
#include "backend/swap_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

namespace manymeans {
namespace {

class CopiesOfParts final : public CopiedPoints {
 public:
  CopiesOfParts(const PointsView& points, std::vector<std::unique_ptr<CopiedPoints>> copies)
      : given_{points, {points.data}}, copies_(std::move(copies)) {
    for (const auto& copy : copies_) given_.copies.parts.push_back(copy->points().points);
  }
  GivenPoints points() const override { return given_; }

 private:
  GivenPoints given_;
  std::vector<std::unique_ptr<CopiedPoints>> copies_;
};

class CompositeUpload final : public Upload {
 public:
  CompositeUpload(const Input& input, CompositeParts parts, std::vector<std::string> idle, bool one_session)
      : input_(input), parts_(std::move(parts)), idle_(std::move(idle)), one_session_(one_session) {}

  /// From now on rows may move. `seconds`: of the upload.
  void move_by(ShareRule rule, const Workload& workload, double seconds) {
    if (one_session_ && parts_.size() > 1) mover_.emplace(input_, parts_, workload, std::move(rule), seconds);
  }

  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    if (Upload* const only = only_part()) return only->session(k, threads);
    return std::make_unique<CompositeSession>(CompositeRows{input_, parts_, mover()}, k, threads, one_session_);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override;
  std::unique_ptr<SwapScores> swap_scores(int64_t k) override {
    if (Upload* const only = only_part()) return only->swap_scores(k);
    host_scores_swaps_ = true;
    return nullptr;
  }
  std::string plan() const override;
  std::vector<std::string> warnings() const override;

 private:
  // Where one part has all rows.
  Upload* only_part() {
    if (parts_.size() != 1) return nullptr;
    parts_[0]->backend->bind_thread();
    return parts_[0]->upload.get();
  }

  RowMover* mover() { return mover_ ? &*mover_ : nullptr; }

  const Input& input_;
  CompositeParts parts_;
  std::optional<RowMover> mover_;
  std::vector<std::string> idle_;  // names of backends without rows
  bool one_session_;               // at a time
  std::atomic<bool> host_scores_swaps_ = false;
};

// Where one part leaves it to the host, the host does it for all rows.
std::unique_ptr<Seeding> CompositeUpload::seeding(std::span<const int64_t> k, ThreadPool& pool) {
  if (Upload* const only = only_part()) return only->seeding(k, pool);
  std::vector<SeedingOfPart> seedings(parts_.size());
  for (size_t p = 0; p < parts_.size(); ++p) {
    parts_[p]->backend->bind_thread();
    seedings[p].pool = std::make_unique<ThreadPool>(pool.size(), pool.abort());
    seedings[p].seeding = parts_[p]->upload->seeding(k, *seedings[p].pool);
    if (!seedings[p].seeding) return nullptr;
  }
  return std::make_unique<CompositeSeeding>(CompositeRows{input_, parts_, mover()}, std::move(seedings));
}

std::string CompositeUpload::plan() const {
  std::string text;
  for (const auto& part : parts_) {
    text += fmt::format("{}{} has {} of {} rows: {}", text.empty() ? "" : "; ", part->name, part->rows(),
                        input_.points.n, part->upload->plan());
  }
  if (mover_ && mover_->moves() > 0) {
    text += fmt::format("; rows moved {} time{} to the devices that waited", mover_->moves(),
                        mover_->moves() == 1 ? "" : "s");
  }
  if (mover_ && !mover_->given_up().empty()) {
    text += "; rows stay where they are, since moving them failed: " + mover_->given_up();
  }
  if (host_scores_swaps_) text += "; swaps scored by the host, since several devices share the rows";
  for (const std::string& name : idle_)
    text += fmt::format("; {} has no rows, since it would only be waited for", name);
  return text;
}

std::vector<std::string> CompositeUpload::warnings() const {
  std::vector<std::string> all;
  for (const auto& part : parts_) {
    for (const std::string& warning : part->upload->warnings()) all.push_back(part->name + ": " + warning);
  }
  return all;
}

// The parts: backends that have rows.
CompositeParts parts_of(const Input& input, std::span<const NamedBackend> backends, std::span<const int64_t> ends) {
  CompositeParts parts;
  int64_t first = 0;
  for (size_t b = 0; b < backends.size(); first = ends[b++]) {
    if (ends[b] == first) continue;
    parts.push_back(std::make_unique<CompositePart>(backends[b].backend.get(), backends[b].name, first,
                                                    rows_of(input, first, ends[b] - first)));
  }
  return parts;
}

}  // namespace

std::unique_ptr<CopiedPoints> copy_to_parts(const PointsView& points, std::span<const NamedBackend> backends,
                                            std::span<const int64_t> ends, const Workload& workload) {
  Input whole;
  whole.points = points;
  CompositeParts parts = parts_of(whole, backends, ends);
  std::vector<std::unique_ptr<CopiedPoints>> copies(parts.size());
  ThreadPool drivers(static_cast<int>(parts.size()));
  for_each_part(parts, drivers,
                [&](size_t p) { copies[p] = parts[p]->backend->copy(parts[p]->input.points, workload); });
  if (std::ranges::any_of(copies, [](const auto& copy) { return copy == nullptr; })) return nullptr;
  return std::make_unique<CopiesOfParts>(points, std::move(copies));
}

std::unique_ptr<Upload> make_composite_upload(const Input& input, std::span<const NamedBackend> backends,
                                              std::span<const int64_t> ends, const Workload& workload, ShareRule rule) {
  const auto begin = std::chrono::steady_clock::now();
  CompositeParts parts = parts_of(input, backends, ends);
  std::vector<std::string> idle;
  for (size_t b = 0; b < backends.size(); ++b) {
    if (ends[b] == (b == 0 ? 0 : ends[b - 1])) idle.push_back(backends[b].name);
  }
  ThreadPool drivers(static_cast<int>(parts.size()));
  for_each_part(parts, drivers,
                [&](size_t p) { parts[p]->upload = parts[p]->backend->upload(parts[p]->input, workload); });
  auto upload = std::make_unique<CompositeUpload>(input, std::move(parts), std::move(idle), workload.sessions <= 1);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (rule) upload->move_by(std::move(rule), workload, seconds.count());
  return upload;
}

}  // namespace manymeans
