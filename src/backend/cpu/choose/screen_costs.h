// Which screen is the cheapest for a shape: a cost model of a few measured constants. It never changes results.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/screen/points_plan.h"
#include "backend/frame.h"
#include "backend/upload.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// Nanoseconds on one thread.
struct ScreenCosts {
  double score = 0;         ///< of a row and column, float32
  double value = 0;         ///< and per value of the row
  double matrix_score = 0;  ///< of a row and column, bfloat16; 0 where there is no such screen
  double step = 0;          ///< and per product of 32 values, or of a pair where rows are lanes
  double resolve = 0;       ///< of a row that is not proved
  double resolve_value = 0;
  double byte = 0;         ///< of a row's rounded copy
  double panel_score = 0;  ///< of a row and prototype, canonical, among panels of them
  double panel_value = 0;  ///< and per value of the row
};

/// The costs of an instruction set, for the cost model; the plainest set's costs if it is unknown.
const ScreenCosts& screen_costs(std::string_view instruction_set);

struct ScreenChoice {
  const ScreenKernels* screen = nullptr;
  std::string why;
  double column_ns = 0;                    ///< about what a row and column take
  std::optional<Frame> frame;              ///< if the cost model asked for it
  const CodedKernels* in_bytes = nullptr;  ///< if a first look in bytes pays
  std::string why_look = {};               ///< what it takes
  LookCosts look = {};
};

std::string_view name_of(ScreenFormat format);

/// The kernels of the look in bytes that this screen follows, for points of d columns; null without one.
const CodedKernels* coded_kernels(const CpuKernels& kernels, const ScreenKernels& screen, int64_t d);

/// The table's screen that the cost model finds cheapest for these points. With a name, in `format` or
/// MANYMEANS_CPU_SCREEN (tests and benchmarks), the screen of that name. Throws Error(kUnavailable) if this instruction
/// set has none of that name.
ScreenChoice choose_screen(const Input& input, const CpuKernels& kernels, std::string_view format,
                           const Workload& workload);

/// choose_screen() of a backend whose uploads may follow one another: probing takes as long as some passes over few
/// rows. So one choice serves all points of the same columns, type and models, one after the other.
class ScreenMemory {
 public:
  ScreenChoice choose(const Input& input, const CpuKernels& kernels, std::string_view format, const Workload& workload);

 private:
  struct Asked {
    int64_t d;
    DataType type;
    std::vector<int64_t> clusters;
    int64_t passes, models;
    bool guessed;
    bool operator==(const Asked&) const = default;
  };
  std::mutex mutex_;
  std::optional<Asked> asked_;
  ScreenChoice choice_;  // without its frame, which is for some points alone
};

/// Chooses for rows that are not there yet: the cheapest screen if it proves all of them. Reads no number.
const ScreenKernels& choose_screen_by_shape(const CpuKernels& kernels, std::string_view format, int64_t d,
                                            const Workload& workload);

}  // namespace manymeans
