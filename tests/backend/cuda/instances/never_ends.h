#pragma once

namespace manymeans::test {

/// Waits for a kernel that never ends.
void never_ends();

}  // namespace manymeans::test
