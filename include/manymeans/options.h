// The options of a fit: each with its default, its meaning, and one visitor that feeds the
// command line, --help, JSON and the Python package.
#pragma once

#include <manymeans/names.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace manymeans {

/// How an ensemble is spread over the hardware. Never changes the answer.
enum class Strategy : uint8_t {
  kConcatenated,  ///< one reading of the points per iteration serves all models
  kData,          ///< one model after the other, all threads on each
  kTask,          ///< a model per thread
};

/// The treatment of a cluster that has lost all its points.
enum class EmptyPolicy : uint8_t {
  kFarthest,  ///< it takes the point that is farthest from its prototype
  kKeep,      ///< its prototype stays where it was
  kDrop,      ///< it is removed, and the model has fewer prototypes
  kError,     ///< the fit fails
};

/// What "near" means.
enum class Metric : uint8_t {
  kEuclidean,  ///< between rows as they are
  kCosine,     ///< between directions: rows are scaled to length one, and so are prototypes (spherical k-means)
};

template <>
std::span<const std::string_view> names_of<Strategy>();
template <>
std::span<const std::string_view> names_of<EmptyPolicy>();
template <>
std::span<const std::string_view> names_of<Metric>();

/// A number of bytes, as people write it: 4096, 256MiB, 1.5GB.
struct ByteSize {
  int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};
/// "256MiB"; whole numbers of the largest unit that fits. 0 is "0".
std::string name_of(ByteSize size);
/// Units are B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB and K, M, G, T (powers of 1024), in any case.
/// Throws Error(kUsage) naming "memory".
ByteSize parse_byte_size(const std::string& text);

/// All options of fit(). The defaults are the defaults of scikit-learn's KMeans if both have the option.
struct FitOptions {
  std::vector<int64_t> k = {8};
  int64_t models = 1;
  uint64_t seed = 0;
  std::optional<uint64_t> model_seed = std::nullopt;
  std::string init = "auto";
  Metric metric = Metric::kEuclidean;
  int64_t min_size = 0;  ///< fewest rows of a cluster
  int64_t max_size = 0;  ///< most rows of a cluster; 0: any number
  int64_t max_iter = 300;
  double tol = 1e-4;
  std::string stop = "tol";
  EmptyPolicy empty = EmptyPolicy::kFarthest;
  double time_limit = 0;
  std::string algorithm = "auto";
  std::string backend = "auto";
  Strategy strategy = Strategy::kConcatenated;
  int threads = 0;
  ByteSize memory = {};

  /// Returns true if the sizes of clusters have bounds.
  bool balanced() const { return min_size > 0 || max_size > 0; }
};

/// How an option is shown to people.
struct OptionInfo {
  const char* name;   ///< key in JSON and Python; on the command line "--" and dashes for underscores
  const char* flags;  ///< spelling on the command line
  const char* value;  ///< placeholder of the value in --help
  const char* help;   ///< one sentence or two
};

/// The help of the option stop, which lists the stop rules.
const char* help_of_stop();

/// Calls visit(info, member) for every option, in the order of --help.
/// `Options` is FitOptions or const FitOptions.
template <class Options, class Visitor>
void for_each_option(Options& options, Visitor&& visit) {
  visit(OptionInfo{"k", "-k,--clusters", "LIST",
                   "Number of clusters: 8, a list 8,16,32, a range 2..20, or a range with a step 2..20:2."},
        options.k);
  visit(OptionInfo{"models", "-m,--models", "COUNT",
                   "Models for each k, from different seeds; the best by inertia is marked (scikit-learn: n_init)."},
        options.models);
  visit(OptionInfo{"seed", "--seed", "SEED", "Seed of the ensemble; every model's own seed follows from it."},
        options.seed);
  visit(OptionInfo{"model_seed", "--model-seed", "SEED",
                   "Seed of one model, as reported by an earlier fit: gives that model alone, with the same digest."},
        options.model_seed);
  visit(OptionInfo{"init", "--init", "METHOD",
                   "auto, k-means++, k-means||, random, first, or a file: k rows for each model (.npy, .csv), or a "
                   "model .npz, whose k and models the fit has. auto: k-means++ up to k = 5000, k-means|| above."},
        options.init);
  visit(OptionInfo{"metric", "--metric", "NAME",
                   "euclidean, or cosine: rows and prototypes are scaled to length one (spherical k-means), after "
                   "--scale; no row may be all zeros."},
        options.metric);
  visit(
      OptionInfo{
          "min_size", "--min-size", "ROWS",
          "Min rows of a cluster; rows are assigned at the lowest total cost. 0: no minimum (docs/user/balanced.md)."},
      options.min_size);
  visit(OptionInfo{"max_size", "--max-size", "ROWS", "Max rows of a cluster; 0: no maximum."}, options.max_size);
  visit(OptionInfo{"max_iter", "--max-iter", "COUNT", "Max iterations (updates of the prototypes) of a model."},
        options.max_iter);
  visit(OptionInfo{"tol", "--tol", "NUMBER",
                   "Stop when the squared shift of all prototypes is at most NUMBER times the mean variance of the "
                   "columns (stop rule tol); 0: never."},
        options.tol);
  visit(OptionInfo{"stop", "--stop", "RULES", help_of_stop()}, options.stop);
  visit(OptionInfo{"empty", "--empty", "POLICY", "Empty clusters: farthest, keep, drop or error."}, options.empty);
  visit(OptionInfo{"time_limit", "--time-limit", "SECONDS",
                   "Stop after the first pass that exceeds this time, and return the models so far: at least the first "
                   "one, after one pass. 0: no limit."},
        options.time_limit);
  visit(OptionInfo{"algorithm", "--algorithm", "NAME",
                   "How labels are found: auto (by a cost model; the result names the choice and its reason), matrix "
                   "(scores of rounded copies, each proved or resolved), bounds (matrix, but only for rows whose label "
                   "may have changed: 8 bytes a row and model), kdtree (few columns: at most 32, 4 on CUDA) or brute "
                   "(exact distances only). Never changes the answer."},
        options.algorithm);
  visit(
      OptionInfo{
          "backend", "--backend,--device", "NAME",
          "Where to compute: auto, cpu, reference, cuda, opencl, or one of several devices, as opencl:1; or several "
          "that share the rows, as cuda:0,cuda:1, cuda:all or cpu,cuda:0. 'manymeans info' lists them. Never "
          "changes the answer."},
      options.backend);
  visit(OptionInfo{"strategy", "--strategy", "NAME",
                   "How an ensemble is spread: concatenated, data or task. Never changes the answer."},
        options.strategy);
  visit(OptionInfo{"threads", "--threads", "COUNT",
                   "Threads; 0: as many as the cgroup quota and the affinity mask allow. Never changes the answer."},
        options.threads);
  visit(
      OptionInfo{
          "memory", "--memory", "SIZE",
          "Max memory to use, as 256MiB or 2GB; 0: all that the machine and its cgroup have left. Points that do not "
          "fit are read from their file in every pass, other arrays go to side files (docs/user/memory.md). With "
          "backend cuda or opencl: max memory of the device. Never changes the answer."},
      options.memory);
}

/// Returns true if the value of this option can change the answer of a fit that runs to its end.
bool decides_the_answer(std::string_view option);

/// The numbers in "8", "8,16,32", "2..20" or "2..20:2", in order. Throws Error(kUsage).
std::vector<int64_t> parse_k_list(const std::string& text);

/// Throws Error(kUsage) unless every option is in its range and the options agree with each other.
void check(const FitOptions& options);

}  // namespace manymeans
