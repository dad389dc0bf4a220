// What <manymeans/mpi.h> gives to a program of MPI: collectives in pieces, fits by FitHooks::comm, errors of one rank.
// All ranks run this; rank 0 says what is wrong, and the exit code counts it.
#include <manymeans/manymeans.h>
#include <manymeans/mpi.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {
using namespace manymeans;

int wrong = 0;

void expect(bool right, const char* what) {
  if (right) return;
  ++wrong;
  std::fprintf(stderr, "WRONG: %s\n", what);
}

// The text of the Error that this throws; empty without one.
template <class Work>
std::string error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// As if MPI could count to seven.
void collectives_in_pieces() {
  const auto comm = mpi_comm(MPI_COMM_WORLD, {.most = 7});
  const int64_t rank = comm->rank(), size = comm->size();
  std::vector<int64_t> values(20);
  std::iota(values.begin(), values.end(), rank);
  std::vector<int64_t> sums = values;
  comm->sum(sums);
  for (int64_t i = 0; i < 20; ++i) expect(sums[static_cast<size_t>(i)] == size * i + size * (size - 1) / 2, "a sum");
  comm->max(values);
  for (int64_t i = 0; i < 20; ++i) expect(values[static_cast<size_t>(i)] == size - 1 + i, "a maximum");
  std::vector<int64_t> before(9, 1);
  comm->scan(before);
  expect(before == std::vector<int64_t>(9, rank), "a scan");
  const std::vector<int> mine(static_cast<size_t>(3 * rank), static_cast<int>(rank));
  const auto all = comm->gather(std::span<const int>(mine));
  for (size_t r = 0; r < all.size(); ++r) {
    expect(all[r] == std::vector<int>(3 * r, static_cast<int>(r)), "a gather");
  }
  std::vector<char> text(30, rank == 1 ? 'a' : 'b');
  comm->broadcast(std::span(text), 1);
  expect(text == std::vector<char>(30, 'a'), "a broadcast");
}

std::vector<float> points(int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < 2 * rows; ++i) values.push_back(static_cast<float>(i * 7919 % 1013) / 16);
  return values;
}

// Rank 0 has one row, the last one has none.
void fits() {
  constexpr int64_t kRows = 1000;
  const std::vector<float> all = points(kRows);
  FitOptions options;
  options.k = {3, 7};
  options.models = 2;
  options.threads = 1;
  const std::string wanted = fit({all.data(), kRows, 2}, {}, options).digest();
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  const int64_t rank = comm->rank(), last = comm->size() - 1;
  const int64_t first = rank == 0 ? 0 : (rank == last ? kRows : 1 + (rank - 1) * (kRows - 1) / (last - 1));
  const int64_t end = rank == last ? kRows : (rank == 0 ? 1 : 1 + rank * (kRows - 1) / (last - 1));
  const PointsView mine(all.data() + 2 * first, end - first, 2);
  const FitResult result = fit(mine, {}, options, {.comm = comm});
  expect(result.digest() == wanted, "the digest of a fit");
  expect(result.models[0].labels.size() == end - first, "the labels of this rank");
  TreeOptions tree;
  tree.k = {50};
  tree.max_size = 25;
  tree.threads = 1;
  const std::string whole = fit_tree({all.data(), kRows, 2}, {}, tree).digest();
  expect(fit_tree(mine, {}, tree, {.comm = comm}).digest() == whole, "the digest of a tree");
  expect(contains(error_of([&] { initialise(mine, {}, options, {.comm = comm}); }), "is for one process"),
         "initialise refuses ranks");
}

// A communicator of one process is no different from none.
void fits_alone() {
  constexpr int64_t kRows = 300;
  const std::vector<float> all = points(kRows);
  std::vector<double> weights;
  for (int64_t i = 0; i < kRows; ++i) weights.push_back(0.5 * static_cast<double>(i % 4));
  FitOptions options;
  options.k = {5};
  options.threads = 1;
  for (const std::vector<double>& its : {std::vector<double>(), weights}) {
    const PointsView view(all.data(), kRows, 2);
    const FitResult result = fit(view, its, options, {.comm = mpi_comm(MPI_COMM_SELF)});
    expect(result.digest() == fit(view, its, options).digest(), "the digest of a rank that is alone");
  }
}

// Each with a communicator of its own: there are no collectives after an error.
void errors() {
  const std::vector<float> all = points(100);
  FitOptions options;
  options.k = {4};
  const auto fit_with = [&](const FitOptions& its, int64_t columns, const std::vector<float>& values) {
    const auto comm = mpi_comm(MPI_COMM_WORLD);
    const std::string error = error_of([&] { fit({values.data(), 100, columns}, {}, its, {.comm = comm}); });
    expect(!error_of([&] { comm->max(int64_t{1}); }).empty(), "no collectives afterwards");
    return error;
  };
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FitOptions others = options;
  others.seed = rank == 2 ? 1 : 0;
  expect(contains(fit_with(others, 2, all), "rank 0 was given other options"), "other options");
  expect(contains(fit_with(options, rank == 1 ? 1 : 2, all), "columns"), "other columns");
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  const PointsView lie(all.data(), rank == 1 ? -7 : 100, 2);
  expect(!error_of([&] { fit(lie, {}, options, {.comm = comm}); }).empty(), "a number of rows that cannot be");
  others = options;
  if (rank == 2) others.stop = "nonsense";
  expect(contains(fit_with(others, 2, all), "nonsense"), "an option that cannot be");
  std::vector<float> broken = all;
  if (rank == 1) broken[5] = std::numeric_limits<float>::infinity();
  expect(contains(fit_with(options, 2, broken), "row 103, column 2"), "a value that cannot be");
}

