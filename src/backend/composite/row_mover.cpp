#include "backend/composite/row_mover.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace manymeans {

RowMover::RowMover(const Input& input, CompositeParts& parts, const Workload& workload, ShareRule rule, double moving)
    : input_(input), parts_(parts), workload_(workload), rule_(std::move(rule)) {
  begin_counting(moving);
}

void RowMover::begin_counting(double moving) {
  work_ = SharedWork();
  work_.seconds.assign(parts_.size(), 0);
  work_.moving = moving;
  for (const auto& part : parts_) work_.rows.push_back(part->rows());
}

void RowMover::count(std::span<const double> seconds, bool first) {
  if (first) {
    if (work_.passes == 0) work_.moving += *std::ranges::max_element(seconds);
    return;
  }
  constexpr double kMin = 1e-9;
  double slowest = 0, speed = 0;
  ++work_.passes;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const double took = std::max(seconds[p], kMin);
    work_.seconds[p] += took;
    slowest = std::max(slowest, took);
    speed += static_cast<double>(work_.rows[p]) / took;
  }
  work_.waited += std::max(0.0, slowest - static_cast<double>(input_.points.n) / speed);
}

std::vector<int64_t> RowMover::next_ends() const {
  if (held_ > 1 || !given_up_.empty()) return {};
  std::vector<int64_t> ends = rule_(work_);
  int64_t before = 0;
  bool moves = false;
  for (size_t p = 0; p < ends.size(); ++p) {
    if (ends[p] <= before) return {};  // every part keeps some rows
    moves |= ends[p] != parts_[p]->first + parts_[p]->rows();
    before = ends[p];
  }
  return moves ? ends : std::vector<int64_t>();
}

std::vector<int64_t> RowMover::ends() const {
  std::vector<int64_t> ends;
  for (const auto& part : parts_) ends.push_back(part->first + part->rows());
  return ends;
}

void RowMover::place(std::span<const int64_t> ends, ThreadPool& drivers) {
  const auto begin = std::chrono::steady_clock::now();
  for_each_part(parts_, drivers, [&](size_t p) { parts_[p]->upload.reset(); });
  for_each_part(parts_, drivers, [&](size_t p) {
    CompositePart& part = *parts_[p];
    part.first = p == 0 ? 0 : ends[p - 1];
    part.input = rows_of(input_, part.first, ends[p] - part.first);
    part.upload = part.backend->upload(part.input, workload_);
  });
  begin_counting(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace manymeans
