// The programs for devices, as source: the .cl files of this folder, which CMake puts into the library.
#pragma once

#include <string_view>

namespace manymeans::opencl {

// Each with kernel_types.h and common.cl before it.
extern const std::string_view kExactSource;         ///< label_terms.cl, values.cl, exact.cl, pack.cl, questions.cl
extern const std::string_view kAccumulateSource;    ///< label_terms.cl, values.cl, accumulate.cl, products.cl
extern const std::string_view kLinearSource;        ///< label_terms.cl, values.cl, linear.cl, questions.cl
extern const std::string_view kProblemsSource;      ///< label_terms.cl, values.cl, exact.cl, problems.cl
extern const std::string_view kScreenSource;        ///< screen.cl
extern const std::string_view kTreeSource;          ///< values.cl, leaf_boxes.h, tree.cl
extern const std::string_view kCheckDoublesSource;  ///< values.cl, check_doubles.cl
extern const std::string_view kCheckFloatsSource;   ///< check_floats.cl

}  // namespace manymeans::opencl
