// Several devices that have all rows each, among which the models of an ensemble are dealt out.
#pragma once

#include "backend/composite/composite_upload.h"

#include <memory>
#include <span>

namespace manymeans {

/// Returns whether `devices` devices may each need all rows, as far as is known before the rows are read.
bool may_deal_out_models(const PointsView& points, const Workload& workload, size_t devices);

/// Returns whether `devices` equal devices take less time if each gets some models than if each gets some rows. Shared
/// rows cost an exchange of sums in every pass, but each row is on one device only. `min_products`: see
/// Backend::min_shared_products().
bool deals_out_models(const Input& input, const Workload& workload, size_t devices, double min_products);

/// All rows on each backend, and its part of the models by deal_models(). A caller that does not use its shares gets
/// the first device.
std::unique_ptr<Upload> make_upload_by_models(const Input& input, std::span<const NamedBackend> backends,
                                              const Workload& workload);

}  // namespace manymeans
