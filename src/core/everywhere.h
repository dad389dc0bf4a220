// Functions that compilers of device code take as the host's do.
#pragma once

#ifdef __CUDACC__
#define MANYMEANS_EVERYWHERE __host__ __device__
#else
#define MANYMEANS_EVERYWHERE
#endif
