#include <manymeans/io.h>
#include <manymeans/json.h>

#include "core/digest.h"
#include "io/results/results.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace manymeans::test {
namespace {

TEST(Json, Fields) {
  const FitResult result = make_result();
  const auto json = nlohmann::json::parse(to_json(result));
  EXPECT_EQ(json["digest"], result.digest());
  EXPECT_EQ(json["n_rows"], 5);
  EXPECT_EQ(json["n_columns"], 2);
  EXPECT_EQ(json["interrupted"], false);
  EXPECT_EQ(json["warnings"][0], "a warning with a \"quote\"");
  ASSERT_EQ(json["models"].size(), 3u);
  const auto& model = json["models"][1];
  EXPECT_EQ(model["k"], 3);
  EXPECT_EQ(model["replica"], 1);
  EXPECT_EQ(model["seed"], "18446744073709551614");  // text, since many readers round numbers above 2^53
  EXPECT_EQ(model["init"], "k-means++");
  EXPECT_EQ(model["inertia"].get<double>(), 0.1);
  EXPECT_EQ(model["iterations"], 7);
  EXPECT_EQ(model["stop_reason"], "strict");
  EXPECT_EQ(model["digest"], result.models[1].digest());
  EXPECT_TRUE(model.contains("seconds"));
  EXPECT_EQ(json["models"][0]["best"], false);
  EXPECT_EQ(model["best"], true);
}

TEST(Json, TheBestOfEachKOfThoseThatHaveBegun) {
  FitResult result;
  for (const int64_t k : {2, 3, 2, 4}) result.models.push_back(make_model(k, 0, 1));
  result.models[1].stop_reason = StopReason::kNotBegun;
  result.models.push_back(make_model(4, 1, 0.5));
  std::vector<bool> best;
  const auto json = nlohmann::json::parse(to_json(result));
  for (const auto& model : json["models"]) best.push_back(model["best"]);
  EXPECT_EQ(best, (std::vector<bool>{true, false, false, false, true}));
  EXPECT_EQ(result.best(2), 0);
  EXPECT_EQ(result.best(3), -1);
  EXPECT_EQ(result.best(4), 4);
  EXPECT_EQ(result.best(5), -1);
}

TEST(Json, Provenance) {
  FitResult result = make_result();
  const auto json = nlohmann::json::parse(to_json(result))["provenance"];
  EXPECT_EQ(json["version"], "1.2.3");
  EXPECT_EQ(json["dtype"], "float32");
  EXPECT_EQ(json["repeated"], 12);
  EXPECT_EQ(json["certified_share"], 0.75);  // of the labels that were looked at
  EXPECT_EQ(json["resolved_share"], 0.25);
  EXPECT_EQ(json["seconds"]["iterate"], 1.5);
  ASSERT_EQ(json["pass_log"].size(), 2U);
  EXPECT_EQ(json["pass_log"][0]["models"], 2);
  EXPECT_EQ(json["pass_log"][0]["certified"], 3);
  EXPECT_EQ(json["pass_log"][0]["candidates"], 7);
  EXPECT_EQ(json["pass_log"][1]["changed"], 1);
  EXPECT_EQ(json["pass_log"][1]["repeated"], 5);
  EXPECT_EQ(json["pass_log"][1]["skipped"], 2);
  const auto& options = json["options"];
  int count = 0;
  for_each_option(result.provenance.options, [&](const OptionInfo& info, const auto&) {
    EXPECT_TRUE(options.contains(info.name)) << info.name;
    ++count;
  });
  EXPECT_EQ(options.size(), static_cast<size_t>(count));
  EXPECT_EQ(options["k"], (std::vector<int>{3, 300}));
  EXPECT_TRUE(options["model_seed"].is_null());
  EXPECT_TRUE(options["seed"].is_string());
  EXPECT_EQ(options["strategy"], "concatenated");
  result.provenance.options.model_seed = ~uint64_t{0};
  EXPECT_NE(to_json(result).find("\"model_seed\": \"18446744073709551615\""), std::string::npos);
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  FitResult result = make_result();
  result.provenance.options.init = "caf\xe9.npy";
  EXPECT_EQ(nlohmann::json::parse(to_json(result))["provenance"]["options"]["init"], "caf\xef\xbf\xbd.npy");
}

}  // namespace
}  // namespace manymeans::test
