#include "backend/cpu/choose/screen_cost_table.h"

#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/calibration.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace manymeans {
namespace {

const std::string kGood = R"({"manymeans_costs": 1, "instruction_sets": {
  "avx2": {"score": 1, "value": 2, "resolve": 3, "resolve_value": 4, "byte": 5},
  "amx": {"score": 1, "value": 2, "matrix_score": 6, "step": 7, "resolve": 3, "resolve_value": 4, "byte": 5}}})";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.rfind(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& text) {
  ScreenCosts costs;
  try {
    parse_costs(text, "here.json", "amx", costs);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_EQ(costs.byte, 0) << "untouched";
    return error.what();
  }
  return "";
}

TEST(ScreenCostTable, ReadsWhatItNeeds) {
  ScreenCosts costs;
  ASSERT_TRUE(parse_costs(kGood, "here.json", "amx", costs));
  EXPECT_EQ(costs.score, 1);
  EXPECT_EQ(costs.value, 2);
  EXPECT_EQ(costs.matrix_score, 6);
  EXPECT_EQ(costs.step, 7);
  EXPECT_EQ(costs.resolve, 3);
  EXPECT_EQ(costs.resolve_value, 4);
  EXPECT_EQ(costs.byte, 5);
  ASSERT_TRUE(parse_costs(kGood, "here.json", "avx2", costs)) << "no bfloat16 screen, no costs of one";
  EXPECT_FALSE(parse_costs(kGood, "here.json", "portable", costs)) << "measured on another machine";
}

TEST(ScreenCostTable, NamesFileAndKeyOfWhatIsBroken) {
  const auto expect = [](const std::string& text, const std::string& what) {
    const std::string found = complaint(text);
    EXPECT_NE(found.find("[here.json]"), std::string::npos) << found;
    EXPECT_NE(found.find(what), std::string::npos) << found;
  };
  expect("", "not a JSON object");
  expect(kGood.substr(0, 80), "not a JSON object");
  expect("[1]", "not a JSON object");
  expect("{}", "manymeans_costs");
  expect(replaced("\"manymeans_costs\": 1", "\"manymeans_costs\": 2"), "manymeans_costs");
  expect(R"({"manymeans_costs": 1})", "instruction_sets");
  expect(R"({"manymeans_costs": 1, "instruction_sets": {"amx": 3}})", "instruction_sets.amx");
  expect(replaced("\"step\": 7, ", ""), "instruction_sets.amx.step is missing");
  expect(replaced("\"step\": 7", "\"step\": \"7\""), "instruction_sets.amx.step must be a number");
  expect(replaced("\"resolve\": 3", "\"resolve\": -1"), "instruction_sets.amx.resolve must be");
  expect(replaced("\"byte\": 5", "\"byte\": 1e300"), "instruction_sets.amx.byte must be");
}

TEST(ScreenCostTable, ShipsCostsOfEveryInstructionSet) {
  for (const Choice& set : cpu_instruction_sets()) {
    const ScreenCosts& costs = shipped_costs(set.name);
    EXPECT_GT(costs.score, 0) << set.name;
    EXPECT_GT(costs.value, 0) << set.name;
    EXPECT_GT(costs.byte, 0) << set.name;
    if (set.available && cpu_screen_formats(set.name).size() > 1) {
      EXPECT_GT(costs.step, 0) << set.name << ": a screen that costs nothing would always be chosen";
    }
  }
}

TEST(ScreenCostTable, TheUsualPlaceFollowsXdg) {
  const auto path_with = [](const char* config, const char* home) {
    const char* old_config = std::getenv("XDG_CONFIG_HOME");
    const char* old_home = std::getenv("HOME");
    const std::string kept_config = old_config != nullptr ? old_config : "",
                      kept_home = old_home != nullptr ? old_home : "";
    setenv("XDG_CONFIG_HOME", config, 1);
    setenv("HOME", home, 1);
    const std::string path = costs_path();
    old_config != nullptr ? setenv("XDG_CONFIG_HOME", kept_config.c_str(), 1) : unsetenv("XDG_CONFIG_HOME");
    old_home != nullptr ? setenv("HOME", kept_home.c_str(), 1) : unsetenv("HOME");
    return path;
  };
  EXPECT_EQ(path_with("/config", "/somewhere"), "/config/manymeans/cpu_costs.json");
  EXPECT_EQ(path_with("", "/somewhere"), "/somewhere/.config/manymeans/cpu_costs.json");
  EXPECT_EQ(path_with("relative", "/somewhere"), "/somewhere/.config/manymeans/cpu_costs.json");
  EXPECT_EQ(path_with("", ""), "");
}

}  // namespace
}  // namespace manymeans
