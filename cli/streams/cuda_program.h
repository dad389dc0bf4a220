// The program of the package manymeans-cuda: a whole build that has the CUDA backend.
#pragma once

namespace manymeans::cli {

/// Runs ../lib/manymeans/manymeans-cuda-VERSION in place of this program if an argument names the backend. Else it
/// does not: it may lack MPI and formats that this program has. Where it has another version, or cannot be run, errors
/// of the backend say so.
void become_cuda_program(int argc, char** argv);

}  // namespace manymeans::cli
