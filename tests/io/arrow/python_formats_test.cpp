// A Python that has pyarrow reads and writes what Arrow C++ does, to the bit.
#include "io/arrow/python_formats.h"

#include "core/data_type.h"
#include "io/arrow/fields_reader.h"
#include "io/arrow/python_process.h"
#include "io/arrow/python_source.h"
#include "io/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

namespace manymeans::test {
namespace {

constexpr const char* kPython = MANYMEANS_TEST_PYTHON;

// The reader that is built in.
Reader built_in(const std::string& name) {
  for (const ReaderEntry& entry : readers()) {
    if (entry.name == name) return entry.make();
  }
  return {};
}

// As long as it lives, the environment names this Python.
class NamedPython {
 public:
  explicit NamedPython(const std::string& program) { ::setenv("MANYMEANS_PYTHON", program.c_str(), 1); }
  ~NamedPython() { ::unsetenv("MANYMEANS_PYTHON"); }
  NamedPython(const NamedPython&) = delete;
  NamedPython& operator=(const NamedPython&) = delete;
};

std::string bits_of(const PointsView& view) {
  return {static_cast<const char*>(view.data), view.bytes()};
}

std::string shown(const Dataset& points) {
  return fmt::format("{} x {} of {}, {}, of {} rows, {}, {}, {}, {}\n", points.view.n, points.view.d,
                     name_of(points.view.type), points.type_from_values, points.file_rows, points.column_names,
                     points.weights, points.source.numbers, points.warnings) +
         (points.view.data == nullptr ? "" : bits_of(points.view));
}

std::string shown(const TableSummary& table) {
  std::string text = fmt::format("{} rows of {}, {}\n", table.rows, name_of(table.type), table.warnings);
  for (const TableColumn& column : table.columns) {
    text +=
        fmt::format("{} {}: {} numbers, {} empty, {} texts, '{}', {} dates {} {}, {} {} distinct, {}; ", column.number,
                    column.name, column.numbers, column.empty, column.text, column.example, column.dates,
                    column.first_date, column.last_date, column.distinct, column.more_distinct, column.wide);
    text += fmt::format("{} {} {} {} {} {}\n", column.values.missing, column.values.infinite, column.values.min,
                        column.values.max, column.values.mean, column.values.deviation);
  }
  return text;
}

std::string shown(const RawTable& table) {
  std::string text = fmt::format("{} x {}\n", table.view.n, table.view.d);
  for (const RawColumn& column : table.columns) {
    text += fmt::format("{} {}: '{}' in {}, {}, {}, {}\n", column.number, column.name, column.example,
                        column.example_row, column.categorical, column.categories, column.wide);
  }
  return text + bits_of(table.view);
}

// A file that one process has open for several readers of it.
class SharedSource : public FieldSource {
 public:
  explicit SharedSource(std::shared_ptr<FieldSource> source) : source_(std::move(source)) {}
  const std::vector<FieldInfo>& fields() const override { return source_->fields(); }
  std::vector<int64_t> piece_rows(const std::vector<int>& fields) override { return source_->piece_rows(fields); }
  std::unique_ptr<Pieces> open(const std::vector<int>& fields) const override { return source_->open(fields); }

 private:
  std::shared_ptr<FieldSource> source_;
};

// A reader of this file by one process, however often it reads.
Reader shared_reader(const std::string& path) {
  const auto format = path.ends_with(".parquet") ? FieldsFormat::kParquet : FieldsFormat::kArrow;
  const std::shared_ptr<FieldSource> source =
      std::make_shared<PythonSource>(format, MappedFile::open(path, Access::kOnce), path, 1);
  const auto open = [source](const std::shared_ptr<const MappedFile>&, const std::string&, int) {
    return std::make_unique<SharedSource>(source);
  };
  return make_fields_reader(format, open, {});
}

// What a call gives, or what it complains about.
std::string outcome(const std::function<std::string()>& call) {
  try {
    return call();
  } catch (const Error& error) {
    return fmt::format("error {}: {}", static_cast<int>(error.code()), error.what());
  }
}

std::string stored(const std::string& name) {
  return MANYMEANS_TEST_DATA "/io/arrow/" + name;
}

class PythonFormats : public testing::Test {
 protected:
  void SetUp() override {
    if (*kPython == '\0') GTEST_SKIP() << "there is no Python with pyarrow (MANYMEANS_ARROW_PYTHON)";
    named.emplace(kPython);
    const Reader reader = built_in("parquet");
    if (!reader.find || !reader.find().how.starts_with("by Arrow C++")) GTEST_SKIP() << "built without Arrow C++";
  }

