// How tables with gaps and text become points.
#pragma once

#include <manymeans/io.h>

#include "io/table/raw_table.h"

namespace manymeans {

/// Whether these options ask for more than numbers as they stand: rules, or a model that was fitted by rules.
bool needs_preparation(const ReadOptions& options);

/// Texts of a column that have to be remembered, so that rules can be found or followed.
size_t categories_to_remember(const ReadOptions& options);

/// The points of a table, by options.rules, or as they were made for a model (options.like): gaps filled or their rows
/// dropped, then the rows of options.part of what is left. What was found stands in Dataset::source.
/// Throws Error(kBadData) for a gap or text that no rule provides for, dates, a column without any number to fill gaps
/// with, more categories than options.rules has.
Dataset prepare_points(RawTable table, const ReadOptions& options);

}  // namespace manymeans
