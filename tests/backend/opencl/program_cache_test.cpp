// Programs that an earlier process has left: taken where they are whole and the same, else built anew.
#include "backend/opencl/runtime/program_cache.h"

#include "backend/opencl/opencl_here.h"
#include "core/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
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

// None of these breaks a run, or holds it up.
TEST_F(ProgramCache, WhatIsNoFileIsIgnored) {
  const auto in_its_place = [&](const std::function<void()>& make) {
    fs::remove_all(file());
    make();
    build();
  };
  in_its_place([&] { fs::create_directories(file() + "/folder"); });
  in_its_place([&] { ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0); });
  in_its_place([&] { fs::create_symlink("/dev/zero", file()); });
  in_its_place([&] { fs::create_symlink(file(), file()); });
  in_its_place([&] {
    write(file(), "manymeans cl 1\n");
    fs::resize_file(file(), uint64_t{1} << 42);  // sparse
  });
  EXPECT_LT(fs::file_size(file()), 1U << 20) << "built anew";
}

TEST_F(ProgramCache, WhatOthersMayWriteIsBuiltAnew) {
  build();
  const std::string whole = contents(file());
  const auto old = fs::last_write_time(file()) - std::chrono::hours(5);
  for (const mode_t mode : {0620, 0602, 0666}) {
    ::chmod(file().c_str(), mode);
    fs::last_write_time(file(), old);
    build();
    EXPECT_NE(fs::last_write_time(file()), old) << mode;
    EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  if (::geteuid() != 0) return;  // who else could give it away
  ASSERT_EQ(::chown(file().c_str(), 12345, 12345), 0);
  build();
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
}

TEST_F(ProgramCache, IsMadeForItsOwnerAlone) {
  setenv("MANYMEANS_OPENCL_CACHE", (folder_ / "a/b").c_str(), 1);
  build();
  EXPECT_EQ(fs::status(folder_ / "a/b").permissions(), fs::perms::owner_all);
}

// The XDG specification: relative paths are ignored.
TEST(ProgramCacheFolder, IsAbsoluteUnlessSomebodyNamesIt) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  const auto folder = [](const char* cache, const char* its_home) {
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("HOME", its_home, 1);
    return environment::opencl_cache();
  };
  EXPECT_EQ(folder("/c", "/h"), "/c/manymeans/opencl");
  for (const char* const relative : {"c", "./c", "../c", "~/c", ""}) {
    EXPECT_EQ(folder(relative, "/h"), "/h/.cache/manymeans/opencl") << relative;
    EXPECT_EQ(folder(relative, "h"), "") << relative;
  }
  setenv("HOME", home.c_str(), 1);
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(ProgramCache, NothingIsLeftBesideIt) {
  build();
  for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().extension(), ".bin");
}

}  // namespace
}  // namespace manymeans::test