  // Both readers of this file.
  static std::array<Reader, 2> both(const std::string& path) {
    const bool parquet = path.ends_with(".parquet");
    return {built_in(parquet ? "parquet" : "arrow"), shared_reader(path)};
  }
  static void expect_same_points(const std::array<Reader, 2>& readers, const std::string& path,
                                 const ReadOptions& options) {
    const auto& [library, python] = readers;
    EXPECT_EQ(outcome([&] { return shown(library.read(path, options)); }),
              outcome([&] { return shown(python.read(path, options)); }));
  }
  // One field after the other, and all of numbers together, in the types that matter.
  static void expect_same_everything(const std::string& path) {
    SCOPED_TRACE(path);
    const std::array<Reader, 2> readers = both(path);
    const auto& [library, python] = readers;
    ReadOptions options;
    options.threads = 3;
    EXPECT_EQ(outcome([&] { return shown(library.survey(path, options)); }),
              outcome([&] { return shown(python.survey(path, options)); }));
    EXPECT_EQ(outcome([&] { return shown(library.read_raw(path, options)); }),
              outcome([&] { return shown(python.read_raw(path, options)); }));
    options.numeric_only = true;
    expect_same_points(readers, path, options);
    options.part = {1, 2};
    expect_same_points(readers, path, options);
    const size_t fields = library.survey(path, {}).columns.size();
    for (size_t j = 1; j <= std::max<size_t>(1, fields); ++j) {
      SCOPED_TRACE(fmt::format("column {}", j));
      ReadOptions one;
      one.columns = {std::to_string(j)};
      one.threads = 2;
      expect_same_points(readers, path, one);
      one.rules.missing = Missing::kValue;
      EXPECT_EQ(outcome([&] { return shown(library.read_raw(path, one)); }),
                outcome([&] { return shown(python.read_raw(path, one)); }));
      one.dtype = DataType::kFloat32;
      expect_same_points(readers, path, one);
    }
  }

