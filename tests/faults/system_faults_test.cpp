// Every allocation of small fits, readers and writers fails once, alone and with all that follow; threads cannot be
// made. What is asked for comes out with the same digest, or an Error does: no crash, nothing kept, nothing half
// written.
#include "system_faults.h"

#include <manymeans/manymeans.h>

#include "core/workers.h"
#include "io/files.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <ostream>

namespace manymeans::test {
namespace {

std::vector<float> grid_points(int64_t n, int64_t d) {
  std::vector<float> values(static_cast<size_t>(n * d));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761U % 1009) / 16;
  return values;
}

// What a run came to: the text of `work`, or what it threw instead.
struct Outcome {
  std::string text, problem;
  bool failed = false;
};

Outcome run_with(MemoryFaults faults, const std::function<std::string()>& work) {
  Outcome outcome;
  arm(faults);
  try {
    outcome.text = work();
  } catch (const Error& error) {
    disarm();
    outcome.failed = true;
    if (error.code() != ErrorCode::kUnavailable) outcome.problem = error.what();
  } catch (const std::bad_alloc&) {
    disarm();
    outcome.failed = true;
    if (!faults.all) outcome.problem = "std::bad_alloc";  // with no memory at all there is none for a message either
  } catch (const std::exception& other) {
    disarm();
    outcome.failed = true;
    outcome.problem = std::string("another exception: ") + other.what();
  }
  return outcome;
}

// Runs `work` with the first, second, third ... allocation refused, until one run needs no more. It returns text that
// has to be the same whenever it succeeds.
void refuse_each_allocation(const std::string& name, const std::function<std::string()>& work) {
  work();  // what is made once and kept
  const std::string expected = work();
  int64_t failures = 0;
  for (const bool all : {false, true}) {
    int64_t refused = 1;
    for (int64_t first = 1; refused > 0; ++first) {
      ASSERT_LT(first, 100'000) << name;
      const int64_t live = live_allocations();
      {
        const Outcome outcome = run_with({first, all}, work);
        refused = disarm();
        failures += outcome.failed;
        ASSERT_EQ(outcome.problem, "") << name << ", allocation " << first << (all ? " and all later" : "");
        if (!outcome.failed) {
          ASSERT_EQ(outcome.text, expected) << name << ", allocation " << first;
        }
      }
      ASSERT_EQ(live_allocations(), live) << name << ", allocation " << first << ": something was not freed";
    }
  }
  EXPECT_GT(failures, 5) << name;  // else it was not this code that was refused
}

struct FitCase {
  std::string name;
  FitOptions options;
};
void PrintTo(const FitCase& test, std::ostream* out) {
  *out << test.name;
}

class FitFaults : public testing::TestWithParam<FitCase> {};

TEST_P(FitFaults, EveryAllocationFailsOnce) {
  const std::vector<float> values = grid_points(70, 3);
  FitOptions options = GetParam().options;
  options.threads = 1;
  options.max_iter = 5;
  refuse_each_allocation(GetParam().name, [&] {
    const FitResult result = fit(PointsView(values.data(), 70, 3), {}, options);
    disarm();
    return result.digest();
  });
}

INSTANTIATE_TEST_SUITE_P(All, FitFaults,
                         testing::Values(FitCase{"brute", {.k = {4}, .models = 2, .algorithm = "brute"}},
                                         FitCase{"matrix", {.k = {3, 5}, .algorithm = "matrix"}},
                                         FitCase{"bounds", {.k = {4}, .models = 2, .algorithm = "bounds"}},
                                         FitCase{"kdtree", {.k = {4}, .models = 2, .algorithm = "kdtree"}},
                                         FitCase{"auto", {.k = {4}, .models = 2}},
                                         FitCase{"task", {.k = {4}, .models = 2, .strategy = Strategy::kTask}},
                                         FitCase{"parallel_init", {.k = {4}, .init = "k-means||"}},
                                         FitCase{"random_init", {.k = {4}, .init = "random"}},
                                         FitCase{"reference", {.k = {4}, .backend = "reference"}}),
                         [](const auto& test) { return test.param.name; });

TEST(PredictFaults, EveryAllocationFailsOnce) {
  const std::vector<float> values = grid_points(50, 2);
  const PointsView points(values.data(), 50, 2), prototypes(values.data(), 4, 2);
  const auto text = [](const auto& numbers) {
    disarm();  // what follows is this test's own memory
    std::string result;
    for (const auto value : numbers) result += std::to_string(value) + " ";
    return result;
  };
  refuse_each_allocation("predict", [&] {
    return text(predict(points, prototypes, {.threads = 1, .distances = true, .inertia = true}).distances);
  });
  refuse_each_allocation("transform", [&] {
    const Matrix distances = transform(points, prototypes, {.threads = 1});
    return text(distances.values<float>());
  });
  const FitOptions options{.k = {3}, .threads = 1};
  refuse_each_allocation("initialise", [&] { return text(initialise(points, {}, options).rows); });
  refuse_each_allocation("scaling", [&] {
    const Scaling scaling = find_scaling(points, Scale::kStandard, 1);
    const Matrix scaled = apply_scaling(points, scaling, 1);
    return text(scaled.values<float>());
  });
  refuse_each_allocation("describe", [&] {
    const std::vector<ColumnSummary> columns = summarise_columns(points, 1);
    disarm();
    return std::to_string(columns[1].mean);
  });
}

std::string bytes_of(const Dataset& points) {
  disarm();
  return {static_cast<const char*>(points.view.data), points.view.bytes()};
}

// Each writer, and the reader of what it wrote.
TEST(FileFaults, EveryAllocationFailsOnce) {
  const Folder folder;
  Dataset points;
  const std::vector<float> values = grid_points(20, 3);
  points.view = {values.data(), 20, 3};
  int64_t formats = 0;
  for (const Choice& writer : info().writers) {
    // The libraries of these do not all survive without memory: Arrow's ends the program.
    const bool by_others = writer.name == "parquet" || writer.name == "arrow" || writer.name == "hdf5";
    if (!writer.available || by_others) continue;
    const std::string path = folder / ("points." + writer.name);
    const std::vector<float> whole = {1, 2, 3, 4, 5, 6};
    Dataset fitting = points;
    const bool integers = writer.name.find("vecs") != std::string::npos ||
                          writer.name.find("8bin") != std::string::npos || writer.name == "ibin";
    if (integers) fitting.view = {whole.data(), 2, 3};
    refuse_each_allocation("writer " + writer.name, [&] {
      write_points(path, fitting, writer.name);
      disarm();
      return content_of(path);
    });
    const std::string reader = writer.name == "csv" ? "text" : writer.name;
    const ReadOptions reading{.format = reader, .dtype = DataType::kFloat64, .threads = 1};
    refuse_each_allocation("reader " + reader, [&] { return bytes_of(read_points(path, reading)); });
    ++formats;
  }
  EXPECT_GE(formats, 10);
  const std::string text = folder.file("a.csv.gz", gzipped("a,b,c\n1,2,x\n3,4,y\n"));
  const ReadOptions reading{.numeric_only = true, .weights = "b", .threads = 1};
  refuse_each_allocation("gzip", [&] { return bytes_of(read_points(text, reading)); });
  // A seed of the fuzzers: after one byte of choices, the file.
  const std::string packed = folder.file("packed.npz", content_of(MANYMEANS_FUZZ_CORPUS "/npz/npz_deflated").substr(1));
  const ReadOptions plain{.threads = 1};
  refuse_each_allocation("deflated", [&] { return bytes_of(read_points(packed, plain)); });
  for (const std::string& name : folder.names()) EXPECT_NE(name[0], '.') << name << " was left behind";
}

TEST(FileFaults, ModelsAndLabels) {
  const Folder folder;
  const std::vector<float> values = grid_points(40, 2);
  const FitResult result = fit(PointsView(values.data(), 40, 2), {}, {.k = {3}, .models = 2, .threads = 1});
  const std::string model = folder / "model.npz";
  // Not to_json: the JSON library's destructors ask for memory, and where there is none they end the program.
  save_model(model, result, {}, {"a", "b"});
  const ModelFile stored = load_model(model);
  refuse_each_allocation("save_model", [&] {
    save_model(model, stored);
    disarm();
    return content_of(model);
  });
  refuse_each_allocation("load_model", [&] {
    const ModelFile loaded = load_model(model);
    disarm();
    return std::to_string(loaded.models[1].inertia);
  });
  const std::string labels = folder / "labels.csv";
  refuse_each_allocation("labels", [&] { return write_labels(labels, result); });
}

// Fewer threads than asked for: the same answer.
TEST(ThreadFaults, FitsGoOnWithThoseThatThereAre) {
  const std::vector<float> values = grid_points(20000, 4);
  const PointsView points(values.data(), 20000, 4);
  for (const Strategy strategy : {Strategy::kConcatenated, Strategy::kTask, Strategy::kData}) {
    FitOptions options{.k = {7}, .models = 3};
    options.max_iter = 10;
    options.threads = 4;
    options.strategy = strategy;
    const FitResult expected = fit(points, {}, options);
    for (const int64_t threads : {0, 1, 2, 3, 5, 8}) {
      end_waiting_threads();  // or they would take part
      allow_threads(threads);
      const FitResult found = fit(points, {}, options);
      allow_threads(std::numeric_limits<int64_t>::max());
      EXPECT_EQ(found.digest(), expected.digest()) << name_of(strategy) << ", " << threads;
      if (threads == 0) {
        EXPECT_EQ(found.provenance.threads, 1);
      }
    }
  }
  EXPECT_EQ(fit(points, {}, {.k = {2}, .threads = 4}).provenance.threads, 4);
}

// Memory is refused while several threads work: whichever of them it hits.
TEST(ThreadFaults, MemoryRefusedOnAnyThread) {
  const std::vector<float> values = grid_points(3000, 4);
  const PointsView points(values.data(), 3000, 4);
  FitOptions options{.k = {7}, .models = 2};
  options.max_iter = 5;
  options.threads = 3;
  const std::string expected = fit(points, {}, options).digest();
  std::map<bool, int> outcomes;
  for (int64_t first = 1; first < 600; first += 7) {
    arm({first, false});
    bool done = false;
    try {
      const FitResult found = fit(points, {}, options);
      disarm();
      done = true;
      EXPECT_EQ(found.digest(), expected) << first;
    } catch (const Error& error) {
      disarm();
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << first << ": " << error.what();
    }
    ++outcomes[done];
  }
  EXPECT_GT(outcomes[false], 5);
}

}  // namespace
}  // namespace manymeans::test
