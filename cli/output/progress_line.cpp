#include "output/progress_line.h"

#include "streams/printable.h"
#include "streams/standard_streams.h"

#include <fmt/format.h>

#include <cmath>

namespace manymeans::cli {
namespace {

// 980, 12.3k, 4.56M, 1.2G
std::string shown_rate(double rate) {
  const char* const units[] = {"", "k", "M", "G", "T"};
  int unit = 0;
  while (rate >= 999.5 && unit < 4) {
    rate /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{} points/s", rate, units[unit]);
}

}  // namespace

ProgressLine::ProgressLine(bool wanted) : on_(wanted && terminal_width() > 0) {}

void ProgressLine::show(const std::string& text) {
  if (on_) draw({text});
}

void ProgressLine::update(const Progress& progress, const FitOptions& options) {
  if (!on_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool new_phase = phase_ != progress.phase;
  if (new_phase) {
    phase_ = progress.phase;
    phase_seconds_ = progress.seconds;
    phase_iteration_ = progress.iteration;
  }
  if (!new_phase && now - last_update_ < std::chrono::milliseconds(100)) return;
  last_update_ = now;
  std::vector<std::string> fields = {
      fmt::format("{} {}{}", phase_, progress.iteration,
                  progress.max_iteration > 0 ? fmt::format("/{}", progress.max_iteration) : ""),
      fmt::format("{}/{} models active", progress.active_models, progress.models),
      shown_duration(progress.seconds) + time_left(progress, options)};
  if (std::isfinite(progress.inertia_estimate)) {
    fields.push_back(fmt::format("inertia ~{:.6g}", progress.inertia_estimate));
  }
  if (progress.points_per_second > 0) fields.push_back(shown_rate(progress.points_per_second));
  draw(fields);
}

// "At most": models that converge make passes cheaper, and few fits need all their iterations.
std::string ProgressLine::time_left(const Progress& progress, const FitOptions& options) const {
  const int64_t done = progress.iteration - phase_iteration_;
  // Other strategies report one model at a time: there is no telling when the last one ends.
  const bool whole = options.strategy == Strategy::kConcatenated;
  if (phase_ != "iterate" || done < 1 || !whole) return {};
  const double per_iteration = (progress.seconds - phase_seconds_) / static_cast<double>(done);
  double left = per_iteration * static_cast<double>(progress.max_iteration - progress.iteration);
  if (options.time_limit > 0) left = std::fmin(left, options.time_limit - progress.seconds);
  return ", at most " + shown_duration(std::fmax(left, 0)) + " left";
}

void ProgressLine::draw(const std::vector<std::string>& fields) {
  const auto room = static_cast<size_t>(std::max(terminal_width() - 1, 0));
  std::string line = printable(fields.front(), Newlines::kEscaped).substr(0, room);
  for (size_t i = 1; i < fields.size() && line.size() + 2 + fields[i].size() <= room; ++i) line += "  " + fields[i];
  const size_t size = line.size();
  if (size < drawn_) line.append(std::min(drawn_, room) - std::min(size, room), ' ');
  drawn_ = size;
  draw_on_error_stream("\r" + line);
}

void ProgressLine::erase() {
  if (drawn_ == 0) return;
  draw_on_error_stream("\r" + std::string(drawn_, ' ') + "\r");
  drawn_ = 0;
}

}  // namespace manymeans::cli