  Folder folder;
  std::optional<NamedPython> named;
};

TEST_F(PythonFormats, ReadStoredFilesAsArrowDoes) {
  for (const std::string name : {"plain.parquet", "plain.feather", "stream.arrow", "packed.feather", "bad.parquet",
                                 "bad.feather", "no_rows.parquet"}) {
    expect_same_everything(stored(name));
  }
  for (const std::string name : {"too_many_rows.parquet", "no_members.parquet"}) {
    expect_same_points(both(stored(name)), stored(name), {});
  }
}

TEST_F(PythonFormats, ReadHostileTablesAsArrowDoes) {
  const std::string command = fmt::format("{} {} {}", kPython, stored("hostile_tables.py"), folder / ".");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const std::vector<std::string> names = folder.names();
  EXPECT_EQ(names.size(), 35u);
  for (const std::string& name : names) expect_same_everything(folder / name);
}

TEST_F(PythonFormats, WeightsAndColumnsInAnyOrder) {
  ReadOptions options;
  options.columns = {"d,emb,i"};
  options.weights = "u";
  for (const std::string name : {"plain.parquet", "plain.feather", "stream.arrow"}) {
    expect_same_points(both(stored(name)), stored(name), options);
  }
}

TEST_F(PythonFormats, FilesThatAreCut) {
  for (const std::string name : {"plain.parquet", "plain.feather", "stream.arrow"}) {
    const std::string whole = content_of(stored(name));
    const Reader python = python_reader(name.ends_with(".parquet") ? FieldsFormat::kParquet : FieldsFormat::kArrow);
    for (const size_t size : {size_t{3}, size_t{9}, whole.size() / 2, whole.size() - 9}) {
      const std::string path = folder.file("cut-" + name, whole.substr(0, size));
      try {
        (void)python.read(path, {.numeric_only = true});
        EXPECT_EQ(name, "stream.arrow") << "which has no directory";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kBadData) << error.what();
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      }
    }
  }
}

// The same cells, whoever wrote them.
TEST_F(PythonFormats, WriteTablesAsArrowDoes) {
  const std::vector<std::string> ids = {"a", "", "ü"};
  const std::vector<int64_t> numbers = {-1, 0, 1LL << 60}, whole = {7, 8, 9};
  for (const CellType type : {CellType::kUInt8, CellType::kUInt16, CellType::kUInt32, CellType::kFloat64,
                              CellType::kFloat32, CellType::kFloat16, CellType::kInt8, CellType::kInt32}) {
    for (const bool gaps : {false, true}) {
      if (gaps && type != CellType::kFloat64 && type != CellType::kInt32) continue;
      SCOPED_TRACE(fmt::format("{}, {}", name_of(type), gaps));
      Table table;
      table.rows = 3;
      table.columns = 2;
      table.type = type;
      table.has_gaps = gaps;
      table.ids = ids;
      table.id_name = "name";
      table.fill = [&](int64_t first, int64_t count, std::byte* out) {
        with_cell_type(type, [&]<class T>(T) {
          for (int64_t i = 2 * first; i < 2 * (first + count); ++i) {
            T value{};
            if constexpr (std::is_arithmetic_v<T>) value = static_cast<T>(gaps && i == 3 ? -1 : 10 * i);
            if constexpr (std::is_same_v<T, double>) value = gaps && i == 3 ? std::nan("") : 0.1 * static_cast<T>(i);
            std::memcpy(out + static_cast<size_t>(i - 2 * first) * sizeof value, &value, sizeof value);
          }
        });
      };
      for (const std::string ending : {"parquet", "arrow"}) {
        const auto format = ending == "parquet" ? FieldsFormat::kParquet : FieldsFormat::kArrow;
        const std::string by_arrow = folder / ("a." + ending), by_python = folder / ("p." + ending);
        ReadOptions options;
        for (const bool lists : {false, true}) {
          if (gaps && lists) continue;
          table.list_name = lists ? "cells" : "";
          table.numbers.clear();
          if (lists) table.numbers = {{"with gaps", numbers}, {"whole", whole}};
          options.numeric_only = !lists;
          options.rules.missing = lists ? Missing::kError : Missing::kValue;
          if (lists) options.columns = {"whole", "cells"};
          write_table(by_arrow, writer_for(by_arrow), table);
          write_table(by_python, python_writer(format), table);
          EXPECT_EQ(shown(describe_table(by_arrow)), shown(describe_table(by_python)));
          const Dataset points = read_points(by_arrow, options);
          EXPECT_EQ(points.view.d, lists ? 3 : 2);
          EXPECT_EQ(shown(points), shown(read_points(by_python, options)));
        }
      }
    }
  }
}

TEST_F(PythonFormats, AppendAsArrowDoes) {
  Labels labels(6, 1000);
  for (uint32_t i = 0; i < 6; ++i) {
    const uint32_t label = 150 * i;
    labels.write(i, 1, &label);
  }
  const Values distances = {0.5, 1.5, 2.5, 3.5, 4.5, 5.5};
  const std::vector<AppendedColumn> columns = {{"city", &labels, {}}, {"distance", nullptr, distances}};
  const std::vector<int64_t> dropped = {2};
  for (const std::string name : {"plain.parquet", "plain.feather", "stream.arrow"}) {
    for (const std::string ending : {"parquet", "arrow"}) {
      SCOPED_TRACE(name + " as " + ending);
      RowsWithMore rows{stored(name), MappedFile::open(stored(name), Access::kOnce), nullptr, columns, dropped, 7};
      const auto append = [&](auto function, const std::string& path) {
        OutputFile file(path);
        const bool whole = function(rows, ending, file);
        file.commit();
        return whole;
      };
      EXPECT_TRUE(append(append_to_fields, folder / ("a." + ending)));
      EXPECT_TRUE(append(append_by_python, folder / ("p." + ending)));
      EXPECT_EQ(shown(describe_table(folder / ("a." + ending))), shown(describe_table(folder / ("p." + ending))));
      EXPECT_EQ(describe_table(folder / ("p." + ending)).columns.back().name, "distance");
      for (const int64_t wrong : {6, 8}) {
        rows.rows = wrong;
        EXPECT_FALSE(append(append_by_python, folder / "wrong"));
      }
    }
    SCOPED_TRACE(name + " as text");
    RowsWithMore rows{stored(name), MappedFile::open(stored(name), Access::kOnce), nullptr, columns, dropped, 7};
    const auto lines = [&](auto function) {
      return outcome([&] {
        OutputFile file(folder / "lines.csv");
        function(rows, "csv", file);
        file.commit();
        return content_of(folder / "lines.csv");
      });
    };
    EXPECT_EQ(lines(append_to_fields), lines(append_by_python));
  }
}

TEST_F(PythonFormats, AppendToTextAsArrowDoes) {
  Labels labels(3, 3);
  const std::vector<AppendedColumn> columns = {{"cluster", &labels, {}}};
  const std::string text =
      "i,n,t,b,z,c,u\n1,0.5,\"a, \"\"b\"\"\",\xff,007,1e5,18446744073709551615\n-3,NA,,x,008,2e7,\n,1e3,ü,y,,NA,3\n";
  const TextLayout layout = find_layout(text, "table.csv");
  const RowsWithMore rows{"table.csv", nullptr, &layout, columns, {}, 3};
  const auto append = [&](auto function, const std::string& path) {
    OutputFile file(path);
    EXPECT_TRUE(function(rows, "parquet", file));
    file.commit();
    return shown(describe_table(path));
  };
  EXPECT_EQ(append(append_to_fields, folder / "a.parquet"), append(append_by_python, folder / "p.parquet"));
  // And back to lines: each value with all its digits.
  const RowsWithMore fields{
      folder / "a.parquet", MappedFile::open(folder / "a.parquet", Access::kOnce), nullptr, {}, {}, 3};
  const auto lines = [&](auto function, const std::string& format) {
    OutputFile file(folder / "lines");
    EXPECT_TRUE(function(fields, format, file));
    file.commit();
    return content_of(folder / "lines");
  };
  const std::string expected =
      "i,n,t,b,z,c,u,cluster\n1,0.5,\"a, \"\"b\"\"\",\xff,007,1e5,18446744073709551615,0\n"
      "-3,,,x,008,2e7,,0\n,1000,ü,y,,NA,3,0\n";
  EXPECT_EQ(lines(append_to_fields, "csv"), expected);
  EXPECT_EQ(lines(append_by_python, "csv"), expected);
  EXPECT_EQ(lines(append_to_fields, "tsv"), lines(append_by_python, "tsv"));
}

// Whatever is in its place, the error says what is wrong, in one line, and nothing is left behind.
class WrongPython : public testing::Test {
 protected:
  std::string script(const std::string& text) {
    const std::string path = folder.file("python", "#!/bin/sh\n" + text + "\n");
    ::chmod(path.c_str(), 0700);
    return path;
  }
  void expect_unavailable(const std::string& program, std::initializer_list<std::string> parts) {
    const NamedPython named(program);
    const Reader reader = python_reader(FieldsFormat::kParquet);
    expect_error(ErrorCode::kUnavailable, parts, [&] { (void)reader.read(stored("plain.parquet"), {}); });
    EXPECT_FALSE(reader.find().available);
    EXPECT_FALSE(python_writer(FieldsFormat::kArrow).find().available);
  }
  Folder folder;
};

TEST_F(WrongPython, IsNoProgram) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under this sanitizer posix_spawn does not report a program that cannot be started";
#endif
  expect_unavailable("/nonexistent/python", {"plain.parquet", "/nonexistent/python cannot be started: No such file",
                                             "pip install pyarrow", "MANYMEANS_PYTHON"});
  expect_unavailable(folder.file("text", "no program"), {"cannot be started: Permission denied"});
}

