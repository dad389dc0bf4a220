// One fit, its points on several ranks: mpirun -n 4 ./ranks
#include <manymeans/manymeans.h>
#include <manymeans/mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
  if (given < MPI_THREAD_FUNNELED) MPI_Abort(MPI_COMM_WORLD, 4);  // the library has threads, though one calls MPI
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Of 1000 rows those of this rank, in the order of the ranks; here they are computed.
  std::vector<float> values;
  for (int row = 1000 * rank / ranks; row < 1000 * (rank + 1) / ranks; ++row) {
    values.push_back(static_cast<float>(row % 10));
    values.push_back(static_cast<float>(row % 7));
  }
  const manymeans::PointsView points(values.data(), static_cast<int64_t>(values.size() / 2), 2);
  manymeans::FitOptions options;
  options.k = {4};
  int exit_code = 0;
  try {
    const auto result = manymeans::fit(points, {}, options, {.comm = manymeans::mpi_comm(MPI_COMM_WORLD)});
    if (rank == 0) std::printf("digest %s\n", result.digest().c_str());
  } catch (const manymeans::Error& error) {  // on all ranks, whichever it happened on
    if (rank == 0) std::fprintf(stderr, "%s\n", error.what());
    exit_code = static_cast<int>(error.code());
  }
  MPI_Finalize();
  return exit_code;
}
