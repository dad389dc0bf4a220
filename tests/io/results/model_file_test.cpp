#include <manymeans/model_file.h>
#include <manymeans/tree.h>

#include "io/files.h"
#include "io/numpy/npz.h"
#include "io/results/json_text.h"
#include "io/results/results.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace manymeans::test {
namespace {

const std::vector<std::string> kNames{"x", "caf\xc3\xa9"};

TEST(ModelFile, RoundTrip) {
  const Folder folder;
  FitResult result = make_result();
  result.models[2] = make_model(4, 0, 1.0 / 3, DataType::kFloat64);
  result.models[2].k_requested = 6;
  const Scaling scaling{Scale::kStandard, {1, 2}, {0.5, 1.0 / 3}};
  const SourceColumns source{5, {4, 2}, kNames};
  save_model(folder / "m.npz", result, scaling, kNames, source);
  const ModelFile file = load_model(folder / "m.npz");
  ASSERT_EQ(file.models.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const ModelResult& before = result.models[i];
    const StoredModel& after = file.models[i];
    EXPECT_EQ(after.k, before.k);
    EXPECT_EQ(after.k_requested, before.k_requested);
    EXPECT_EQ(after.replica, before.replica);
    EXPECT_EQ(after.seed, before.seed);
    EXPECT_EQ(after.iterations, before.iterations);
    EXPECT_EQ(after.inertia, before.inertia);
    EXPECT_EQ(after.stop_reason, "strict");
    EXPECT_EQ(after.init, "k-means++");
    EXPECT_EQ(after.counts, before.counts);
    EXPECT_EQ(after.weights, before.weights);
    ASSERT_EQ(after.prototypes.type(), before.prototypes.type());
    ASSERT_EQ(after.prototypes.bytes().size(), before.prototypes.bytes().size());
    EXPECT_EQ(std::memcmp(after.prototypes.bytes().data(), before.prototypes.bytes().data(),
                          before.prototypes.bytes().size()),
              0);
  }
  EXPECT_EQ(file.scaling.kind, Scale::kStandard);
  EXPECT_EQ(file.scaling.offset, scaling.offset);
  EXPECT_EQ(file.scaling.divisor, scaling.divisor);
  EXPECT_EQ(file.column_names, kNames);
  EXPECT_EQ(file.source.count, 5);
  EXPECT_EQ(file.source.numbers, source.numbers);
  EXPECT_EQ(file.source.names, kNames);
  EXPECT_EQ(points_of_fit(file).columns, file.models[0].prototypes.columns());
  EXPECT_EQ(file.json, answer_json(result));
  EXPECT_EQ(file.ranges.minimum, result.ranges.minimum);
  EXPECT_EQ(file.ranges.maximum, result.ranges.maximum);
  EXPECT_EQ(file.ranges.rows, 3);  // the counts of make_model()
}

// Weights near the largest numbers have sums beyond them; what such a fit wrote was refused.
TEST(ModelFile, SumsThatAreInfinite) {
  const Folder folder;
  FitResult result = make_result();
  const double infinity = std::numeric_limits<double>::infinity();
  result.models[0].inertia = result.models[0].weights[0] = infinity;
  save_model(folder / "m.npz", result, {}, {});
  const ModelFile file = load_model(folder / "m.npz");
  EXPECT_EQ(file.models[0].inertia, infinity);
  EXPECT_EQ(file.models[0].weights, result.models[0].weights);
}

TEST(ModelFile, WithoutNamesAndScaling) {
  const Folder folder;
  save_model(folder / "m.npz", make_result(), {}, {});
  const ModelFile file = load_model(folder / "m.npz");
  EXPECT_TRUE(file.column_names.empty());
  EXPECT_EQ(file.scaling.kind, Scale::kNone);
}

TEST(ModelFile, ModelsThatHadNotBegun) {
  const Folder folder;
  FitResult result = make_result();
  result.models[0] = {};
  save_model(folder / "m.npz", result, {}, {});
  EXPECT_EQ(load_model(folder / "m.npz").models.size(), 2u);
  result.models.resize(1);
  expect_error(ErrorCode::kInterrupted, {"no model had begun"}, [&] { save_model(folder / "n.npz", result, {}, {}); });
  EXPECT_EQ(folder.names().size(), 1u);
}

TEST(ModelFile, NamesOfAnyBytes) {
  const Folder folder;
  const std::vector<std::string> names = {"caf\xe9", "\xc3\xa9t\xc3\xa9 \x1b[31m"};
  save_model(folder / "m.npz", make_result(), {}, names);
  EXPECT_EQ(load_model(folder / "m.npz").column_names, names);
}

TEST(ModelFile, WhatWasLoadedIsSavedAsItWas) {
  const Folder folder;
  save_model(folder / "m.npz", make_result(), {Scale::kMinMax, {0.5, -1}, {2, 3}}, kNames);
  save_model(folder / "n.npz", load_model(folder / "m.npz"));
  EXPECT_EQ(content_of(folder / "m.npz"), content_of(folder / "n.npz"));
}

TEST(ModelFile, LogarithmsAndRowsOfLengthOne) {
  const Folder folder;
  const std::vector logs = {Logarithm::kOfOnePlus, Logarithm::kNone};
  for (const Scaling& scaling : {Scaling{Scale::kRobust, {0.5, -1}, {2, 3}, logs},
                                 Scaling{Scale::kNone, {0, 0}, {1, 1}, logs}, Scaling{Scale::kUnit, {}, {}}}) {
    save_model(folder / "m.npz", make_result(), scaling, kNames);
    EXPECT_EQ(load_model(folder / "m.npz").scaling, scaling);
    const std::string file = content_of(folder / "m.npz");
    EXPECT_EQ(file.find("scale_log") != std::string::npos, !scaling.logs.empty());
  }
}

// A file with one array replaced (or left out, where the replacement is empty).
std::string with(const Folder& folder, const std::string& key, const std::function<void(NpzWriter&)>& replace) {
  FitResult result = make_result();
  result.models.resize(1);
  save_model(folder / "good.npz", result, {Scale::kStandard, {0, 0}, {1, 1}}, kNames);
  const std::string good = content_of(folder / "good.npz");
  const ZipReader zip(std::as_bytes(std::span(good)), "good.npz");
  OutputFile file(folder / "bad.npz");
  ZipWriter copy(file);
  for (const char* name : {"format_version", "k", "k_requested", "replica", "seed", "iterations", "inertia",
                           "stop_reason", "init", "centroids_0", "counts_0", "weights_0", "scale_kind", "scale_offset",
                           "scale_divisor", "column_names", "json"}) {
    if (name != key) copy.add(std::string(name) + ".npy", "", zip.read(std::string(name) + ".npy"));
  }
  if (replace) {
    OutputFile part(folder / "part.npz");
    NpzWriter npz(part);
    replace(npz);
    npz.finish();
    part.commit();
    const std::string bytes = content_of(folder / "part.npz");
    copy.add(key + ".npy", "", ZipReader(std::as_bytes(std::span(bytes)), "part").read(key + ".npy"));
  }
  copy.finish();
  file.commit();
  return folder / "bad.npz";
}

TEST(ModelFile, MissingKeys) {
  const Folder folder;
  EXPECT_EQ(load_model(with(folder, "", {})).models.size(), 1u);
  for (const char* key : {"format_version", "k", "k_requested", "replica", "seed", "iterations", "inertia",
                          "stop_reason", "init", "centroids_0", "counts_0", "weights_0", "scale_kind", "scale_offset",
                          "scale_divisor", "column_names", "json"}) {
    expect_error(ErrorCode::kBadData, {"bad.npz", std::string("'") + key + "'"},
                 [&] { load_model(with(folder, key, {})); });
  }
}

// What differs between two runs that gave the same answer is not in the file.
TEST(ModelFile, NothingOfTheRun) {
  const Folder folder;
  FitResult one = make_result(), other = make_result();
  other.models[0].seconds = 3;
  Provenance& run = other.provenance;
  run.backend = "cuda";
  run.threads = 7;
  run.passes = 9;
  run.seconds = {{"read", 1}};
  run.pass_log.clear();
  run.total = {};
  run.options.threads = 7;
  run.options.time_limit = 60;
  run.warnings = {"the device is slow"};
  other.warnings.push_back(run.warnings[0]);
  save_model(folder / "one.npz", one, {}, {});
  save_model(folder / "other.npz", other, {}, {});
  EXPECT_EQ(content_of(folder / "one.npz"), content_of(folder / "other.npz"));
  other.provenance.options.tol = 1;
  save_model(folder / "other.npz", other, {}, {});
  EXPECT_NE(content_of(folder / "one.npz"), content_of(folder / "other.npz"));
}

TEST(ModelFile, LeavesHaveTheDigestAndTheOptionsOfTheirTree) {
  const Folder folder;
  TreeResult tree;
  tree.fit = make_result();
  tree.fit.models.resize(1);
  tree.splits = {tree.fit.models[0].digest()};
  tree.options.branching = 7;
  save_model(folder / "leaves.npz", tree, {}, {});
  const ModelFile file = load_model(folder / "leaves.npz");
  EXPECT_NE(file.json.find("\"digest\": \"" + tree.digest() + "\""), std::string::npos);
  EXPECT_NE(file.json.find("\"branching\": 7"), std::string::npos);
  EXPECT_EQ(file.json.find("seconds"), std::string::npos);
}

TEST(ModelFile, RangesOfTheColumns) {
  const Folder folder;
  const auto without = load_model(with(folder, "", {}));  // as of before
  EXPECT_TRUE(without.ranges.minimum.empty());
  FitResult result = make_result();
  for (const ColumnRanges& bad : {ColumnRanges{{0}, {1}}, ColumnRanges{{0, 2}, {1, 1}},
                                  ColumnRanges{{0, -std::numeric_limits<double>::infinity()}, {1, 1}}}) {
    result.ranges = bad;
    save_model(folder / "bad.npz", result, {}, {});
    expect_error(ErrorCode::kBadData, {"bad.npz", "column_m"}, [&] { load_model(folder / "bad.npz"); });
  }
}

// Those of version 0.1 have no columns of a file; those that have some have all of them.
TEST(ModelFile, ColumnsOfTheFile) {
  const Folder folder;
  EXPECT_EQ(load_model(with(folder, "", {})).source.count, 0);
  const auto bad = [&](int64_t count, const std::string& part) {
    expect_error(ErrorCode::kBadData, {"bad.npz", part}, [&] {
      load_model(with(folder, "file_columns", [&](NpzWriter& npz) { npz.add_number("file_columns", count); }));
    });
  };
  bad(3, "'file_column_numbers'");
  FitResult result = make_result();
  for (const SourceColumns& source :
       {SourceColumns{3, {1, 4}, {}}, SourceColumns{3, {0, 1}, {}}, SourceColumns{0, {1}, {}}, SourceColumns{3, {}, {}},
        SourceColumns{-1, {}, {}}, SourceColumns{3, {1, 2}, {"one"}}, SourceColumns{3, {2, 2}, {}}}) {
    save_model(folder / "bad.npz", result, {}, {}, source);
    expect_error(ErrorCode::kBadData, {"bad.npz, file_column"}, [&] { load_model(folder / "bad.npz"); });
  }
}

SourceColumns with_rules(std::vector<ColumnRule> rules) {
  SourceColumns source{4, {4, 2}, {"x", "city"}};
  source.rules = std::move(rules);
  return source;
}

TEST(ModelFile, RulesOfATable) {
  const Folder folder;
  const FitResult result = make_result();
  ASSERT_EQ(result.models[0].prototypes.columns(), 2);
  SourceColumns source = with_rules({{.fill = 0.1}, {.categorical = true, .categories = {"Z\xe9"}, .fill = 0}});
  source.decimal = ',';
  source.drops_gaps = true;
  save_model(folder / "m.npz", result, {}, {}, source);
  const SourceColumns found = load_model(folder / "m.npz").source;
  ASSERT_EQ(found.rules.size(), 2U);
  EXPECT_EQ(found.rules[0].fill, 0.1);
  EXPECT_FALSE(found.rules[0].categorical);
  EXPECT_EQ(found.rules[1].categories, source.rules[1].categories);
  EXPECT_EQ(found.decimal, ',');
  EXPECT_TRUE(found.drops_gaps);
  EXPECT_EQ(features_of_fit(load_model(folder / "m.npz")).source.rules.size(), 1U);
  const ColumnRule number, two{.categorical = true, .categories = {"a", "b"}};
  for (const SourceColumns& bad :
       {with_rules({number}), with_rules({number, two}), with_rules({{.fill = INFINITY}, number}),
        with_rules({{.categorical = true, .categories = {"b", "a"}}, {.categorical = true}}),
        with_rules({{.categorical = true, .categories = {"a", "a"}}, {.categorical = true}})}) {
    save_model(folder / "bad.npz", result, {}, {}, bad);
    expect_error(ErrorCode::kBadData, {"bad.npz, "}, [&] { load_model(folder / "bad.npz"); });
  }
}

TEST(ModelFile, WrongContent) {
  const Folder folder;
  const auto bad = [&](const std::string& key, const std::string& part,
                       const std::function<void(NpzWriter&)>& replace) {
    expect_error(ErrorCode::kBadData, {"bad.npz, " + key, part}, [&] { load_model(with(folder, key, replace)); });
  };
  const auto matrix = [](std::vector<int64_t> shape, std::vector<float> values) {
    return [=](NpzWriter& npz) { npz.add("centroids_0", "<f4", shape, std::as_bytes(std::span(values))); };
  };
  bad("format_version", "reads 1 to 5", [](NpzWriter& npz) { npz.add_number("format_version", 6); });
  bad("k", "no models", [](NpzWriter& npz) { npz.add("k", std::vector<int64_t>{}); });
  bad("k", "'<i8' is needed", [](NpzWriter& npz) { npz.add("k", std::vector<double>{3}); });
  bad("seed", "of 1 values", [](NpzWriter& npz) { npz.add("seed", std::vector<uint64_t>{3, 4}); });
  bad("counts_0", "of 3 values", [](NpzWriter& npz) { npz.add("counts_0", std::vector<int64_t>{3, 4}); });
  bad("centroids_0", "k = 3", matrix({2, 2}, {1, 2, 3, 4}));
  bad("centroids_0", "k = 3", matrix({3}, {1, 2, 3}));
  bad("centroids_0", "k = 3", matrix({3, 0}, {}));
  bad("centroids_0", "row 2, column 1: nan", matrix({3, 2}, {1, 2, std::numeric_limits<float>::quiet_NaN(), 4, 5, 6}));
  bad("scale_kind", "'cubic'", [](NpzWriter& npz) { npz.add_text("scale_kind", "cubic"); });
  bad("scale_offset", "of 2 values", [](NpzWriter& npz) { npz.add("scale_offset", std::vector<double>{0}); });
  bad("scale_divisor", "column 2", [](NpzWriter& npz) { npz.add("scale_divisor", std::vector<double>{1, 0}); });
  bad("column_names", "of 2 values", [](NpzWriter& npz) { npz.add("column_names", std::vector<std::string>{"a"}); });
  const double nan = std::numeric_limits<double>::quiet_NaN();
  bad("inertia", "model 1: nan", [&](NpzWriter& npz) { npz.add("inertia", std::vector<double>{nan}); });
  bad("inertia", "model 1: -1", [](NpzWriter& npz) { npz.add("inertia", std::vector<double>{-1}); });
  bad("iterations", "model 1: -1", [](NpzWriter& npz) { npz.add("iterations", std::vector<int64_t>{-1}); });
  bad("replica", "model 1: -7", [](NpzWriter& npz) { npz.add("replica", std::vector<int64_t>{-7}); });
  bad("k_requested", "model 1: 2", [](NpzWriter& npz) { npz.add("k_requested", std::vector<int64_t>{2}); });
  bad("counts_0", "model 1: -1", [](NpzWriter& npz) { npz.add("counts_0", std::vector<int64_t>{1, -1, 1}); });
  bad("weights_0", "model 1: nan", [&](NpzWriter& npz) { npz.add("weights_0", std::vector<double>{1, nan, 1}); });
  bad("json", "JSON object", [](NpzWriter& npz) { npz.add_text("json", "{\"models\": ["); });
  bad("json", "JSON object", [](NpzWriter& npz) { npz.add_text("json", "[1]"); });
  const std::string deep = "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}";
  bad("json", "JSON object", [&](NpzWriter& npz) { npz.add_text("json", deep); });
  bad("json", "single string", [](NpzWriter& npz) { npz.add_number("json", 1); });
}

// A result of linear models of one feature.
RegressResult make_linear_result() {
  RegressResult result;
  result.fit = make_result();
  for (const ModelResult& model : result.fit.models) {
    RegressionSummary summary{0.5, -3.25, {Matrix(model.k, 1, DataType::kFloat64), {2.5}, model.weights}, {}};
    summary.gate.means.values<double>()[0] = 1.0 / 3;
    summary.left_out.resize(static_cast<size_t>(model.k));
    result.summaries.push_back(std::move(summary));
  }
  result.summaries[1].bic = -std::numeric_limits<double>::infinity();
  return result;
}

TEST(ModelFile, LinearModels) {
  const Folder folder;
  const SourceColumns source{5, {4, 2}, kNames};
  save_model(folder / "m.npz", make_linear_result(), {Scale::kStandard, {1, 0}, {0.5, 1}}, kNames, source);
  const ModelFile file = load_model(folder / "m.npz");
  ASSERT_EQ(file.models.size(), 3u);
  EXPECT_TRUE(file.linear());
  for (const StoredModel& model : file.models) {
    ASSERT_TRUE(model.regression.has_value());
    EXPECT_EQ(model.regression->r2, 0.5);
    EXPECT_EQ(model.regression->gate.means.at(0, 0), 1.0 / 3);
    EXPECT_EQ(model.regression->gate.scales, std::vector<double>{2.5});
    EXPECT_EQ(model.regression->gate.weights, model.weights);
  }
  EXPECT_EQ(file.models[1].regression->bic, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(points_of_fit(file).columns, 2);
  const PointsOfFit features = features_of_fit(file);
  EXPECT_EQ(features.columns, 1);
  EXPECT_EQ(features.column_names, std::vector<std::string>{"x"});
  EXPECT_EQ(features.source.numbers, std::vector<int64_t>{4});
  EXPECT_EQ(features.source.count, 5);
  save_model(folder / "n.npz", file);
  EXPECT_EQ(content_of(folder / "m.npz"), content_of(folder / "n.npz"));
}

// Models of a feature and its square: the file has the columns of the feature and the target.
TEST(ModelFile, LinearModelsOfTerms) {
  const Folder folder;
  RegressResult result = make_linear_result();
  for (ModelResult& model : result.fit.models) model.prototypes = Matrix(model.k, 3, DataType::kFloat32);
  for (RegressionSummary& summary : result.summaries) {
    summary.gate.means = Matrix(summary.gate.means.rows(), 2, DataType::kFloat64);
    summary.gate.scales = {2.5, 1};
  }
  result.fit.ranges = {};
  result.terms = {2, true};
  save_model(folder / "m.npz", result, {}, kNames, {5, {4, 2}, kNames});
  const ModelFile file = load_model(folder / "m.npz");
  EXPECT_TRUE(file.linear());
  EXPECT_EQ(file.terms, result.terms);
  EXPECT_EQ(points_of_fit(file).columns, 2);
  EXPECT_EQ(features_of_fit(file).column_names, std::vector<std::string>{"x"});
  save_model(folder / "n.npz", file);
  EXPECT_EQ(content_of(folder / "m.npz"), content_of(folder / "n.npz"));
}

TEST(ModelFile, DamagedLinearModels) {
  const Folder folder;
  const auto bad = [&](const std::string& part, const std::function<void(RegressResult&)>& damage) {
    RegressResult result = make_linear_result();
    damage(result);
    save_model(folder / "bad.npz", result, {}, {});
    expect_error(ErrorCode::kBadData, {"bad.npz, " + part}, [&] { load_model(folder / "bad.npz"); });
  };
  bad("means_0", [](RegressResult& result) { result.summaries[0].gate.means = Matrix(3, 2, DataType::kFloat64); });
  bad("means_1", [](RegressResult& result) { result.summaries[1].gate.means = Matrix(3, 1, DataType::kFloat32); });
  bad("feature_scales_0", [](RegressResult& result) { result.summaries[0].gate.scales = {0}; });
  bad("feature_scales_2", [](RegressResult& result) { result.summaries[2].gate.scales = {1, 1}; });
  bad("degree", [](RegressResult& result) { result.terms = {2, true}; });
  bad("degree", [](RegressResult& result) { result.terms = {3, false}; });
  bad("coefficients_0", [](RegressResult& result) {
    for (ModelResult& model : result.fit.models) model.prototypes = Matrix(model.k, 1, DataType::kFloat32);
  });
}

TEST(ModelFile, IsOne) {
  const Folder folder;
  save_model(folder / "m.npz", make_result(), {}, {});
  EXPECT_TRUE(is_model_file(folder / "m.npz"));
  EXPECT_FALSE(is_model_file(folder / "m.npz:centroids_0"));
  EXPECT_FALSE(is_model_file(folder / "missing.npz"));
  EXPECT_FALSE(is_model_file(folder.file("text.npz", "not a zip, but long enough")));
  EXPECT_FALSE(is_model_file(folder.file("points.csv", "1,2\n")));
}

// A number of models is a claim: memory for them is taken only where the file has their arrays.
TEST(ModelFile, MoreModelsThanTheFileHas) {
  const Folder folder;
  const auto forge = [](NpzWriter& npz) { npz.add("k", std::vector<int64_t>(1000, 3)); };
  expect_error(ErrorCode::kBadData, {"bad.npz", "'centroids_999'"}, [&] { load_model(with(folder, "k", forge)); });
}

TEST(ModelFile, NotAModelFile) {
  const Folder folder;
  expect_error(ErrorCode::kBadData, {"no such file"}, [&] { load_model(folder / "missing.npz"); });
  expect_error(ErrorCode::kBadData, {"text.npz", "zip archive"},
               [&] { load_model(folder.file("text.npz", "not a zip, but long enough")); });
  expect_error(ErrorCode::kBadData, {"empty"}, [&] { load_model(folder.file("empty.npz", "")); });
  expect_error(ErrorCode::kBadData, {"folder"}, [&] { load_model(folder / ""); });
}

TEST(ModelFile, FullDisk) {
  expect_error(ErrorCode::kUnavailable, {"/dev/full"}, [] { save_model("/dev/full", make_result(), {}, {}); });
}

}  // namespace
}  // namespace manymeans::test
