// Labels of points that come once, by a screen.
#pragma once

#include "backend/cpu/pass/cpu_screen.h"

namespace manymeans {

/// Labels all rows, without statistics: Labeller::label(). The points are as they came, so rows may lie anywhere.
bool label_points(const CpuShared& shared, const PassTarget& target, ThreadPool& pool, Labels& labels, double* d2);

}  // namespace manymeans
