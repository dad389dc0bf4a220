#include "backend/cpu/kernels/instruction_set.h"

#include <manymeans/error.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace manymeans {
namespace {

// Sets MANYMEANS_CPU_ISA for one test.
class ForcedIsa {
 public:
  explicit ForcedIsa(const char* name) {
    if (const char* old = std::getenv("MANYMEANS_CPU_ISA")) old_ = old;
    setenv("MANYMEANS_CPU_ISA", name, 1);
  }
  ~ForcedIsa() {
    if (old_.empty()) {
      unsetenv("MANYMEANS_CPU_ISA");
    } else {
      setenv("MANYMEANS_CPU_ISA", old_.c_str(), 1);
    }
  }

 private:
  std::string old_;
};

TEST(InstructionSet, TheFirstThatTheMachineHasIsTheDefault) {
  const ForcedIsa none("");
  for (const InstructionSet& set : instruction_sets()) {
    if (!set.kernels().supported()) continue;
    EXPECT_STREQ(choose_kernels("").name, std::string(set.name).c_str());
    break;
  }
  EXPECT_EQ(instruction_sets().back().name, "portable");
  EXPECT_TRUE(instruction_sets().back().kernels().supported());
}

TEST(InstructionSet, TheVariableForcesOneAndAnOptionGoesBeforeIt) {
  const ForcedIsa portable("portable");
  EXPECT_STREQ(choose_kernels("").name, "portable");
  for (const InstructionSet& set : instruction_sets()) {
    if (set.kernels().supported()) {
      EXPECT_EQ(choose_kernels(set.name).name, set.name);
    }
  }
}

TEST(InstructionSet, UnknownAndMissingOnesAreErrors) {
  EXPECT_THROW(choose_kernels("avx1024"), Error);
  const ForcedIsa unknown("sse9");
  try {
    choose_kernels("");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("portable"), std::string::npos) << "lists what there is";
  }
}

}  // namespace
}  // namespace manymeans