TEST_F(WrongPython, SaysSomethingElse) {
  expect_unavailable(script("echo no; sleep 0; exit 3"), {"has ended with code 3"});
  expect_unavailable(script("head -c 4096 /dev/zero"), {"is no Python: it answers something else"});
  expect_unavailable(script("head -c 4096 /dev/urandom | tr '\\000-\\377' 'x'"), {"is no Python"});
}

TEST_F(WrongPython, Ends) {
  expect_unavailable(script("echo first >&2; echo 'no module named x' >&2; exit 1"),
                     {"has ended with code 1: no module named x"});
  expect_unavailable(script("kill -9 $$"), {"was ended by signal 9 (Killed)"});
}

TEST_F(WrongPython, SaysNothing) {
  ::setenv("MANYMEANS_PYTHON_PATIENCE", "1", 1);
  const std::string silent = script("exec sleep 1000");
  expect_unavailable(silent, {"plain.parquet", silent + " was started and has said nothing for 1 s",
                              "MANYMEANS_PYTHON_PATIENCE=SECONDS", "name a Python that has it in MANYMEANS_PYTHON"});
  ::setenv("MANYMEANS_PYTHON_PATIENCE", "2", 1);
  expect_unavailable(silent, {"has said nothing for 2 s"});
  const std::string half = script("head -c 4 /dev/zero; exec sleep 1000");  // less than an answer begins with
  expect_unavailable(half, {"has said nothing for 2 s"});
  ::setenv("MANYMEANS_PYTHON_PATIENCE", "soon", 1);
  const NamedPython named(silent);
  expect_error(ErrorCode::kUsage, {"MANYMEANS_PYTHON_PATIENCE", "'soon'"},
               [&] { (void)python_reader(FieldsFormat::kParquet).read(stored("plain.parquet"), {}); });
  ::unsetenv("MANYMEANS_PYTHON_PATIENCE");
}

