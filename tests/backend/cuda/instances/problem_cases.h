// Many small problems that between them launch every kernel of common passes.
#pragma once

#include <cstdint>
#include <vector>

namespace manymeans::test {

/// Columns of the problems: each number has a kernel of its own.
std::vector<int64_t> problem_columns();

/// Returns whether the cuda backend has the digests of the cpu backend.
bool problems_agree(int64_t columns, int repeats);

}  // namespace manymeans::test
