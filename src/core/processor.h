/// Which instructions this processor has. Code that is compiled for several of them asks here which it may run.
/// Each function exists only where the processor may lack what it names.
#pragma once

namespace manymeans {

/// AVX2 with FMA and BMI: every x86 server core since Haswell and Zen.
bool has_avx2();

/// F, BW, CD, DQ and VL in addition to AVX2: Highway's AVX3 target and all kernels for AVX-512 use them.
bool has_avx512();

}  // namespace manymeans
