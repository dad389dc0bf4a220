// Programs that an earlier process has left: taken where they are whole and the same, else built anew.
#include "backend/opencl/runtime/program_cache.h"

#include "backend/opencl/opencl_here.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace manymeans::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = "__kernel void nothing(__global int* to) { to[0] = 1; }";

class ProgramCache : public OnOpenClDevice {
 protected:
  void SetUp() override {
    OnOpenClDevice::SetUp();
    folder_ = fs::path(testing::TempDir()) / ("programs" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    setenv("MANYMEANS_OPENCL_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("MANYMEANS_OPENCL_CACHE");
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  // Builds the program, or takes it from the cache.
  void build(const std::string& options = "") {
    const opencl::Program program(opencl::build_program({device_->context(), device_->facts()}, kSource, options));
  }
  std::string file(const std::string& options = "") const {
    return opencl::cached_program_file(device_->facts(), kSource, options);
  }
  static std::string contents(const std::string& path) {
    std::ifstream from(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  fs::path folder_;
};

TEST_F(ProgramCache, IsFilledAndUsed) {
  EXPECT_FALSE(fs::exists(file()));
  build();
  const std::string whole = contents(file());
  ASSERT_GT(whole.size(), 100U);
  // What is there is not built again: it stays as it was, also with another time.
  const auto old = fs::last_write_time(file()) - std::chrono::hours(5);
  fs::last_write_time(file(), old);
  build();
  EXPECT_EQ(fs::last_write_time(file()), old);
}

TEST_F(ProgramCache, OptionsAndSettingsTellProgramsApart) {
  const std::string plain = file();
  EXPECT_NE(plain, file("-DA=1"));
  setenv("POCL_TEST_OF_MANYMEANS", "1", 1);
  EXPECT_NE(plain, file());
  unsetenv("POCL_TEST_OF_MANYMEANS");
  EXPECT_EQ(plain, file());
  opencl::DeviceFacts other = device_->facts();
  other.driver += " of tomorrow";
  EXPECT_NE(plain, opencl::cached_program_file(other, kSource, ""));
}

TEST_F(ProgramCache, WhatIsCutOffOrChangedIsBuiltAnew) {
  build();
  const std::string whole = contents(file());
  std::string changed = whole;
  changed[whole.size() / 2] = static_cast<char>(changed[whole.size() / 2] + 1);
  std::string other_key = whole;
  other_key[20] = static_cast<char>(other_key[20] + 1);
  for (const std::string& bad :
       {std::string(), whole.substr(0, 10), whole.substr(0, whole.size() - 1), changed, other_key, whole + "more"}) {
    write(file(), bad);
    build();
    EXPECT_NE(contents(file()), bad);
    EXPECT_EQ(contents(file()).substr(0, 32), whole.substr(0, 32));
  }
}

// A file of this name that some other program's build has left: its header is right, the driver does not want it.
TEST_F(ProgramCache, ABinaryThatTheDriverRefuses) {
  build();
  build("-DA=1");
  const std::string before = contents(file());
  fs::copy_file(file("-DA=1"), file(), fs::copy_options::overwrite_existing);
  build();
  EXPECT_EQ(contents(file()).substr(16, 16), before.substr(16, 16)) << "the key of this program again";
}

TEST_F(ProgramCache, AFolderThatCannotBeWrittenOrMade) {
  setenv("MANYMEANS_OPENCL_CACHE", "/proc/no/such/folder", 1);
  build();
  write(folder_ / "file", "");
  setenv("MANYMEANS_OPENCL_CACHE", (folder_ / "file").c_str(), 1);
  build();
  setenv("MANYMEANS_OPENCL_CACHE", "off", 1);
  EXPECT_EQ(file(), "");
  build();
}

TEST_F(ProgramCache, NothingIsLeftBesideIt) {
  build();
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().extension(), ".bin");
}

}  // namespace
}  // namespace manymeans::test
