// The contents of an upload of the cpu backend.
#pragma once

#include "backend/backend.h"
#include "backend/bounds_policy.h"
#include "backend/cpu/choose/cpu_plan.h"
#include "backend/cpu/screen/coded_points.h"
#include "backend/cpu/screen/packed_points.h"
#include "backend/cpu/screen/points_plan.h"
#include "backend/cpu/sums/term_scales.h"
#include "backend/cpu/tree/kd_tree.h"
#include "prototype/prototype.h"

#include <memory>
#include <span>

namespace manymeans {

/// Everything of an upload that its sessions share and never change.
struct CpuShared {
  const Input& input;
  const Prototype& prototype;
  CpuKernels kernels;
  BackendOptions options;
  PointsPlan plan;
  PackedPoints packed;
  TermScales scales;
  UnitScales units;
  CodedPoints coded = {};  // if the plan looks in bytes
  std::unique_ptr<BoundsLog> bounds_log = std::make_unique<BoundsLog>();
  std::unique_ptr<KdTree> tree = nullptr;  // for algorithm kdtree

  Statistics empty_statistics(int64_t k) const { return {k, prototype.terms(input.points.d), input.limbs}; }
};

inline SessionPlan plan_session(const CpuShared& shared, std::span<const int64_t> k, int threads) {
  return plan_session(shared.input, shared.plan, k, threads, shared.options.tuning.cpu.memory_budget);
}

}  // namespace manymeans
