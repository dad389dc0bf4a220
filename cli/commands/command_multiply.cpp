// manymeans multiply: the product of two matrices, every entry rounded once.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/flag_values.h"
#include "flags/read_flags.h"
#include "flags/reworded.h"
#include "output/output_files.h"
#include "output/stream_outputs.h"
#include "streams/device_watch.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace manymeans::cli {
namespace {

struct MultiplyCommand {
  std::string a, b, output;
  MultiplyOptions options;
  ReadOptions reading;
  ByteSize memory;
  bool json = false, quiet = false;
  bool streams = false;  // the product goes to standard output
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans multiply a.npy b.npy --output c.npy\n"
    "  manymeans multiply x.npy x.npy --transpose-a --output gram.npy\n"
    "      The normal equations of x: columns times columns.\n"
    "  manymeans multiply layers.npz:w1 layers.npz:w2 --output product.npy\n"
    "  make-weights | manymeans multiply x.npy - --output scores.npy\n"
    "  manymeans multiply a.npy b.npy --output - | manymeans multiply - c.npy \\\n"
    "      --output abc.npy\n"
    "  manymeans multiply big.npy b.npy --output c.npy --memory 2GB\n"
    "  manymeans multiply big.npy b.npy --output c.npy --backend cuda\n\n"
    "Each entry is the exact sum of its products, rounded once: there is no better\n"
    "float32 (or float64), and it is the same for any number of threads, on any\n"
    "machine and with any backend. The product is float64 where a factor is, else\n"
    "float32. NaN and infinity are taken as IEEE 754 says; an entry that is exactly\n"
    "zero is +0. Factors in .npy files are read where they lie, and the product is\n"
    "computed and written some rows at a time, so no matrix has to fit in\n"
    "memory. A file OUTPUT appears whole or not at all.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 out of memory, disk full or no such\n"
    "device, 5 interrupted, 1 a bug.";

std::string described(const std::string& path, const MatrixView& matrix, bool transposed) {
  return fmt::format("{}{} ({} x {}, {})", path, transposed ? " transposed" : "", matrix.rows, matrix.columns,
                     name_of(matrix.type));
}

// The product, some rows at a time.
class ProductRows {
 public:
  ProductRows(const MultiplyCommand& command, const Dataset& a, const Dataset& b)
      : a_(command.options.transpose_a ? MatrixView(a.view).transposed() : MatrixView(a.view)),
        b_(command.options.transpose_b ? MatrixView(b.view).transposed() : MatrixView(b.view)),
        options_(command.options) {
    options_.transpose_a = options_.transpose_b = false;
    const auto memory = static_cast<int64_t>(command.memory.bytes);
    const int64_t rows = memory > 0 ? memory / 4 : std::min(build_info().available_memory / 8, int64_t{1} << 30);
    const bool on_device = options_.backend.starts_with("cuda");
    options_.memory = on_device ? memory : memory / 4;  // of a device that is its own memory
    block_ = std::clamp<int64_t>(rows / std::max<int64_t>(1, b_.columns * static_cast<int64_t>(size_of(type()))), 1,
                                 std::max<int64_t>(1, a_.rows));
  }

  const MatrixView& a() const { return a_; }
  const MatrixView& b() const { return b_; }
  DataType type() const { return product_type(a_.type, b_.type); }
  const ProductCounts& counts() const { return counts_; }
  double seconds() const { return seconds_; }  // of the product, without files
  double gflops() const {
    const double products = static_cast<double>(a_.rows) * static_cast<double>(a_.columns);
    return 2e-9 * products * static_cast<double>(b_.columns) / seconds_;
  }

  void copy(int64_t first, int64_t count, std::byte* out) {
    const size_t row_size = static_cast<size_t>(b_.columns) * size_of(type());
    for (int64_t row = first; row < first + count; out += row_size, ++row) {
      if (row < first_ || row >= first_ + rows_.rows()) compute(row);
      std::memcpy(out, rows_.bytes().data() + static_cast<size_t>(row - first_) * row_size, row_size);
    }
  }