TEST_F(WrongPython, HasNoPyarrow) {
  if (*kPython == '\0') GTEST_SKIP() << "there is no Python (MANYMEANS_ARROW_PYTHON)";
  const std::string bare = script(std::string("exec ") + kPython + " -I -S \"$@\"");
  expect_unavailable(bare, {"No module named 'pyarrow'", "pip install pyarrow"});
}

// One that ends when it is asked for the rows: nothing of the file is an answer.
TEST_F(WrongPython, EndsHalfway) {
  if (*kPython == '\0') GTEST_SKIP() << "there is no Python with pyarrow (MANYMEANS_ARROW_PYTHON)";
  const std::string dying = folder.file("python", std::string("#!") + kPython + R"PY(
import os, sys
code = sys.argv[2].replace("def next(self, reader):", "def next(self, reader):\n        os.kill(os.getpid(), 9)")
exec(compile(code, "child", "exec"), {"__name__": "__main__"})
)PY");
  ::chmod(dying.c_str(), 0700);
  const NamedPython named(dying);
  expect_error(ErrorCode::kUnavailable, {"plain.parquet", "was ended by signal 9"}, [&] {
    (void)python_reader(FieldsFormat::kParquet).read(stored("plain.parquet"), {.columns = {"i"}, .threads = 3});
  });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"python"});
}

