// manymeans convert: points from one format into another, no value changed.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "flags/flag_values.h"
#include "flags/read_flags.h"
#include "output/output_files.h"
#include "streams/standard_streams.h"
#include "streams/stop_signal.h"

#include <memory>

namespace manymeans::cli {
namespace {

struct ConvertCommand {
  std::string in, out;
  ReadOptions reading;
  std::string output_format = "auto";
  bool quiet = false;
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans convert points.csv points.npy\n"
    "  manymeans convert base.fvecs base.npy\n"
    "  manymeans convert arrays.npz:train train.fbin --dtype float32\n"
    "  manymeans convert vectors.parquet vectors.npy --columns embedding\n"
    "  manymeans convert table.csv.gz x.npy --columns 1-5,age --dtype float64\n"
    "  zcat big.csv.gz | manymeans convert - big.fbin --format text\n\n"
    "The ending of OUT says its format; 'manymeans info' lists all of them. Text is\n"
    "read as float32 if no two different values become equal, else as float64;\n"
    "--dtype chooses. Writing changes no value: one that the format of OUT cannot\n"
    "hold (0.5 in .bvecs, 0.1 as float64 in .fbin) is an error that names it. --dtype\n"
    "float32 rounds float64 values.\n"
    "NaN and infinity are kept. OUT appears whole or not at all.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 out of memory or disk full, 5\n"
    "interrupted, 1 a bug.";

void check_paths(ConvertCommand& command) {
  if (command.out == "-") command.out = "/dev/stdout";
  check_points_path(command.out, command.output_format);
  check_files({.outputs = {{"OUT", command.out, {}}},
               .inputs = {command.in},
               .prints = !command.quiet && command.out != "/dev/stdout"});
}

int run(ConvertCommand& command) {
  check_paths(command);
  const Dataset points = read_points(command.in, command.reading);
  for (const std::string& warning : points.warnings) warn(warning);
  const std::atomic<bool>& stop = defer_stop_signals();  // the file appears whole or not at all
  write_points(command.out, points, command.output_format);
  if (!command.quiet && command.out != "/dev/stdout") {
    print(fmt::format("{}: {} rows of {} columns, {}\nwrote {}\n", command.in, points.view.n, points.view.d,
                      name_of(points.view.type), command.out));
  }
  return stop ? static_cast<int>(ErrorCode::kInterrupted) : 0;
}

}  // namespace

void add_convert_command(Program& program, int& exit_code) {
  const Command app = program.add_command("convert", "Write points in another format.");
  const auto command = std::make_shared<ConvertCommand>();
  add_file_argument(app, "IN", command->in, kDataHelp);
  add_file_argument(app, "OUT", command->out, "File to write; '-' for standard output.");
  bind_read_flags(app, command->reading);
  bind_table_flags(app, command->reading);
  bind_threads(app, command->reading.threads);
  const auto set_output_format = [command](const std::string& text) {
    check_format("--output-format", text, build_info().writers);
    command->output_format = text;
  };
  app.add_option("--output-format", set_output_format,
                 "Format of OUT: auto (by the ending of the name; pipes and devices: csv) or a writer that 'manymeans "
                 "info' lists.")
      .type_name("NAME")
      .default_str("auto")
      .group("Output");
  app.add_flag("--quiet", command->quiet, "Print nothing but warnings and errors.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace manymeans::cli