 private:
  void compute(int64_t first) {
    MatrixView rows = a_;
    rows.data = static_cast<const std::byte*>(a_.data) + first * a_.row_stride * static_cast<int64_t>(size_of(a_.type));
    rows.rows = std::min(block_, a_.rows - first);
    rows_ = Matrix();  // its memory is for what follows
    ProductCounts counts;
    const auto begin = std::chrono::steady_clock::now();
    rows_ = multiply(rows, b_, options_, &counts);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    first_ = first;
    counts_.entries += counts.entries;
    counts_.certified += counts.certified;
    counts_.resolved += counts.resolved;
    counts_.screen = counts.screen;
  }

  MatrixView a_, b_;
  MultiplyOptions options_;
  int64_t block_ = 1;
  int64_t first_ = 0;
  Matrix rows_;
  ProductCounts counts_;
  double seconds_ = 0;
};

std::string summary_json(const MultiplyCommand& command, const ProductRows& rows) {
  const nlohmann::ordered_json json = {{"rows", rows.a().rows},
                                       {"columns", rows.b().columns},
                                       {"depth", rows.a().columns},
                                       {"dtype", std::string(name_of(rows.type()))},
                                       {"entries", rows.counts().entries},
                                       {"certified", rows.counts().certified},
                                       {"resolved", rows.counts().resolved},
                                       {"screen", std::string(rows.counts().screen)},
                                       {"seconds", rows.seconds()},
                                       {"gflops", rows.gflops()},
                                       {"output", command.output}};
  // Paths need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string summary_text(const MultiplyCommand& command, const ProductRows& rows, const Dataset& a, const Dataset& b) {
  return fmt::format(
      "{} times {}: {} x {}, {}\n{} of {} entries needed an exact sum\nproduct in {}, {:.3g} Gflop/s\nwrote {}\n",
      described(command.a, a.view, command.options.transpose_a),
      described(command.b, b.view, command.options.transpose_b), rows.a().rows, rows.b().columns, name_of(rows.type()),
      rows.counts().resolved, rows.counts().entries, shown_duration(rows.seconds()), rows.gflops(), command.output);
}

void check_shapes(const MultiplyCommand& command, const ProductRows& rows) {
  if (rows.a().columns == rows.b().rows) return;
  const auto name = [](const std::string& path, bool transposed) { return path + (transposed ? " transposed" : ""); };
  throw Error(ErrorCode::kBadData, command.b,
              fmt::format("{} is {} x {}, {} is {} x {}; the first needs as many columns as the second has rows",
                          name(command.a, command.options.transpose_a), rows.a().rows, rows.a().columns,
                          name(command.b, command.options.transpose_b), rows.b().rows, rows.b().columns));
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

// Messages of the library about a file of points may name flags that do not exist for factors.
std::string about_factor(std::string text) {
  replace(text, "; --shard reads all files of a pattern", "; check the path");
  replace(text, " - --format text", " -");
  replace(text, ".npy or the format npy", ".npy");
  for (size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at + 2)) {
    const size_t end = std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at), text.size());
    const std::string flag = text.substr(at, end - at);
    if (flag == "--dtype" || flag == "--memory" || flag == "--arrow") continue;
    return text + "; 'manymeans convert' has these flags, and multiply takes the file that it writes";
  }
  return text;
}

// Messages of the library about memory name rows, models and strategies of fits.
std::string about_product(std::string text) {
  replace(text, "use fewer points, columns or models at a time, or", "use a smaller --memory, or");
  replace(text, "less memory for copies, or fewer rows at a time, need less", "a smaller --memory needs less");
  return text;
}

Dataset read_factor(const MultiplyCommand& command, const std::string& path) {
  ReadOptions reading = command.reading;
  reading.threads = command.options.threads;
  reading.memory = static_cast<int64_t>(command.memory.bytes);
  Dataset factor;
  try {
    factor = read_points(path, reading);
  } catch (const Error& error) {
    throw reworded(error, about_factor);
  }
  for (const std::string& warning : factor.warnings) warn(warning);
  return factor;
}

