// One line on a terminal's standard error that says what is going on.
#pragma once

#include <manymeans/fit.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans::cli {

/// Everything is a no-op unless `wanted` and standard error is a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine() { erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Returns true if anything will be shown.
  bool on() const { return on_; }
  /// Shows what is being done now.
  void show(const std::string& text);
  /// Shows where a fit with these options is, ten times a second at most.
  void update(const Progress& progress, const FitOptions& options);
  /// Leaves no trace of the line.
  void erase();

 private:
  std::string time_left(const Progress& progress, const FitOptions& options) const;
  void draw(const std::vector<std::string>& fields);

  bool on_;
  size_t drawn_ = 0;  // characters on the line now
  std::chrono::steady_clock::time_point last_update_;
  std::string phase_;
  double phase_seconds_ = 0;  // where the phase began
  int64_t phase_iteration_ = 0;
};

}  // namespace manymeans::cli
