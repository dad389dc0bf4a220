// The program of the package manymeans-cuda: a whole build that has the CUDA backend.
#pragma once

namespace manymeans::cli {

/// Runs ../lib/manymeans/manymeans-cuda-VERSION in place of this program if it is there and an argument names the
/// backend: it may lack MPI and formats that this program has. Where it has another version, or cannot be run, errors
/// of the backend say so.
void become_cuda_program(int argc, char** argv);

}  // namespace manymeans::cli