// The format of the product. On standard output that is .npy, whatever it leads to: text would not keep its type.
std::string find_output(MultiplyCommand& command) {
  if (command.output.empty()) throw Error(ErrorCode::kUsage, "--output", "is needed: a file for the product");
  command.streams = use_standard_output({{"--output", &command.output}}, command.json);
  if (!command.streams) return "auto";
  if (::isatty(STDOUT_FILENO) == 1) {
    throw Error(ErrorCode::kUsage, "--output",
                "goes to a terminal, which cannot show a .npy; name a file, or let a program read it");
  }
  return "npy";
}

void run(MultiplyCommand& command) {
  const std::string format = find_output(command);
  if (is_standard_input(command.a) && is_standard_input(command.b)) {
    throw Error(ErrorCode::kUsage, "B", "is standard input, and so is A; one of the two has to be a file");
  }
  check_points_path(command.output, format);
  check_files({.outputs = {{"--output", command.output, {}}},
               .inputs = {command.a, command.b},
               .prints = (command.json || !command.quiet) && !command.streams});
  const DeviceWatch watch(command.options.backend);
  const Dataset a = read_factor(command, command.a), b = read_factor(command, command.b);
  command.options.abort = &defer_stop_signals();
  ProductRows rows(command, a, b);
  check_shapes(command, rows);
  const MadeMatrix matrix{rows.a().rows, rows.b().columns, rows.type(),
                          [&rows](int64_t first, int64_t count, std::byte* out) { rows.copy(first, count, out); }};
  try {
    write_matrix(command.output, matrix, format);
  } catch (const Error& error) {
    throw reworded(error, about_product);
  }
  if (command.json) {
    print_json(summary_json(command, rows));
  } else if (!command.quiet) {
    print_beside(command.streams, summary_text(command, rows, a, b));
  }
}

}  // namespace

void add_multiply_command(Program& program, int& exit_code) {
  const Command app = program.add_command("multiply", "Multiply two matrices, each entry rounded once.");
  const auto command = std::make_shared<MultiplyCommand>();
  add_file_argument(app, "A", command->a,
                    "File of a matrix: .npy, .npz, text (.csv, .tsv, .txt; packed, too: .gz, .zst, .xz, .bz2), "
                    ".parquet, .fvecs and more, see 'manymeans info'; FILE.npz:NAME is one of several arrays, '-' "
                    "standard input, for one of the two. What comes out of a pipe may be .npy or text.");
  add_file_argument(app, "B", command->b, "Likewise: as many rows as A has columns.");
  app.add_flag("--transpose-a", command->options.transpose_a, "Multiply the transpose of A.").group("Product");
  app.add_flag("--transpose-b", command->options.transpose_b, "Multiply by the transpose of B.").group("Product");
  bind_header_flag(app, command->reading);
  bind_type_flag(app, command->reading,
                 "Read both factors as float32, float64, float16, bfloat16, uint8 or int8. Left out: " +
                     std::string(kTypeLeftOut));
  const auto set_memory = [command](const std::string& text) { command->memory = parse_byte_size(text); };
  app.add_option(
         "--memory", set_memory,
         "Max memory for copies of the factors and for rows of the product, as 256MiB or 2GB; a tile of each factor "
         "and a row of the product are always in memory. 0: chosen for the machine. Never changes the answer.")
      .type_name("SIZE")
      .default_str("0")
      .group("Product");
  app.add_option("--backend,--device", command->options.backend,
                 "Where to compute: cpu, cuda, one of several devices as cuda:1, or reference (slow); "
                 "'manymeans info' lists them. Never changes the answer.")
      .type_name("NAME")
      .default_str("auto")
      .group("Product");
  app.add_option("--threads", number_into("--threads", command->options.threads, 0),
                 "Threads; 0: all usable ones. Never changes the answer.")
      .type_name("COUNT")
      .default_str("0")
      .group("Product");
  add_file_flag(app, "--output", command->output,
                "Write the product to this file: .npy, or another writer that 'manymeans info' lists; '-': as .npy to "
                "standard output.")
      .group("Output");
  app.add_flag("--json", command->json, "Print one JSON object instead of text.").group("Output");
  app.add_flag("--quiet", command->quiet, "Print nothing but warnings and errors.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] {
    run(*command);
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
