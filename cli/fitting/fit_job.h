// The common parts of the commands that fit: flags, reading and scaling, a fit under signals, outputs.
#pragma once

#include <manymeans/manymeans.h>

#include "flags/append_flags.h"
#include "flags/data_files.h"
#include "flags/read_flags.h"
#include "output/output_files.h"
#include "output/progress_line.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace manymeans::cli {

/// The flags of a command that fits, in addition to the options of the clustering.
struct FitJob {
  DataFiles data;
  std::string target;  ///< column of the target, by name or number; empty: there is none
  ReadOptions reading;
  Scale scale = Scale::kNone;
  std::vector<std::string> logs = {};        ///< columns whose logarithm is taken, as --columns has them
  Terms terms = {};                          ///< that features become before they are scaled
  std::string names;                         ///< a file of the names of columns; empty: DATA has them, or none
  std::vector<std::string> profile = {};     ///< columns that are not fitted, and describe the clusters
  std::string model, labels, summary, page;  ///< outputs; empty: not asked for
  AppendFlags append;
  std::vector<OutputFile> others = {};  ///< outputs of one command
  CheckpointOptions checkpoint;
  bool json = false, quiet = false;
  bool describes = false;                      ///< typical rows of clusters, for somebody
  bool k_given = false, models_given = false;  ///< as flags, not by default
  bool streams_table = false;                  ///< to standard output: labels or what else has rows
  std::shared_ptr<Comm> ranks;                 ///< that share the points; null: there is one

  /// The ranks, and the process among them that speaks and writes.
  Comm& comm() const { return ranks ? *ranks : self_comm(); }
  bool leads() const { return !ranks || ranks->rank() == 0; }
};

/// How the flags of a job are explained where commands differ.
struct JobHelp {
  const char* scale;
  const char* model;
  const char* labels;
  const char* append = nullptr;   ///< what --append adds; null: there is no such flag
  const char* summary = nullptr;  ///< the help of --summary; null: there is no such flag
  const char* page = nullptr;     ///< the help of --report; null: there is no such flag
  bool checkpoint = true;         ///< whether there are flags for one
  bool weights = true;            ///< true: there is a flag --weights
  bool names = false;             ///< true: there is a flag --names
  bool time_limits = true;        ///< true: the command has some
  const char* type_left_out = kTypeLeftOut;
};

/// Adds the flags of the groups Reading, Output and Checkpoint; `job` must outlive `app`.
void bind_job_flags(const Command& app, FitJob& job, const JobHelp& help);

/// Sets FitJob::k_given and models_given.
void note_given(const Command& app, FitJob& job);

/// The files that a completed job reads and writes; --model comes first.
CommandFiles files_of(const FitJob& job);

/// Checks everything that does not need the points, before any of them is read. Completes `job`. `initial_file`:
/// whether --init names a file.
void check_job(FitJob& job, const FitOptions& options, bool initial_file);

/// Finds the files of points, and joins the ranks, if there are several. Each rank reads and fits its part of the rows,
/// and the first one does the rest. All of the command's threads are shared by the ranks of a machine.
void share_job(const std::string& command, FitJob& job, FitOptions& options);

/// Phases of the process, in order, and their parts: Provenance::seconds.
using Phases = std::vector<std::pair<std::string, double>>;

/// Adds a phase. It began where the others ended, the first one with the process: together they are its wall clock.
void end_phase(const char* name, Phases& phases);

/// The names of the rows of a file.
struct RowNames {
  std::vector<std::string> names;  ///< empty: there are none
  std::string column;
};

/// Points as they go into the fit, and what keeps them in memory. A target is their last column and is not scaled.
struct JobPoints {
  Dataset dataset;
  std::vector<std::string> column_names = {};  ///< of the columns that were read; the dataset's are those of terms
  Dataset profile = {};                        ///< columns of FitJob::profile, as options_of_traits() reads them
  RowNames row_names = {};                     ///< for typical rows
  Scaling scaling;
  Dataset scaled;
  PointsView view;
  Phases seconds;
};
JobPoints read_job_points(const FitJob& job, const FitOptions& options, ProgressLine& line);

/// Reads the initial prototypes of this file, for FitHooks::initial. Sets the numbers of clusters and models in
/// `options` to those of the file. Adds what was noticed to the warnings of the points.
Dataset read_job_initial(const FitJob& job, const std::string& path, FitOptions& options, JobPoints& points);

/// Calls work(hooks), which fits, with hooks for signals, progress and the checkpoint.
/// Throws what it threw, about DATA where it was about the points; says how to go on from a checkpoint.
void run_job(const FitJob& job, const FitOptions& options, const JobPoints& points, ProgressLine& line,
             const std::function<void(const FitHooks&)>& work);

/// Puts the times and warnings of the reading before the times and warnings of the fit. The first rank gets the
/// warnings of all, each once, and the others none.
void add_reading(const FitJob& job, const JobPoints& points, Provenance& provenance,
                 std::vector<std::string>& warnings);

/// The names of the columns of the points, or what stands for them.
std::vector<std::string> names_of_columns(const JobPoints& points);

/// Writes the rows of DATA again, with the labels of the best model of each k and, where asked for,
/// distances_of(model).
void append_labels(const FitJob& job, const JobPoints& points, const FitResult& result,
                   const std::function<std::vector<double>(const ModelResult& model)>& distances_of);

/// How the outputs of a job are written.
struct JobOutputs {
  std::function<void()> model, labels;
  std::function<void()> append = {}, summary = {}, page = {};  ///< for commands with these outputs
  std::vector<std::function<void()>> others = {};              ///< of FitJob::others, in their order
  std::function<std::string()> json;
  std::function<std::string(const std::vector<std::string>& files)> report;
};
void write_job(const FitJob& job, const std::vector<std::string>& warnings, const JobOutputs& outputs);

/// To be called before the report is made: the last phases are the writing of files and the end of the points, whose
/// memory is given back here.
void end_points(JobPoints& points, Phases& phases);

/// The exit code, after all outputs of all ranks are written. `interrupted`: the fit was.
int end_job(const FitJob& job, bool interrupted);

}  // namespace manymeans::cli
