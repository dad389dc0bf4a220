// Files that change while they are mapped. Each test sends real SIGBUS signals to itself.
#include "core/mapped_range.h"

#include <manymeans/fit.h>
#include <manymeans/mapped_files.h>

#include "io/files.h"
#include "io/files/file_watch.h"
#include "io/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>

namespace manymeans::test {
namespace {

constexpr size_t kPage = 4096;

// The message, or "" where nothing was thrown.
template <class F>
std::string complaint(F&& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    return error.what();
  }
  return "";
}

std::string fbin_of(uint32_t rows, uint32_t columns) {
  std::string bytes(8 + size_t{rows} * columns * 4, '\0');
  std::memcpy(bytes.data(), &rows, 4);
  std::memcpy(bytes.data() + 4, &columns, 4);
  for (size_t i = 0; i < size_t{rows} * columns; ++i) {
    const auto value = static_cast<float>(i % 97);
    std::memcpy(bytes.data() + 8 + i * 4, &value, 4);
  }
  return bytes;
}

TEST(MappedRange, AFileThatStaysAsItIsIsNoError) {
  const Folder folder;
  const auto file = MappedFile::open(folder.file("a", std::string(3 * kPage, 'x')), Access::kOnce);
  EXPECT_NO_THROW(check_mapped(file->bytes().data() + kPage));
  EXPECT_NO_THROW(check_mapped(&folder));  // of no file
}

TEST(MappedRange, ACutFileGivesZerosAndAnError) {
  replace_lost_pages();
  const Folder folder;
  const std::string path = folder.file("a", std::string(3 * kPage, 'x'));
  const auto file = MappedFile::open(path, Access::kOnce);
  ASSERT_EQ(::truncate(path.c_str(), kPage), 0);
  const volatile char* bytes = file->text().data();
  EXPECT_EQ(char{bytes[kPage - 1]}, 'x');
  EXPECT_EQ(char{bytes[kPage]}, '\0');
  EXPECT_EQ(char{bytes[3 * kPage - 1]}, '\0');
  const std::string what = complaint([&] { check_mapped(file->bytes().data()); });
  EXPECT_NE(what.find(path), std::string::npos) << what;
  EXPECT_NE(what.find("had 12288 bytes, now 4096"), std::string::npos) << what;
  // Made as long as before, it is still not what it was.
  ASSERT_EQ(::truncate(path.c_str(), 3 * kPage), 0);
  EXPECT_NE(complaint([&] { check_mapped(file->bytes().data()); }).find("cut off"), std::string::npos);
}

// What another library has mapped, and only until it is taken away.
TEST(MappedRange, AForeignMappingThatIsCutIsAnError) {
  const Folder folder;
  const std::string path = folder.file("a", std::string(3 * kPage, 'x'));
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const data = ::mmap(nullptr, 3 * kPage, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  {
    const ForeignMapping mapping(data, 3 * kPage);
    const GuardedFiles guard;
    EXPECT_EQ(complaint([&] { check_mapped(data); }), "");
    ASSERT_EQ(::truncate(path.c_str(), kPage), 0);
    const volatile char* bytes = static_cast<const char*>(data);
    EXPECT_EQ(char{bytes[2 * kPage]}, '\0');
    EXPECT_NE(complaint([&] { check_mapped(data); }).find("[points] the file was cut off"), std::string::npos);
    EXPECT_NE(complaint([&] { check_mapped(data); }).find("cut off"), std::string::npos) << "for ever";
  }
  EXPECT_EQ(complaint([&] { check_mapped(data); }), "");
  ::munmap(data, 3 * kPage);
}

TEST(MappedRange, AFileThatIsWrittenToIsAnError) {
  const Folder folder;
  const std::string path = folder.file("a", std::string(kPage, 'x'));
  const auto file = MappedFile::open(path, Access::kOnce);
  ::usleep(20'000);  // the system's clock of files is coarse
  std::ofstream(path, std::ios::binary | std::ios::in).write("y", 1);
  EXPECT_NE(complaint([&] { check_mapped(file->bytes().data()); }).find("wrote to the file"), std::string::npos);
}

TEST(MappedRange, AFileThatIsReplacedIsNoError) {
  const Folder folder;
  const std::string path = folder.file("a", std::string(kPage, 'x'));
  const auto file = MappedFile::open(path, Access::kOnce);
  ASSERT_EQ(::rename(folder.file("b", "other").c_str(), path.c_str()), 0);
  EXPECT_NO_THROW(check_mapped(file->bytes().data()));
  EXPECT_EQ(file->text()[kPage - 1], 'x');
}

TEST(MappedRange, EveryFunctionThatReadsPointsNotices) {
  replace_lost_pages();
  const Folder folder;
  const std::string path = folder.file("points.fbin", fbin_of(4000, 3));
  const Dataset points = read_points(path);
  const Matrix prototypes(2, 3, DataType::kFloat32);
  ASSERT_EQ(::truncate(path.c_str(), 8), 0);
  const auto expect_noticed = [](const char* what, const std::function<void()>& work) {
    EXPECT_NE(complaint(work).find("cut off while it was read: it had 48008 bytes, now 8"), std::string::npos) << what;
  };
  const PointsView& view = points.view;
  expect_noticed("fit", [&] { fit(view, {}, {.k = {2}, .threads = 2}); });
  expect_noticed("initialise", [&] { initialise(view, {}, {.k = {2}}); });
  expect_noticed("predict", [&] { predict(view, prototypes.view()); });
  expect_noticed("transform", [&] { transform(view, prototypes.view()); });
  expect_noticed("standard", [&] { find_scaling(view, Scale::kStandard); });
  expect_noticed("minmax", [&] { find_scaling(view, Scale::kMinMax); });
  expect_noticed("apply", [&] { apply_scaling(view, {Scale::kStandard, {0, 0, 0}, {1, 1, 1}}); });
  expect_noticed("describe", [&] { summarise_columns(view); });
  expect_noticed("write", [&] { write_points(folder / "out.npy", points); });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"points.fbin"});  // nothing was left behind
}

TEST(MappedRange, AReaderWhoseFileIsCutSaysThat) {
  replace_lost_pages();
  const Folder folder;
  const std::string path = folder.file("a", std::string(2 * kPage, 'x'));
  const FileWatch watch;
  {
    const auto file = MappedFile::open(path, Access::kOnce);
    ASSERT_EQ(::truncate(path.c_str(), 1), 0);
  }
  EXPECT_NE(complaint([&] { watch.check(); }).find("had 8192 bytes, now 1"), std::string::npos);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they have handlers of their own
// Not ours: the program ends by the signal, as it would without a handler.
TEST(MappedRangeDeathTest, OtherBusErrorsEndTheProgram) {
  replace_lost_pages();
  const Folder folder;
  const std::string path = folder.file("a", std::string(kPage, 'x'));
  const int file = ::open(path.c_str(), O_RDONLY);
  const void* other = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, file, 0);
  ASSERT_NE(other, MAP_FAILED);
  ASSERT_EQ(::ftruncate(::open(path.c_str(), O_RDWR), 0), 0);
  EXPECT_EXIT((void)*static_cast<const volatile char*>(other), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(std::raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
}

// A handler that was there before gets what is not ours; in a process of its own, since handlers are set once.
TEST(MappedRangeDeathTest, AnEarlierHandlerGetsOtherBusErrors) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGBUS, [](int) { ::_exit(42); });
        replace_lost_pages();
        std::raise(SIGBUS);
      },
      testing::ExitedWithCode(42), "");
}

#endif

}  // namespace
}  // namespace manymeans::test
