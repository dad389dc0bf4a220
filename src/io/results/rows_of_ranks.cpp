#include "io/results/rows_of_ranks.h"

#include <manymeans/error.h>
#include <manymeans/io.h>

#include "io/files/output_file.h"
#include "io/numpy/npy_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace manymeans {
namespace {

// Which of all rows a rank has.
struct Place {
  int64_t first = 0, all = 0;
};

Place find_place(int64_t rows, Comm& comm) {
  Place place{rows, rows};
  comm.scan({&place.first, 1});
  comm.sum({&place.all, 1});
  return place;
}

// A file that another rank has made, and is going to put in its place.
class SharedFile {
 public:
  SharedFile(std::string path, const std::string& name) : path_(std::move(path)) {
    file_ = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail("opened; all ranks have to see the file that rank 0 writes");
  }
  ~SharedFile() {
    if (file_ >= 0) ::close(file_);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  void write(size_t at, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("written");
      at += static_cast<size_t>(count);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }
  void close() {
    if (::fsync(file_) != 0) fail("written");
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0) fail("written");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(ErrorCode::kUnavailable, path_,
                std::string("its rows of other ranks cannot be ") + what + ": " + std::strerror(errno));
  }

  std::string path_;  // for messages
  int file_ = -1;
};

// The name of the file that rank 0 writes, for all.
std::string told_by_first(const std::string& name, Comm& comm) {
  const std::vector<char> all = comm.gather_flat(std::span<const char>(comm.rank() == 0 ? name : std::string()));
  return {all.begin(), all.end()};
}

// Some rows of a table, which has to outlive them.
Table rows_of(const Table& table, int64_t first, int64_t count) {
  Table part = table;
  part.rows = count;
  part.fill = [&table, first](int64_t at, int64_t rows, std::byte* out) { table.fill(first + at, rows, out); };
  return part;
}

// Calls write(first, rows) for all rows of this rank, in rounds that the ranks do together. A rank that fails in a
// round is heard after it. Rank 0 can still remove its file then: it has no time for that once the ranks are ended by
// force.
template <class Write>
void write_in_rounds(const Table& mine, Comm& comm, Write&& write) {
  constexpr size_t kRoundBytes = size_t{64} << 20;  // a second on a slow disk
  const auto most = static_cast<int64_t>(std::max<size_t>(1, kRoundBytes / mine.row_size()));
  int64_t done = 0;
  do {
    const int64_t rows = std::min(most, mine.rows - done);
    if (rows > 0) write(done, rows_of(mine, done, rows));
    done += rows;
  } while (comm.max(mine.rows - done) > 0);
}

// Rank 0 makes the file and puts it in its place; each rank writes its own rows.
void write_together(const std::string& path, const Table& mine, const Place& place, Comm& comm) {
  Table whole = mine;
  whole.rows = place.all;
  const std::string header = npy_header_of(whole);
  std::optional<OutputFile> file;
  if (comm.rank() == 0) file.emplace(path);
  const std::string name = told_by_first(file ? file->name_beside() : "", comm);
  std::optional<SharedFile> shared;
  if (file) file->write(header);
  if (!file && mine.rows > 0) shared.emplace(path, name);
  write_in_rounds(mine, comm, [&](int64_t first, const Table& rows) {
    if (file) return write_cells(rows, *file);
    const size_t begin = header.size() + static_cast<size_t>(place.first + first) * mine.row_size();
    for_each_block(rows, [&](int64_t row, int64_t, std::span<const std::byte> cells) {
      shared->write(begin + static_cast<size_t>(row) * mine.row_size(), cells);
    });
  });
  if (shared) shared->close();
  comm.max(int64_t{0});  // all have written
  if (file) file->commit();
}

// Rank 0 makes the file, of blocks of rows that the ranks gather while it is written: no rank ever has all rows.
void write_gathered(const std::string& path, const Table& mine, const Place& place, Comm& comm) {
  constexpr int64_t kBlock = int64_t{1} << 16;
  const size_t row_size = mine.row_size();
  std::vector<std::byte> block;  // of rows [begin, begin + kBlock) of all those that there are
  const auto gather = [&](int64_t begin) {
    const int64_t first = std::clamp(begin - place.first, int64_t{0}, mine.rows);
    const int64_t last = std::clamp(begin + kBlock - place.first, int64_t{0}, mine.rows);
    std::vector<std::byte> rows(static_cast<size_t>(last - first) * row_size);
    if (last > first) mine.fill(first, last - first, rows.data());
    block = comm.gather_flat(std::span<const std::byte>(rows));
  };
  if (comm.rank() != 0) {
    for (int64_t begin = 0; begin < place.all; begin += kBlock) gather(begin);
    return;
  }
  Table whole = mine;
  whole.rows = place.all;
  int64_t begin = -kBlock;
  whole.fill = [&](int64_t row, int64_t count, std::byte* out) {  // a writer takes all rows once, in their order
    for (int64_t here = 0; count > 0; row += here, count -= here) {
      if (row >= begin + kBlock) gather(begin += kBlock);
      here = std::min(count, begin + kBlock - row);
      std::memcpy(out, block.data() + static_cast<size_t>(row - begin) * row_size,
                  static_cast<size_t>(here) * row_size);
      out += static_cast<size_t>(here) * row_size;
    }
  };
  write_table(path, result_writer_for(path), whole);
}

}  // namespace

void write_rows_of_ranks(const std::string& path, const Table& mine, Comm& comm) {
  const Place place = find_place(mine.rows, comm);
  if (path.ends_with(".npy") && comm.max(int64_t{is_special_file(path)}) == 0) {
    write_together(path, mine, place, comm);
  } else {
    write_gathered(path, mine, place, comm);
  }
}

}  // namespace manymeans