// Greets, and does nothing from the first such request on; what has answered before has no say.
TEST_F(WrongPython, DoesNothing) {
  if (*kPython == '\0') GTEST_SKIP() << "there is no Python with pyarrow (MANYMEANS_ARROW_PYTHON)";
  ::setenv("MANYMEANS_PYTHON_PATIENCE", "1", 1);
  const auto stalling = [&](const std::string& request) {
    const std::string path =
        folder.file("python", std::string("#!") + kPython + "\nimport sys\ncode = sys.argv[2].replace('def " + request +
                                  "', 'def " + request.substr(0, request.find('(')) +
                                  "(self, *_):\\n        __import__(\"time\").sleep(1000)\\n\\n    def other(self')\n"
                                  "exec(compile(code, 'child', 'exec'), {'__name__': '__main__'})\n");
    ::chmod(path.c_str(), 0700);
    return path;
  };
  const std::string why = "has done nothing for 1 s; MANYMEANS_PYTHON_PATIENCE=SECONDS";
  for (const std::string request : {"open(self", "rows(self", "start(self", "next(self"}) {
    const NamedPython named(stalling(request));
    expect_error(ErrorCode::kUnavailable, {"plain.parquet", why}, [&] {
      (void)python_reader(FieldsFormat::kParquet).read(stored("plain.parquet"), {.columns = {"i"}, .threads = 3});
    });
  }
  // One that does not even take what it is sent.
  const std::string deaf = folder.file("python", std::string("#!") + kPython + R"PY(
import struct, sys, time
out = sys.stdout.buffer
items = (b"manymeans fields 1", b"", b"17.0.0")
body = b"".join(struct.pack("<q", len(item)) + item + bytes(-len(item) % 8) for item in items)
out.write(struct.pack("<qq", len(body), 3) + body)
out.flush()
time.sleep(1000)
)PY");
  ::chmod(deaf.c_str(), 0700);
  const NamedPython named(deaf);
  PythonProcess process("big.parquet");
  const std::vector<std::byte> big(size_t{16} << 20);
  expect_error(ErrorCode::kUnavailable, {"big.parquet", why},
               [&] { process.ask(PythonRequest("write").add(std::span(big))); });
  expect_error(ErrorCode::kUnavailable, {why}, [&] { process.ask(PythonRequest("close")); });
  ::unsetenv("MANYMEANS_PYTHON_PATIENCE");
}

// Its answer takes longer than anybody waits for one that does nothing.
TEST_F(WrongPython, WorksForLong) {
  if (*kPython == '\0') GTEST_SKIP() << "there is no Python with pyarrow (MANYMEANS_ARROW_PYTHON)";
  ::setenv("MANYMEANS_PYTHON_PATIENCE", "1", 1);
  const std::string busy = folder.file("python", std::string("#!") + kPython + R"PY(
import sys
work = "def rows(self, fields):\n        import time\n        end = time.process_time() + 2.5\n        while time.process_time() < end: pass\n"
code = sys.argv[2].replace("def rows(self, fields):\n", work)
exec(compile(code, "child", "exec"), {"__name__": "__main__"})
)PY");
  ::chmod(busy.c_str(), 0700);
  const NamedPython named(busy);
  const Dataset points = python_reader(FieldsFormat::kParquet).read(stored("plain.parquet"), {.columns = {"i"}});
  EXPECT_EQ(points.view.d, 1);
  ::unsetenv("MANYMEANS_PYTHON_PATIENCE");
}

TEST_F(WrongPython, IsLookedForInPath) {
  if (*kPython == '\0') GTEST_SKIP() << "there is no Python with pyarrow (MANYMEANS_ARROW_PYTHON)";
  const std::string path = std::getenv("PATH");
  const char* const named = std::getenv("MANYMEANS_PYTHON");
  const std::string user = named == nullptr ? "" : named;
  ::unsetenv("MANYMEANS_PYTHON");
  std::filesystem::create_directories(folder / "bare");
  std::filesystem::create_directories(folder / "right");
  for (const std::string name : {"bare", "right"}) {
    const std::string flags = name == "bare" ? " -I -S" : "";
    const std::string program =
        folder.file(name + "/python3", std::string("#!/bin/sh\nexec ") + kPython + flags + " \"$@\"\n");
    ::chmod(program.c_str(), 0700);
  }
  ::setenv("PATH", (folder / "bare" + ":" + (folder / "right") + ":relative::").c_str(), 1);
  EXPECT_EQ(find_python().program, folder / "right/python3");
  ::setenv("PATH", (folder / "bare").c_str(), 1);
  EXPECT_EQ(find_python().program, "");
  EXPECT_NE(find_python().reason.find("bare/python3: No module named 'pyarrow'"), std::string::npos);
  ::setenv("PATH", "", 1);
  EXPECT_NE(find_python().reason.find("there is no python3 in PATH"), std::string::npos);
  ::setenv("PATH", path.c_str(), 1);
  if (named != nullptr) ::setenv("MANYMEANS_PYTHON", user.c_str(), 1);
}

}  // namespace
}  // namespace manymeans::test
