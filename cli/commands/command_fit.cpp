// manymeans fit: points in, an ensemble of models out.
#include "commands/commands.h"
#include "commands/fit_command.h"
#include "commands/group_fits.h"
#include "flags/fit_flags.h"

#include <memory>
#include <string>

namespace manymeans::cli {
namespace {

const JobHelp kHelp = {
    .scale =
        "Scale the columns: none, standard (mean 0, deviation 1), minmax (0 to 1), robust (median 0, distance of the "
        "quartiles 1) or unit (rows of length 1). Prototypes, inertia and an "
        "--init file are in scaled units; predict applies the same scaling.",
    .model = "Write all models to this .npz file, for 'manymeans predict' and numpy.load.",
    .labels =
        "Write the labels of the best model of each k to this .npy, .csv or .parquet file, or as csv to a pipe ('-' "
        "for "
        "standard output): N values for one k, a column for each k for several.",
    .append = "a column 'cluster' (for several k a column for each: k8, k16), empty for rows that were left out,",
    .summary =
        "Describe the clusters of the best model (of the first k) in this .csv or .json file: size, spread, and of "
        "each column the centroid and its difference to the mean.",
    .page =
        "Write a page of charts and tables about the answer to this .html file: it opens in every browser, without a "
        "network.",
    .names = true};

const char* const kExamples =
    "Examples:\n"
    "  manymeans fit points.csv -k 8\n"
    "      Fits one model and prints its summary.\n"
    "  manymeans fit points.npy -k 64 --models 16 --seed 1 --model out.npz \\\n"
    "      --labels labels.npy\n"
    "      Fits 16 models and writes all of them, and the labels of the best.\n"
    "  manymeans fit table.csv.gz -k 2..20:2 --numeric-only --scale standard --json\n"
    "      Compares ten numbers of clusters; one JSON object on standard output.\n"
    "  manymeans fit points.npy -k 100 --search 10 --model best.npz\n"
    "      Searches for ten seconds for a better model than restarts can find.\n"
    "  manymeans fit table.csv --columns price -k 16 --optimal --model levels.npz\n"
    "      Finds the best possible 16 clusters of one column.\n"
    "  manymeans fit table.csv -k 5 --scale standard --append clustered.csv \\\n"
    "      --summary clusters.csv\n"
    "      Writes the table back with a 'cluster' column, and describes the clusters.\n"
    "  manymeans fit sales.csv --group-by shop -k 3 --labels clusters.csv \\\n"
    "      --model 'shop-{group}.npz'\n"
    "      Fits three clusters to the rows of each shop alone.\n"
    "  manymeans fit points.npy --init out.npz --max-iter 1000\n"
    "      Continues from all models of an earlier fit; --models 1: from the best.\n"
    "  manymeans fit points.npy -k 5000 --model out.npz --checkpoint run.ckpt \\\n"
    "      --resume\n"
    "      May be killed at any time: the same command continues.\n"
    "  manymeans fit --shard 'part-*.parquet' -k 64\n"
    "      Fits the rows of several files, as if they were one file.\n"
    "  manymeans fit counts.npz -k 100 --metric cosine --names terms.txt\n"
    "      Reads a sparse matrix (CSR) of scipy.sparse.save_npz as it is, and prints\n"
    "      the top terms of each cluster.\n"
    "  mpirun -n 8 manymeans fit points.npy -k 64 --model out.npz\n"
    "      Shares the rows among eight processes, on one machine or on several.\n\n"
    "The answer depends on the points, the options and the seed only: not on\n"
    "--threads, --backend, --algorithm, --strategy or how many processes share it.\n"
    "Ctrl-C stops after the current pass and writes all outputs (exit code 5); a\n"
    "second Ctrl-C ends at once.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

}  // namespace

void add_fit_command(Program& program, int& exit_code) {
  const Command app = program.add_command("fit", "Fit an ensemble of k-means models to a file of points.");
  const auto command = std::make_shared<FitCommand>(FitCommand{"fit"});
  bind_data_argument(app, command->job.data);
  bind_fit_flags(app, command->options);
  const auto searches = bind_flags_of_searching_fit(app, command->options);
  const auto optimal = std::make_shared<bool>(false);
  app.add_flag("--optimal", *optimal,
               "Begin with the optimal centres of one column: no other clusters have a lower inertia.")
      .group("Clustering");
  bind_job_flags(app, command->job, kHelp);
  const auto column = std::make_shared<std::string>();
  const auto set_column = [column](const std::string& text) {
    *column = text;
    if (text.empty()) throw Error(ErrorCode::kUsage, "--group-by", "is empty; the name or number of a column is right");
  };
  app.add_option(
         "--group-by", set_column,
         "Column of groups: a fit of the rows of each of its values alone, with the same options and seed. It "
         "is no column of the points. Outputs are --labels, --summary, --json and --model 'NAME-{group}.npz'. Not with "
         "--append, --id, --init FILE, --optimal, --profile, --report, --search and --shard.")
      .type_name("COLUMN")
      .group("Reading");
  app.footer(kExamples);
  app.callback([app, command, searches, optimal, column, &exit_code] {
    note_given(app, command->job);
    if (searches()) command->task = FitTask::kSearch;
    if (*optimal && searches()) {
      throw Error(ErrorCode::kUsage, "--optimal", "finds the optimum without --search and --search-rounds");
    }
    if (*optimal) command->task = FitTask::kOptimal;
    exit_code = column->empty() ? run_fit_command(*command) : run_group_fits(*command, *column);
  });
}

}  // namespace manymeans::cli