// An exception of one rank, in the middle of its fit, that is not of this library.
void exceptions() {
  const std::vector<float> all = points(100);
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  FitOptions options;
  options.k = {4};
  options.stop = "strict";
  FitHooks hooks{.comm = comm};
  if (comm->rank() == 2) hooks.progress = [](const Progress&) -> bool { throw std::runtime_error("no more ink"); };
  std::string error;
  try {
    fit({all.data(), 100, 2}, {}, options, hooks);
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  expect(contains(error, "no more ink"), error.c_str());
  expect(comm->rank() == 2 || contains(error, "[rank 2]"), error.c_str());
}

// Ranks that count the rows of one set of files otherwise: none of them waits for a row that nobody has.
void counts() {
  const std::vector<float> all = points(100);
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  FitOptions options;
  options.k = {4};
  const std::vector<double> weights(comm->rank() == 1 ? 99 : 100, 1.0);  // of 100 rows
  const std::string error = error_of([&] { fit({all.data(), 100, 2}, weights, options, {.comm = comm}); });
  expect(contains(error, "weights"), error.c_str());
}

// Whether this is the error of one rank as that rank and all others throw it.
bool is_error_of(int rank, const Comm& comm, const std::string& error, const char* part) {
  return contains(error, part) && error.starts_with("[rank " + std::to_string(rank) + "] ") == (comm.rank() != rank);
}

// Rank 1 has its points in a file that is written to, which it sees when all collectives are behind it.
void scaling_of_a_changed_file() {
  namespace fs = std::filesystem;
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  const std::vector<float> values = points(100);
  Dataset mine;
  mine.view = {values.data(), 100, 2};
  const fs::path path = fs::temp_directory_path() / ("manymeans_mpi_fits_" + std::to_string(::getpid()) + ".npy");
  if (comm->rank() == 1) {
    write_points(path, mine);
    mine = read_points(path);
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  }
  const std::string error = error_of([&] { find_scaling(mine.view, Scale::kMinMax, 1, 0, *comm); });
  fs::remove(path);
  expect(is_error_of(1, *comm, error, "somebody wrote to the file"), error.c_str());
}

// Rank 0 alone misses the folder: of a .npy before the others write their rows, of a .csv while they give theirs away.
void labels_in_no_folder() {
  const std::vector<float> values = points(100);
  FitOptions options;
  options.k = {3};
  for (const char* path : {"no_such_folder/labels.npy", "no_such_folder/labels.csv"}) {
    const auto comm = mpi_comm(MPI_COMM_WORLD);
    const FitResult result = fit({values.data(), 100, 2}, {}, options, {.comm = comm});
    const std::string error = error_of([&] { write_labels(path, result, *comm); });
    expect(is_error_of(0, *comm, error, "the folder must exist"), error.c_str());
  }
}

// A rank that throws by itself, and one that is somewhere else in the program.
void given_up() {
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  const std::string error = error_of([&] {
    if (comm->rank() == 1) comm->abort(Error(ErrorCode::kUsage, "here", "it had enough"));
    comm->max(int64_t{1});
  });
  expect(error == "[rank 1] [here] it had enough", error.c_str());
  const auto other = mpi_comm(MPI_COMM_WORLD);
  const std::string lost = error_of([&] {
    std::vector<int64_t> values(comm->rank() == 2 ? 3 : 2);
    other->sum(values);
  });
  expect(contains(lost, "rank 0 wants a sum of 2 values as collective 1 after 0 passes, but rank 2 wants a sum of 3"),
         lost.c_str());
}

// The others are in the middle of something long: this does not come back.
void give_up_alone() {
  const auto say = [](const Error& error) { std::fprintf(stderr, "last words: %s\n", error.what()); };
  const auto comm = mpi_comm(MPI_COMM_WORLD, {.last_words = say});
  if (comm->rank() == 1) comm->abort(Error(ErrorCode::kUnavailable, "memory", "there is none"));
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

[[noreturn]] void die() {
  std::raise(SIGKILL);
  std::abort();
}

// Rank 1 is killed while the others are in this phase, and the launcher ends them: this does not come back.
void lose_a_rank(const std::string& phase) {
  constexpr int64_t kRows = 20000;
  const std::vector<float> all = points(kRows);
  const auto comm = mpi_comm(MPI_COMM_WORLD);
  const bool dies = comm->rank() == 1;
  FitOptions options;
  options.k = {50};
  options.stop = "strict";
  options.threads = 1;
  FitHooks hooks{.comm = comm};
  if (dies) {
    hooks.progress = [&](const Progress& now) {
      if (phase == "seeding" && now.phase == "initialise") die();
      if (phase == "pass" && now.phase == "iterate" && now.iteration == 2) die();
      return true;
    };
  }
  if (dies && phase == "scan") die();
  const FitResult result = fit({all.data(), kRows, 2}, {}, options, hooks);
  if (dies && phase == "labels") die();
  write_labels("lost_rank_labels.npy", result, *comm);
  std::fprintf(stderr, "WRONG: %s was survived\n", phase.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  if (argc > 2) lose_a_rank(argv[2]);
  if (argc > 1) give_up_alone();
  collectives_in_pieces();
  fits();
  fits_alone();
  errors();
  exceptions();
  counts();
  scaling_of_a_changed_file();
  labels_in_no_folder();
  given_up();
  MPI_Finalize();
  return wrong;
}
