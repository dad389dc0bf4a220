// Names of columns that identify a row but do not describe it.
#pragma once

#include <string>

namespace manymeans {

/// Returns true if a column of this name holds numbers that name things and measure nothing.
bool is_named_like_id(const std::string& any_case);

/// Returns true for names of ids that are also names of other things: objid and custId, but also humid and grid. The
/// values of such a column have to look like ids, too.
bool may_be_named_like_id(const std::string& any_case);

}  // namespace manymeans
