// manymeans choose: points in, a number of clusters out, with the evidence.
#include "commands/commands.h"
#include "commands/fit_command.h"
#include "flags/fit_flags.h"

#include <memory>

namespace manymeans::cli {
namespace {

const JobHelp kHelp = {
    .scale =
        "Scale the columns: none, standard (mean 0, deviation 1), minmax (0 to 1), robust (median 0, distance of the "
        "quartiles 1) or unit (rows of length 1). Columns of different units need "
        "it.",
    .model = "Write the best model of the recommended k to this .npz file, for 'manymeans predict' and numpy.load.",
    .labels = "Write its labels to this .npy, .csv or .parquet file, or as csv to a pipe ('-' for standard output).",
    .append = "a column 'cluster', empty for rows that were left out,",
    .summary =
        "Describe its clusters in this .csv or .json file: size, spread, and of each column the centroid and its "
        "difference to the mean.",
    .page =
        "Write a page of charts and tables about the answer to this .html file: it opens in every browser, without a "
        "network.",
    .checkpoint = false,
    .weights = false,
    .names = true};

const char* const kExamples =
    "Examples:\n"
    "  manymeans choose points.csv\n"
    "      Judges k = 1 to 20, ten models each, and recommends one.\n"
    "  manymeans choose table.csv -k 2..30 --scale standard --model best.npz \\\n"
    "      --labels labels.npy\n"
    "      Writes the best model of the recommended k, and its labels.\n"
    "  manymeans choose points.npy -k 10..100:10 --references 0 --bootstraps 0 \\\n"
    "      --json\n"
    "      Coarse and quick: one ensemble and what follows from it; one JSON object.\n\n"
    "The table has a line for each k, of its best model by inertia, and a column for\n"
    "each criterion; a star marks the k that the criterion chooses. The answer is\n"
    "  k = 3       Its clusters return in other rows: the prediction strength is at\n"
    "              least 0.8, the stability 0.85. A valley of at least 0.7 separates\n"
    "              them. All families of criteria choose it among such k.\n"
    "  k = 2 or 3  Clusters of each return in other rows. The families disagree, or\n"
    "              no valley separates them; then 1 is among the answers.\n"
    "  no clear k  No k has clusters that return in other rows, or columns are skewed\n"
    "              and no valley separates clusters, or --bootstraps is 0.\n"
    "  one group   Nothing returns, and there is no valley.\n"
    "The families are distances (CH, DB and two silhouettes), gap, BIC and valley.\n"
    "Outputs have a usable k in every case. Do not trust the criteria if clusters are\n"
    "neither round nor of similar size (docs/user/choose-k.md). choose takes neither\n"
    "weights nor ranks.\n\n"
    "The answer depends on the points, the options and the seed only: not on\n"
    "--threads, --backend, --algorithm or --strategy. Ctrl-C stops the fits; models\n"
    "so far are judged and written (exit code 5). A second Ctrl-C ends at once.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

}  // namespace

void add_choose_command(Program& program, int& exit_code) {
  const Command app = program.add_command("choose", "Choose the number of clusters, with the evidence.");
  const auto command = std::make_shared<FitCommand>(FitCommand{"choose", FitTask::kChoose});
  command->options.k = command->choice.fit.k;
  command->options.models = command->choice.fit.models;
  bind_data_argument(app, command->job.data);
  bind_choose_flags(app, command->options, command->choice);
  bind_job_flags(app, command->job, kHelp);
  app.footer(kExamples);
  app.callback([app, command, &exit_code] {
    note_given(app, command->job);
    exit_code = run_fit_command(*command);
  });
}

}  // namespace manymeans::cli
