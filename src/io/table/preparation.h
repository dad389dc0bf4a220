// How tables with gaps and text become points.
#pragma once

#include <manymeans/io.h>

#include "io/table/raw_table.h"

namespace manymeans {

/// Returns true if these options ask for more than plain numbers: rules, or a model that was fitted by rules.
bool needs_preparation(const ReadOptions& options);

/// Texts of a column that have to be remembered, so that rules can be found or followed.
size_t categories_to_remember(const ReadOptions& options);

/// Makes the points of a table by options.rules, or as for a model (options.like). Gaps are filled or their rows
/// dropped; then come the rows of options.part of what is left. Dataset::source gets the findings. Throws
/// Error(kBadData) for a gap or text that no rule provides for, dates, and more categories than options.rules has. It
/// throws also if a column has gaps to fill and no number.
Dataset prepare_points(RawTable table, const ReadOptions& options);

}  // namespace manymeans
