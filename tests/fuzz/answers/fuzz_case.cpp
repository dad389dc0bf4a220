#include "fuzz/answers/fuzz_case.h"

#include <manymeans/info.h>

#include "backend/backend.h"
#include "fuzz/answers/draw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

namespace manymeans::fuzz {
namespace {

int64_t sum_of(const std::vector<int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

bool seeds_apart(const std::string& init) {
  return init == "auto" || init.starts_with("k-means");
}

class CaseDrawer {
 public:
  CaseDrawer(uint64_t seed, int64_t number, const Limits& limits)
      : limits_(limits), seconds_(limits.seconds), draw_(mixed(seed) ^ static_cast<uint64_t>(number)) {
    case_.seed = seed;
    case_.number = number;
    case_.cuda = limits.cuda;
  }

  FuzzCase drawn() {
    draw_shape();
    draw_ensemble();
    draw_values();
    draw_rules();
    keep_to_budget();
    case_.predicted_rows = draw_.chance(0.5) ? draw_.log_between(1, std::max<int64_t>(1, case_.recipe.n / 4)) : 0;
    draw_ways();
    return std::move(case_);
  }

 private:
  void draw_shape() {
    PointRecipe& recipe = case_.recipe;
    recipe.type = draw_.pick({DataType::kFloat32, DataType::kFloat32, DataType::kFloat32, DataType::kFloat64,
                              DataType::kFloat16, DataType::kBFloat16, DataType::kUInt8, DataType::kInt8});
    // Of 8-byte values half as many, for the memory that a fit takes.
    const int64_t most = size_of(recipe.type) == 8 ? limits_.max_values / 2 : limits_.max_values;
    int64_t values = draw_.log_between(std::min<int64_t>(100'000, most), most);
    if (draw_.chance(0.05)) values = draw_.between(most - most / 4, most);
    recipe.d = draw_.chance(0.5)
                   ? draw_.log_between(1, 1200)
                   : draw_.pick<int64_t>({1,   2,   2,   3,   4,   5,   8,   16,  17,  32,  33,   54,   64,   100,
                                          128, 129, 160, 192, 256, 300, 384, 512, 768, 784, 1024, 1536, 4096, 16384});
    recipe.d = std::min(recipe.d, std::max<int64_t>(1, values / 50));
    constexpr int64_t kMaxRows = 30'000'000;  // more than 2^31 of them: ./dev huge
    recipe.n = std::clamp<int64_t>(values / recipe.d, 1, kMaxRows);
    recipe.seed = draw_.bits();
  }

  void draw_ensemble() {
    FitOptions& options = case_.options;
    const int64_t most = std::min(limits_.max_clusters, case_.recipe.n);
    case_.given = draw_.chance(0.12);
    const int64_t lengths = case_.given ? 1 : draw_.pick<int64_t>({1, 1, 1, 1, 2, 3, 4, 7});
    options.k.clear();
    for (int64_t i = 0; i < lengths; ++i) options.k.push_back(draw_.log_between(1, most));
    options.models = case_.given ? 1 : draw_.pick<int64_t>({1, 1, 1, 2, 3, 5, 10, 20});
    options.seed = draw_.bits();
    options.init = draw_.pick({"auto", "k-means++", "k-means||", "random", "random", "first"});
    options.empty = draw_.pick({EmptyPolicy::kFarthest, EmptyPolicy::kFarthest, EmptyPolicy::kFarthest,
                                EmptyPolicy::kKeep, EmptyPolicy::kDrop, EmptyPolicy::kDrop, EmptyPolicy::kError});
  }

  void draw_values() {
    PointRecipe& recipe = case_.recipe;
    recipe.kind = static_cast<PointKind>(draw_.below(kPointKinds));
    if (draw_.chance(0.3)) recipe.kind = draw_.pick({PointKind::kMoving, PointKind::kSettled, PointKind::kNoise});
    if (recipe.kind == PointKind::kPixels && draw_.chance(0.5)) recipe.type = DataType::kUInt8;
    recipe.groups = draw_.chance(0.4) ? case_.options.k[0] : draw_.log_between(1, std::min<int64_t>(recipe.n, 20'000));
    if (recipe.kind == PointKind::kDuplicates) recipe.groups = draw_.log_between(1, recipe.n);
    if (draw_.chance(0.4)) recipe.weights = static_cast<WeightKind>(draw_.below(kWeightKinds));
    if (!draw_.chance(0.25)) return;
    switch (recipe.type) {
      case DataType::kFloat64: recipe.exponent = static_cast<int>(draw_.between(-900, 450)); break;
      case DataType::kFloat16: recipe.exponent = static_cast<int>(draw_.between(-12, 6)); break;
      case DataType::kFloat32:
      case DataType::kBFloat16: recipe.exponent = static_cast<int>(draw_.between(-140, 100)); break;
      default: break;
    }
  }

  void draw_rules() {
    FitOptions& options = case_.options;
    const double wide = std::ldexp(1.0, case_.recipe.exponent);
    options.tol = draw_.pick({1e-4, 1e-4, 0.0, 1e-2});
    options.stop =
        draw_.pick<std::string>({"tol", "strict", "strict", "labels:0.01", "inertia:0.0001", "tol,labels:0.001",
                                 fmt::format("shift:{}", 0.05 * wide), fmt::format("shift:{}:0.8", 0.02 * wide),
                                 fmt::format("error:{}", 100 * wide * wide)});
    options.max_iter = draw_.chance(0.06) ? 0 : draw_.log_between(1, 40);
    if (limits_.cuda) options.max_iter = std::min<int64_t>(options.max_iter, draw_.between(3, 12));
  }

  // Shrinks now this, now that, until one way takes its share of the time.
  void keep_to_budget() {
    if (draw_.chance(0.06)) seconds_ *= limits_.cuda ? 2 : 4;
    const Way fast;
    while (rough_seconds(case_, fast) > seconds_ / 6 && case_.recipe.n > 100) shrink();
    for (int64_t& k : case_.options.k) k = std::min(k, case_.recipe.n);
    case_.recipe.groups = std::min(case_.recipe.groups, case_.recipe.n);
  }

  void shrink() {
    FitOptions& options = case_.options;
    switch (draw_.below(6)) {
      case 0:
      case 1:
        if (options.max_iter > 2) options.max_iter = options.max_iter * 2 / 3;
        break;
      case 2: options.models = (options.models + 1) / 2; break;
      case 3:
        if (options.k.size() > 1) options.k.pop_back();
        break;
      case 4:
        for (int64_t& k : options.k) k = k > 8 ? k * 2 / 3 : k;
        break;
      default:
        if (seeds_apart(options.init) && !case_.given) {
          options.init = draw_.pick({"random", "first", "k-means||"});
        } else if (draw_.chance(0.2)) {
          case_.recipe.n = (case_.recipe.n + 1) / 2;
        }
    }
  }

  void draw_ways() {
    const std::vector<CpuScreen> screens = cpu_screens();
    Way first;
    first.threads = limits_.cuda ? 0 : draw_.pick({1, 2, 2, 3});
    case_.ways.push_back(first);
    double spent = rough_seconds(case_, first);
    Way reference;
    reference.backend = "reference";
    if (rough_seconds(case_, reference) + spent < seconds_ / 2) {
      spent += rough_seconds(case_, reference);
      case_.ways.push_back(reference);
    }
    const auto wanted =
        case_.ways.size() + static_cast<size_t>(limits_.cuda ? draw_.between(3, 6) : draw_.between(1, 3));
    for (int tries = 0; tries < 40 && case_.ways.size() < wanted; ++tries) {
      Way way = limits_.cuda && !draw_.chance(0.1) ? cuda_way() : cpu_way(screens);
      const double seconds = rough_seconds(case_, way);
      if (spent + seconds > seconds_) continue;
      spent += seconds;
      case_.ways.push_back(std::move(way));
    }
  }

  // What all backends have.
  Way any_way() {
    Way way;
    way.strategy = draw_.pick({Strategy::kConcatenated, Strategy::kConcatenated, Strategy::kData, Strategy::kTask});
    way.threads = draw_.pick({1, 2, 2, 3, 5, 16});
    if (way.strategy == Strategy::kTask && draw_.chance(0.7)) way.threads = draw_.pick({4, 8, 16});
    if (draw_.chance(0.2)) way.tuning.duplicates = draw_.pick({0, 1}) != 0;
    if (draw_.chance(0.25)) way.memory_share = draw_.share();
    return way;
  }

  // Every instruction set is as likely as the others, or every format: some formats are those of one set only.
  CpuScreen draw_screen(const std::vector<CpuScreen>& screens) {
    const bool by_format = draw_.chance(0.5);
    const auto key = [&](const CpuScreen& screen) { return by_format ? screen.format : screen.instruction_set; };
    std::set<std::string> keys;
    for (const CpuScreen& screen : screens) keys.insert(key(screen));
    const std::string wanted = *std::next(keys.begin(), draw_.below(static_cast<int64_t>(keys.size())));
    std::vector<CpuScreen> among;
    std::copy_if(screens.begin(), screens.end(), std::back_inserter(among),
                 [&](const CpuScreen& screen) { return key(screen) == wanted; });
    return among[static_cast<size_t>(draw_.below(static_cast<int64_t>(among.size())))];
  }

  Way cpu_way(const std::vector<CpuScreen>& screens) {
    Way way = any_way();
    const CpuScreen screen = draw_screen(screens);
    way.tuning.cpu.instruction_set = screen.instruction_set;
    if (draw_.chance(0.8)) way.tuning.cpu.screen_format = screen.format;
    if (draw_.chance(0.5)) way.tuning.cpu.seeding_in_bytes = draw_.chance(0.5);
    if (draw_.chance(0.5)) way.tuning.cpu.passes_in_bytes = draw_.chance(0.7);
    way.algorithm = draw_.pick({"auto", "matrix", "matrix", "bounds", "bounds", "brute"});
    if (case_.recipe.d <= 32 && draw_.chance(0.3)) way.algorithm = "kdtree";
    // A file on a disk that is filled by the case.
    way.in_file = way.memory_share >= 0 && case_.recipe.n * case_.recipe.d <= 50'000'000 && draw_.chance(0.7);
    return way;
  }

  Way cuda_way() {
    Way way = any_way();
    way.backend = "cuda";
    way.algorithm = draw_.pick({"auto", "auto", "auto", "matrix", "bounds", "bounds", "brute"});
    if (case_.recipe.d <= 4 && draw_.chance(0.3)) way.algorithm = "kdtree";
    CudaTuning& tuning = way.tuning.cuda;
    if (draw_.chance(0.5)) tuning.screen_format = draw_.pick({"float16", "float16", "float16-sync", "float32"});
    if (draw_.chance(0.5)) tuning.score_thresholds = draw_.chance(0.5);
    tuning.queued_passes = draw_.chance(0.3);
    if (draw_.chance(0.15))
      tuning.slice_rows = draw_.log_between(std::min<int64_t>(4096, case_.recipe.n), case_.recipe.n);
    way.on_device = draw_.chance(0.15);
    return way;
  }

  const Limits limits_;
  double seconds_;  // that this case may take
  Draw draw_;
  FuzzCase case_;
};

}  // namespace

std::vector<CpuScreen> cpu_screens() {
  std::vector<CpuScreen> screens;
  for (const Choice& set : cpu_instruction_sets()) {
    if (!set.available) continue;
    for (const std::string& format : cpu_screen_formats(set.name)) screens.push_back({set.name, format});
  }
  return screens;
}

int64_t FuzzCase::all_clusters() const {
  return options.models * sum_of(options.k);
}

double rough_seconds(const FuzzCase& drawn, const Way& way) {
  const auto n = static_cast<double>(drawn.recipe.n);
  const double wide = n * static_cast<double>(drawn.recipe.d + 8);
  const auto passes = static_cast<double>(drawn.options.max_iter + 2);
  const double scores = wide * static_cast<double>(drawn.all_clusters()) * passes;
  const auto models = static_cast<double>(drawn.options.models) * static_cast<double>(drawn.options.k.size());
  const double sums = models * (n * 30e-9 * passes + wide * 3e-9);
  double seeding = 0;
  if (seeds_apart(drawn.options.init) && !drawn.given) {
    for (const int64_t k : drawn.options.k) {
      const auto most = static_cast<double>(k);
      seeding += static_cast<double>(drawn.options.models) * wide * most * (3 + std::log(most));
    }
  }
  const bool portable = way.tuning.cpu.instruction_set == "portable";
  const bool avx2 = way.tuning.cpu.instruction_set == "avx2";
  const double cores = way.backend == "reference" ? 1 : (drawn.cuda ? 16 : 2);
  if (way.backend == "reference") return (scores + seeding) / 2e8 + 3 * sums;
  if (way.backend == "cuda") return 0.1 + (scores + seeding) / (way.algorithm == "brute" ? 5e11 : 2e13) + wide / 2e9;
  const bool emulated = portable && !way.tuning.cpu.screen_format.empty() && way.tuning.cpu.screen_format != "float32";
  double rate = emulated ? 5e8 : (portable ? 2e9 : (avx2 ? 1.2e10 : 2e10));
  if (way.algorithm == "brute") rate = portable ? 2e8 : 2e9;
  return (scores / rate + seeding / (portable ? 5e8 : 3e9) + wide / 4e8 + sums) / cores;
}

FuzzCase draw_case(uint64_t seed, int64_t number, const Limits& limits) {
  return CaseDrawer(seed, number, limits).drawn();
}

std::string Way::text() const {
  std::string text = fmt::format("{} {} {}", backend, algorithm, manymeans::name_of(strategy));
  if (threads > 0) text += fmt::format(" {} threads", threads);
  if (!tuning.cpu.instruction_set.empty()) text += " " + tuning.cpu.instruction_set;
  for (const std::string& format : {tuning.cpu.screen_format, tuning.cuda.screen_format}) {
    if (!format.empty()) text += " " + format;
  }
  if (tuning.cpu.seeding_in_bytes) text += *tuning.cpu.seeding_in_bytes ? " seeding-in-bytes" : " seeding-in-floats";
  if (tuning.cpu.passes_in_bytes) text += *tuning.cpu.passes_in_bytes ? " passes-in-bytes" : " passes-in-floats";
  if (tuning.duplicates) text += *tuning.duplicates ? " duplicates=on" : " duplicates=off";
  if (memory_share >= 0) text += fmt::format(" memory={:.3f}", memory_share);
  if (in_file) text += " in-file";
  if (on_device) text += " on-device";
  if (tuning.cuda.score_thresholds) text += *tuning.cuda.score_thresholds ? " thresholds" : " no-thresholds";
  if (tuning.cuda.queued_passes) text += " queued";
  if (tuning.cuda.slice_rows > 0) text += fmt::format(" slices={}", tuning.cuda.slice_rows);
  return text;
}

std::string FuzzCase::text() const {
  return fmt::format("{}; k {}, {} models, seed {}, init {}, stop {}, tol {}, at most {} iterations, empty {}",
                     recipe.text(), fmt::join(options.k, ","), options.models, options.seed,
                     given ? "given" : options.init, options.stop, options.tol, options.max_iter,
                     manymeans::name_of(options.empty));
}

}  // namespace manymeans::fuzz
