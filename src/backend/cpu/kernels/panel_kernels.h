// Kernels of canonical distances between a few rows and all prototypes: prototypes as vector lanes of binary64.
#pragma once

#include <cstdint>

namespace manymeans {

/// Prototypes of a panel: neighbours, whatever the width of a vector.
constexpr int64_t kPanelPrototypes = 32;
/// Most rows of a call.
constexpr int64_t kPanelRows = 64;

/// Value j of prototype p of a panel is values[(panel * d + j) * kPanelPrototypes + p]; places from k on hold infinity,
/// which is never nearest.
struct PrototypePanels {
  const double* values;
  int64_t k;
  int64_t d;

  int64_t count() const { return (k + kPanelPrototypes - 1) / kPanelPrototypes; }
};

struct PanelKernels {
  /// Returns whether every value is finite and, of float64, at most kMaxMagnitude.
  bool (*acceptable_f32)(const float* x, int64_t count);
  bool (*acceptable_f64)(const double* x, int64_t count);
  void (*widen)(const float* x, int64_t count, double* wide);
  /// Of rows x (at most kPanelRows) the label with the least canonical distance, the lowest on equality, and that
  /// distance.
  void (*nearest)(const double* x, int64_t rows, const PrototypePanels&, uint32_t* labels, double* d2);
  /// The roots of all distances, rounded: rows x k.
  void (*distances_f32)(const double* x, int64_t rows, const PrototypePanels&, float* out);
  void (*distances_f64)(const double* x, int64_t rows, const PrototypePanels&, double* out);
};

}  // namespace manymeans
