// manymeans compare: how alike two clusterings are.
#include <manymeans/manymeans.h>

#include "commands/commands.h"
#include "fitting/clustering.h"
#include "fitting/named_rows.h"
#include "flags/flag_values.h"
#include "flags/read_flags.h"
#include "flags/reworded.h"
#include "output/comparison_report.h"
#include "output/model_description.h"
#include "output/output_files.h"
#include "streams/standard_streams.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace manymeans::cli {
namespace {

struct CompareCommand {
  std::string a, b;
  LabelColumns columns;  // those of A
  std::string labels_of_b;
  RowsToLabel data;
  int64_t k_a = 0, k_b = 0;  // 0: the only one
  bool json = false;
};

const char* const kExamples =
    "Examples:\n"
    "  manymeans compare monday.npz tuesday.npz points.csv\n"
    "      Both models label the points: which rows moved, and how far the centroids.\n"
    "  manymeans compare monday.npy tuesday.npy\n"
    "      Labels of the same rows, in the order of their files.\n"
    "  manymeans compare monday.csv tuesday.csv\n"
    "      Labels of rows that have names, as '--id' of a fit leaves them in a first\n"
    "      column: rows of the same name are matched, whatever their order.\n"
    "  manymeans compare many.npz many.npz points.csv -k 8,9\n"
    "      Two models of one file.\n"
    "  manymeans compare out.npz truth.csv points.csv --column species\n"
    "      Labels may be texts: each text is a class.\n"
    "  manymeans compare out.csv truth.csv --id customer --column cluster,segment\n\n"
    "The adjusted Rand index is 1 for equal clusterings, whatever the numbers of the\n"
    "clusters are, and about 0 for chance. The clusters of A and B are matched one to\n"
    "one so that as many rows as possible stay; the other rows have moved. Rows\n"
    "without a label (an empty field, -1) are left out. Centroids of two models of\n"
    "the same columns are matched one to one so that the sum of the squared distances\n"
    "is lowest; distances are in the scaled units of A.\n"
    "Exit codes: 0 done, 2 usage, 3 bad data, 4 no such device or out of memory, 1 a\n"
    "bug.";

std::string title_of(const Clustering& clustering) {
  if (!clustering.is_model()) return fmt::format("{} ({} labels)", clustering.path, clustering.labels.size());
  return fmt::format("{} (k = {}, seed {}, inertia {:.7g})", clustering.path, k_of(*clustering.model),
                     clustering.model->seed, clustering.model->inertia);
}

// Why the centroids of two models cannot be matched; empty: they can.
std::string obstacle(const ModelFile& a, const ModelFile& b) {
  if (a.linear() || b.linear()) return "linear models have none";
  const int64_t columns_a = a.models[0].prototypes.columns(), columns_b = b.models[0].prototypes.columns();
  if (columns_a != columns_b) return fmt::format("A has {} columns, B {}", columns_a, columns_b);
  const bool named = !a.column_names.empty() && !b.column_names.empty();
  if (named && a.column_names != b.column_names) return "A and B are of columns of other names, or in another order";
  if (a.metric != b.metric)
    return fmt::format("A was fitted with metric {}, B with {}", name_of(a.metric), name_of(b.metric));
  if (a.scaling == b.scaling) return {};
  if (a.scaling.logs != b.scaling.logs)
    return "A and B take different logarithms (log(1 + x) where a column has zeros)";
  if (a.metric == Metric::kCosine || a.scaling.kind == Scale::kUnit || b.scaling.kind == Scale::kUnit) {
    return "A and B are directions after other scalings";
  }
  return {};
}

// Centroids of `from` in the scaled units of `to`.
std::vector<double> centroids_in(const Scaling& to, const Clustering& from) {
  const Matrix& centroids = from.model->prototypes;
  const Scaling& own = from.file->scaling;
  const bool same = own == to;
  std::vector<double> values;
  for (int64_t k = 0; k < centroids.rows(); ++k) {
    for (int64_t j = 0; j < centroids.columns(); ++j) {
      const auto column = static_cast<size_t>(j);
      double value = centroids.at(k, j);
      if (!same && !own.offset.empty()) value = value * own.divisor[column] + own.offset[column];
      if (!same && !to.offset.empty()) value = (value - to.offset[column]) / to.divisor[column];
      values.push_back(value);
    }
  }
  return values;
}

// Throws Error(kUsage) unless DATA is given where it is needed, and only there.
void check_data(const CompareCommand& command, const Clustering& a, const Clustering& b, const std::string& obstacle) {
  if (a.is_model() && b.is_model() && !command.columns.ids.empty()) {
    throw Error(ErrorCode::kUsage, "--id", "names rows of files of labels, but A and B are models; leave it out");
  }
  const bool given = !command.data.path.empty();
  if (given && !a.is_model() && !b.is_model()) {
    throw Error(ErrorCode::kUsage, "DATA", "is labelled by models, but A and B are labels; leave it out");
  }
  if (given) return;
  if (a.is_model() != b.is_model()) {
    throw Error(ErrorCode::kUsage, "DATA",
                fmt::format("is needed: '{}' is a model, '{}' holds labels; give the points that these are labels of",
                            a.is_model() ? a.path : b.path, a.is_model() ? b.path : a.path));
  }
  if (!obstacle.empty()) {
    throw Error(
        ErrorCode::kUsage, "DATA",
        fmt::format("is needed: the centroids cannot be matched ({}); labels of points can be compared", obstacle));
  }
}

// Returns the column that names the rows of DATA, if the labels that a model is compared with have names of rows.
std::string ids_of_data(const CompareCommand& command, const Clustering& a, const Clustering& b) {
  if (a.is_model() == b.is_model()) return {};  // both label DATA, or nothing is labelled
  const Clustering& labels = a.is_model() ? b : a;
  if (labels.ids.empty() || !command.columns.ids.empty()) return command.columns.ids;
  if (!labels.id_name.empty()) return labels.id_name;
  throw Error(ErrorCode::kUsage, "--id",
              fmt::format("is needed: '{}' has names of its rows in a column without a name; say which column of it "
                          "and of DATA that is, or --by-order",
                          labels.path));
}

void label_data(Clustering& side, const CompareCommand& command, const std::string& ids, Comparison& result) {
  RowsToLabel data = command.data;
  data.reading.id = ids;
  try {
    label_rows(side, data, result.warnings);
  } catch (const Error& error) {
    if (ids.empty() || !std::string_view(error.what()).starts_with("[id] ")) throw;
    throw reworded(error, [&](const std::string& text) {
      return text +
             "; labels are matched with the rows of DATA by name; --by-order in place of --id takes their "
             "order";
    });
  }
}

// Reads labels again where their number, one off, shows what their first line of numbers is.
void count_first_line(Clustering& side, const Clustering& other, LabelColumns columns, std::string& title) {
  columns.rows = std::ssize(other.labels);
  if (side.is_model() || columns.header != Header::kAuto) return;
  if (std::abs(std::ssize(side.labels) - columns.rows) != 1) return;
  if (!side.ids.empty() || !other.ids.empty()) return;
  if (find_first_line(side.path, {}, columns.rows).header == Header::kAuto) return;
  side = read_clustering(side.path, 0, columns);
  title = title_of(side);
}

void check_rows(const Clustering& a, const Clustering& b, const std::string& data) {
  if (a.labels.size() == b.labels.size()) return;
  const Clustering& longer = a.labels.size() > b.labels.size() ? a : b;
  const bool one_more = longer.has_no_header && std::abs(std::ssize(a.labels) - std::ssize(b.labels)) == 1;
  throw Error(
      ErrorCode::kBadData, file_of_rows(b, data),
      fmt::format(
          "has {} rows, '{}' has {}; labels of the same rows are needed{}", b.labels.size(), file_of_rows(a, data),
          a.labels.size(),
          one_more ? fmt::format("; if the first line of {} is a name, --header yes says so", longer.path) : ""));
}

// Where rows may have been put together that are not the same, or hardly any were.
void warn_of_rows(const Clustering& a, const Clustering& b, Comparison& result) {
  for (const Clustering* side : {&a, &b}) {
    if (!a.ids.empty() || side->beside.empty()) continue;
    result.warnings.push_back(
        fmt::format("{}: none of the columns {} was taken for names of the rows; rows are compared in the order of the "
                    "files: --id COLUMN puts them together by names, --by-order says that their order is right",
                    side->path, fmt::join(side->beside, ", ")));
  }
  if (a.may_have_name && b.may_have_name) {
    result.warnings.push_back(
        fmt::format("the first lines of {} and {} were taken as labels, though pandas writes 0 as the name of a "
                    "column; --header yes takes them as names, --header no as labels",
                    a.path, b.path));
  }
  const auto both = std::ssize(a.labels);
  if (result.rows_by.empty() || both >= std::min(result.only_a, result.only_b)) return;
  result.warnings.push_back(
      fmt::format("only {} rows have a name that both files have, by {}; names are compared as "
                  "texts: 1 and 01 are two",
                  both, result.rows_by));
}

// One k is that of both models.
Clustering read_side(const std::string& path, int64_t k, const LabelColumns& columns) {
  try {
    return read_clustering(path, k, columns);
  } catch (const Error& error) {
    if (!std::string_view(error.what()).starts_with("[-k] ")) throw;
    throw reworded(error, [](const std::string& text) { return text + ", as in -k 3,2 (of A and of B)"; });
  }
}

Comparison compare(const CompareCommand& command) {
  LabelColumns columns = command.columns;
  columns.header = command.data.reading.header;
  Clustering a = read_side(command.a, command.k_a, columns);
  LabelColumns columns_of_b = columns;
  columns_of_b.labels = command.labels_of_b;
  Clustering b = read_side(command.b, command.k_b, columns_of_b);
  Comparison result{.title_a = title_of(a), .title_b = title_of(b)};
  const bool models = a.is_model() && b.is_model();
  if (models) result.no_centroids = obstacle(*a.file, *b.file);
  check_data(command, a, b, result.no_centroids);
  if (models && result.no_centroids.empty()) {
    const Scaling& units = a.file->scaling;
    result.centroids = match_prototypes(centroids_in(units, a), centroids_in(units, b), a.model->prototypes.columns());
  }
  if (models && command.data.path.empty()) return result;
  const std::string ids = ids_of_data(command, a, b);
  for (Clustering* side : {&a, &b}) {
    if (side->is_model()) label_data(*side, command, ids, result);
  }
  count_first_line(a, b, columns, result.title_a);
  count_first_line(b, a, columns_of_b, result.title_b);
  const JoinedRows rows = join_rows(a, b, command.data.path);
  result.rows_by = rows.by;
  result.only_a = rows.only_a;
  result.only_b = rows.only_b;
  warn_of_rows(a, b, result);
  check_rows(a, b, command.data.path);
  result.labels = compare_labels(a.labels, b.labels);
  result.classes_a = std::move(a.classes);
  result.classes_b = std::move(b.classes);
  return result;
}

void run(const CompareCommand& command) {
  if (command.columns.by_order && !command.columns.ids.empty()) {
    throw Error(ErrorCode::kUsage, "--by-order",
                "takes no notice of names of rows, and --id says where they are; leave one out");
  }
  if (is_standard_input(command.a) && is_standard_input(command.b)) {
    throw Error(ErrorCode::kUsage, "B", "is standard input, and so is A; one of the two has to be a file");
  }
  check_files({.outputs = {}, .inputs = {command.a, command.b, command.data.path}, .prints = true});
  const Comparison result = compare(command);
  for (const std::string& warning : result.warnings) warn(warning);
  if (command.json) {
    print_json(comparison_json(result));
  } else {
    print(comparison_text(result));
  }
}

void set_k(CompareCommand& command, const std::string& text) {
  const auto parse = [](const std::string& part) {
    const auto k = parse_number<int64_t>("-k,--clusters", part, 1);
    if (k < 1) throw Error(ErrorCode::kUsage, "-k,--clusters", fmt::format("must be at least 1, found {}", k));
    return k;
  };
  const size_t comma = text.find(',');
  command.k_a = parse(text.substr(0, comma));
  command.k_b = comma == std::string::npos ? command.k_a : parse(text.substr(comma + 1));
}

void set_columns(CompareCommand& command, const std::string& text) {
  const size_t comma = text.find(',');
  command.columns.labels = text.substr(0, comma);
  command.labels_of_b = comma == std::string::npos ? text : text.substr(comma + 1);
  if (command.columns.labels.empty() || command.labels_of_b.empty() || std::ranges::count(text, ',') > 1) {
    throw Error(ErrorCode::kUsage, "--column",
                fmt::format("is '{}'; a name or a number is right, or two with a comma: of A and of B", text));
  }
}

}  // namespace

