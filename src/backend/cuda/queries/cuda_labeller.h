// Labels of few rows on a device, without a session.
#pragma once

#include <manymeans/points.h>

#include "backend/labeller.h"

#include <memory>

namespace manymeans::cuda {

/// For the prototypes of centroids, which it copies to the calling thread's device when it is first asked.
std::unique_ptr<Labeller> make_labeller(const std::shared_ptr<const Matrix>& prototypes, int device);

}  // namespace manymeans::cuda
