// Output files: checked before the work, written after it.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace manymeans::cli {

/// A file that a flag asks for; an empty path means it was not asked for.
struct OutputFile {
  std::string flag;
  std::string path;
  std::vector<std::string> endings;  ///< of the path, any of them; none: any at all
};

/// Endings of tables with a line for each row: labels, distances.
inline const std::vector<std::string> kTableEndings = {".npy", ".csv", ".parquet"};

/// All files of one command.
struct CommandFiles {
  std::vector<OutputFile> outputs;
  std::vector<std::string> inputs;  ///< as the user wrote them: paths of points, of models, or "-"
  bool prints = false;              ///< whether something goes to standard output, too
};

/// Checks the files before the long work. Throws Error(kUsage) for a wrong ending, for two outputs in one file and for
/// an output that is an input. Throws Error(kUnavailable) for a file that cannot be written.
void check_files(const CommandFiles& files);

/// One thing to write at the end.
struct OutputJob {
  std::string what;             ///< path
  std::function<void()> write;  ///< throws Error
};

/// What is printed behind the files: it gets the paths that were written. Empty `print`: nothing is.
struct OutputReport {
  std::string what;  ///< "standard output"
  std::function<void(const std::vector<std::string>& written)> print;
};

/// Does all jobs and the report, also after one has failed, unless ranks do them together: then they are out of step.
/// Throws one Error that says what was written and what was not.
void write_outputs(const std::vector<OutputJob>& jobs, const OutputReport& report, bool together = false);

/// "wrote PATH", a line for each.
std::string lines_of(const std::vector<std::string>& written);

}  // namespace manymeans::cli
