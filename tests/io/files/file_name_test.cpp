// Names of files: where they lead, and which of them are one.
#include "io/files/file_name.h"

#include <manymeans/model_file.h>

#include "io/files.h"
#include "io/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

namespace manymeans::test {
namespace {
namespace fs = std::filesystem;

TEST(SameFile, WhateverLeadsThere) {
  const Folder folder;
  fs::create_directory(folder / "sub");
  fs::create_directory(folder / "other");
  fs::create_directory_symlink("sub", folder / "link");
  const std::string there = folder.file("sub/there", "x");
  fs::create_hard_link(there, folder / "hard");
  fs::create_symlink("sub/there", folder / "soft");
  fs::create_symlink("sub/new", folder / "dangling");
  fs::create_symlink("dangling", folder / "twice");
  fs::create_symlink(folder / "link/new", folder / "absolute");
  fs::create_symlink("loop", folder / "loop");
  using Names = std::vector<const char*>;
  const std::vector<Names> files = {
      {"sub/there", "link/there", "./sub/../sub/there", "hard", "soft", "other/../soft", "sub//there"},
      {"sub/new", "link/new", "dangling", "twice", "absolute", "sub/../other/../link/./new"},
      {"other/new", "other/../other/new"},
      {"new", "./new", "sub/../new", "missing/../new"},
      {"missing/new", "missing/./new", "missing/x/../new", "sub/../missing/new"},
      {"missing/new/x"},
      {"loop", "./loop"},
  };
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < files.size(); ++j) {
      for (const char* a : files[i]) {
        for (const char* b : files[j]) EXPECT_EQ(same_file(folder / a, folder / b), i == j) << a << " " << b;
      }
    }
  }
}

TEST(SameFile, RelativeToTheCurrentFolder) {
  const Folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder / "");
  EXPECT_TRUE(same_file("a", folder / "a"));
  EXPECT_TRUE(same_file("a", "./a"));
  EXPECT_TRUE(same_file("x/a", folder / "x/a"));
  EXPECT_FALSE(same_file("a", "b"));
  fs::current_path(before);
}

TEST(SameFile, OpenFilesByTheirNumbers) {
  const Folder folder;
  const std::string path = folder.file("a", "x");
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const std::string number = std::to_string(file);
  fs::create_symlink("/dev/fd/" + number, folder / "link");
  for (const std::string& name : {"/dev/fd/" + number, "/proc/self/fd/" + number, folder / "link",
                                  "/proc/" + std::to_string(::getpid()) + "/fd/" + number}) {
    EXPECT_EQ(find_target(name).descriptor, file) << name;
    EXPECT_TRUE(same_file(name, path)) << name;
    EXPECT_TRUE(is_special_file(name)) << name;
    OutputFile out(name);  // behind what is there, and not in its place
    out.write("y");
    out.commit();
  }
  EXPECT_EQ(content_of(path), "xyyyy");
  EXPECT_EQ(find_target(path).descriptor, -1);
  ::close(file);
}

TEST(CheckFileNames, SaysWhichTwo) {
  const Folder folder;
  const std::string a = folder.file("a", ""), b = folder / "b", other = folder / "./b";
  check_file_names(std::array{NamedFile{"--one", b}, NamedFile{"--none", ""}, NamedFile{"--nothing", ""}},
                   std::array{NamedFile{"data", a}});
  expect_error(ErrorCode::kUsage, {"[--two]", "--one", other},
               [&] { check_file_names(std::array{NamedFile{"--one", b}, NamedFile{"--two", other}}, {}); });
  expect_error(ErrorCode::kUsage, {"[--one]", "would overwrite the input 'data'"}, [&] {
    check_file_names(
        std::array{NamedFile{"--one", folder / "../" + fs::path(folder / "").parent_path().filename().string() + "/a"}},
        std::array{NamedFile{"data", a}});
  });
  check_file_names(std::array{NamedFile{"--one", "/dev/null"}, NamedFile{"--two", "/dev/null"}},
                   std::array{NamedFile{"data", "/dev/null"}});
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::kUsage, {"[--two]"}, [&] {
    check_file_names(std::array{NamedFile{"--one", folder / "pipe"}, NamedFile{"--two", folder / "pipe"}}, {});
  });
}

