// manymeans search: points in, the best model that can be found in a given time out.
#include "commands/commands.h"
#include "commands/fit_command.h"
#include "flags/fit_flags.h"

#include <memory>

namespace manymeans::cli {
namespace {

const JobHelp kHelp = {
    .scale =
        "Scale the columns: none, standard (mean 0, deviation 1), minmax (0 to 1), robust (median 0, distance of the "
        "quartiles 1) or unit (rows of length 1). Prototypes, inertia and an "
        "--init file are in scaled units; predict applies the same scaling.",
    .model = "Write the models to this .npz file, for 'manymeans predict' and numpy.load.",
    .labels =
        "Write the labels of the best model of each k to this .npy, .csv or .parquet file, or as csv to a pipe ('-' "
        "for standard output): N values for one k, a column for each k for several.",
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
    "  manymeans search points.csv -k 50\n"
    "      Searches for three seconds and prints a summary of the best model.\n"
    "  manymeans search points.npy -k 100 --time 60 --model best.npz \\\n"
    "      --labels labels.npy\n"
    "      Searches for a minute, and writes the model and its labels.\n"
    "  manymeans search points.npy -k 100 --rounds 40 --seed 7 --model best.npz\n"
    "      Gives the same digest on every machine, however long it takes.\n"
    "  manymeans search points.npy --init best.npz --models 1 --time 600\n"
    "      Continues from the best model of an earlier search or fit.\n"
    "  manymeans search points.npy -k 1000 --time 36000 --model best.npz \\\n"
    "      --checkpoint run.ckpt --resume\n"
    "      May be killed at any time: the same command continues (--every counts\n"
    "      rounds of the search).\n\n"
    "One run of k-means ends in a local optimum. A hundred runs gain little: for\n"
    "k = 50 or more they stay 1 to 7 % above the lowest known inertia. A search swaps\n"
    "centroids: it removes one that is hardly missed and adds one where it helps\n"
    "most. A swap that lowers the inertia stays. Every round then tries variations of\n"
    "the best model and joins the better ones. At the end 'fit' starts from the best\n"
    "centroids; --max-iter, --stop, --tol and --empty apply to that fit. The column\n"
    "'rounds' counts the rounds; --rounds with that number gives the same model\n"
    "again. 'gain' is the part of the inertia that swaps and trials saved, after 8\n"
    "iterations of k-means. A lower inertia is not always a better clustering:\n"
    "docs/user/search.md says when not to trust it.\n"
    "Of one column the answer is the optimum, at once: 'rounds' says so.\n\n"
    "With --rounds the answer depends on the points, the options and the seed only:\n"
    "not on --threads, --backend, --algorithm or --strategy. Ctrl-C stops the search\n"
    "and writes the best model so far (exit code 5); a second Ctrl-C ends at once.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device, out of memory or disk\n"
    "full, 5 interrupted, 1 a bug.";

}  // namespace

void add_search_command(Program& program, int& exit_code) {
  const Command app = program.add_command("search", "Search for the k-means model with the lowest inertia.");
  const auto command = std::make_shared<FitCommand>(FitCommand{"search", FitTask::kSearch});
  bind_data_argument(app, command->job.data);
  bind_search_flags(app, command->options);
  bind_job_flags(app, command->job, kHelp);
  app.footer(kExamples);
  app.callback([app, command, &exit_code] {
    note_given(app, command->job);
    exit_code = run_fit_command(*command);
  });
}

}  // namespace manymeans::cli