void add_compare_command(Program& program, int& exit_code) {
  const Command app = program.add_command("compare", "Compare two models, or labels.");
  const auto command = std::make_shared<CompareCommand>();
  add_file_argument(app, "A", command->a, "Model file (.npz), or labels of rows (.npy, .csv, .parquet).");
  add_file_argument(app, "B", command->b, "Likewise.");
  add_file_argument(app, "DATA", command->data.path, "File of points that models label, in any format.")
      .required(false);
  const auto store_k = [command](const std::string& text) { set_k(*command, text); };
  app.add_option("-k,--clusters", store_k, "Which k of the model files to use; two (3,4): of A and of B.")
      .type_name("K")
      .group("Comparison");
  const auto store_columns = [command](const std::string& text) { set_columns(*command, text); };
  app.add_option("--column", store_columns,
                 "Column of the labels, a name or a number, in files that have several; two (cluster,class): of A and "
                 "of B. Left out: the one called label or cluster.")
      .type_name("COLUMN")
      .group("Comparison");
  app.add_option("--id", command->columns.ids,
                 "Column that names the rows, in both files of labels or in one and DATA: rows of the same name are "
                 "matched. Left out: the first column, if all others are named as labels are.")
      .type_name("COLUMN")
      .group("Comparison");
  app.add_flag("--by-order", command->columns.by_order,
               "Match rows by their order in the files, even if they have names.")
      .group("Comparison");
  app.add_option("--backend,--device", command->data.backend, "Where to compute. Never changes the answer.")
      .type_name("NAME")
      .default_str("auto")
      .group("Comparison");
  bind_read_flags(app, command->data.reading);
  bind_threads(app, command->data.reading.threads);
  app.add_flag("--json", command->json, "Print one JSON object instead of text.").group("Output");
  app.footer(kExamples);
  app.callback([command, &exit_code] {
    run(*command);
    exit_code = 0;
  });
}

}  // namespace manymeans::cli