TEST(CheckFileNames, ZeroBytes) {
  const std::string path("a\0b", 3);
  for (const auto& use :
       {+[](const std::string& name) { check_writable(name); }, +[](const std::string& name) { OutputFile file(name); },
        +[](const std::string& name) { read_points(name); }, +[](const std::string& name) { load_model(name); },
        +[](const std::string& name) { same_file(name, "a"); }}) {
    expect_error(ErrorCode::kUsage, {"[a]", "zero byte"}, [&] { use(path); });
  }
}

// A pipe is opened once, for what is written: a check before would be its end for whoever reads.
TEST(Pipes, ReadersSeeAllAndTheEndOnce) {
  const Folder folder;
  const std::string path = folder / "pipe.csv";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content_of(path); });
  check_writable(path);
  check_table_path(path);
  std::vector<double> values(100000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  write_values(path, values, "x");
  reader.join();
  EXPECT_TRUE(read.starts_with("x\n0\n1\n") && read.ends_with("\n99999\n"));
}

TEST(Pipes, AReaderThatLeavesIsAnError) {
  const Folder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread reader([&] { ::close(::open(path.c_str(), O_RDONLY)); });
  EXPECT_EXIT(
      {
        std::signal(SIGPIPE, SIG_DFL);  // as programs have it that know of no pipes
        try {
          OutputFile file(path);
          for (int i = 0; i < 100; ++i) file.write(std::string(1 << 20, 'x'));
        } catch (const Error& error) {
          ::_exit(std::string(error.what()).find("Broken pipe") != std::string::npos ? 7 : 8);
        }
        ::_exit(9);
      },
      testing::ExitedWithCode(7), "");
  reader.join();
}

TEST(Pipes, NoPlaceForACheckpoint) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", std::string("/dev/null"), std::string("/dev/stdout")}) {
    expect_error(ErrorCode::kUsage, {path, "checkpoint"}, [&] { check_checkpoint_path(path); });
  }
  check_checkpoint_path(folder / "new");
  const std::string target = folder.file("target", "x");
  fs::create_symlink("target", folder / "link");
  remove_checkpoint(folder / "link");
  EXPECT_FALSE(fs::exists(target));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(FileLock, OneHasTheFile) {
  const Folder folder;
  const std::string path = folder.file("a", "x");
  FileLock first, second;
  first.take(path);
  const auto refused = [&](auto&& use) { expect_error(ErrorCode::kUsage, {path, "another fit"}, use); };
  refused([&] { second.take(path); });
  refused([&] { second.check(path); });
  refused([&] { remove_checkpoint(path); });
  first.check(path);
  write_text(path, "replaced");  // by somebody who knows of no locks
  refused([&] { first.check(path); });
  second.take(path);
  refused([&] { first.take(path); });
  fs::remove(path);
  first.check(path);  // nothing is lost where nothing is
  first.take(path);
  first.check(path);
}

// At no moment is there a file that another fit could take.
TEST(FileLock, HasAFileBeforeItIsInItsPlace) {
  const Folder folder;
  const std::string path = folder / "a";
  FileLock mine, next;
  {
    OutputFile file(path);
    file.write("one");
    file.commit(&mine);
  }
  mine.check(path);
  FileLock other;
  EXPECT_THROW(other.take(path), Error);
  OutputFile file(path);
  file.write("two");
  file.commit(&next);
  EXPECT_THROW(other.take(path), Error);
  EXPECT_THROW(mine.check(path), Error);
  mine.swap(next);
  mine.check(path);
}

TEST(FileLock, EndsWithItsOwner) {
  const Folder folder;
  const std::string path = folder.file("a", "x");
  pid_t child = -1;
  {
    FileLock lock;
    lock.take(path);
    child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
  FileLock next;
  next.take(path);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(fs::file_size(path), 1u);
}

}  // namespace
}  // namespace manymeans::test
