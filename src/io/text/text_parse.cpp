#include "io/text/text_parse.h"

#include <manymeans/error.h>

#include "io/files/text_pages.h"
#include "io/table/float32_check.h"
#include "io/table/text_advice.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

namespace manymeans {
namespace {

// Pieces of text that threads take: large enough that taking one costs nothing, small enough to share well.
constexpr int64_t kPiece = int64_t{1} << 19;
constexpr int32_t kSkip = -1;
constexpr int32_t kId = -2;

enum class Trouble : uint8_t { kEmptyLine, kRagged, kOpenQuote, kEmptyField, kText, kTooLarge, kNotStored };

// The first thing in a piece that does not fit.
struct Problem {
  Trouble trouble = Trouble::kRagged;
  int64_t line = 0;
  int64_t field = 0;  // for kRagged: fields found
  std::string text;   // for kRagged: advice
};

struct NumberField : Field {
  NumberKind kind = NumberKind::kNumber;
  std::string_view with_comma;  // a number, as the file has it
};

// The first of two findings about a column.
void take_earlier(const TextExample& found, TextExample& example) {
  if (found.line >= 0 && (example.line < 0 || found.line < example.line)) example = found;
}

// Points between thousands, where a comma is the decimal sign.
struct Thousands {
  TextExample example;
  bool sure = false;  // a decimal comma, or a second point, says that they are such points

  void note(std::string_view number, int64_t line) {
    const size_t point = number.find('.');
    sure |= number.find(',') != number.npos || (point != number.npos && number.find('.', point + 1) != number.npos);
    if (point != number.npos && example.line < 0) example = {line, shown(number)};
  }
};

// The findings of one thread, over all pieces that it took.
struct Worker {
  Worker(size_t d, const TextPlan& plan)
      : values(d + 1),
        lost(d),
        text(d),
        thousands(d + 1),
        float32(plan.search == Float32Search::kFull ? d : 0),
        survey(plan.survey ? d : 0) {
    if (plan.categories != nullptr) {
      codes.resize(d);
      return;  // the categories have the distinct values
    }
    for (ColumnSurvey& column : survey) {
      column.distinct = DistinctCounter(DistinctCounter::limit_for(static_cast<int64_t>(d)));
    }
  }
  std::vector<double> values;  // of one row; the weight last
  LostIntegers lost;
  std::vector<TextExample> text;
  std::vector<Thousands> thousands;  // as values
  bool trouble = false;
  Float32Check float32;  // of no columns if not required
  bool is_long = false;
  std::vector<ColumnSurvey> survey;  // likewise
  std::vector<TextCodes> codes;      // with categories: those that this thread knows
  std::string digits;                // of a number with a decimal comma
};

class Parser {
 public:
  Parser(const TextLayout& layout, const TextPlan& plan, const std::string& path, ThreadPool& pool);
  TextPoints run();

 private:
  std::vector<int64_t> first_rows() const;
  void check_room(int64_t rows) const;
  std::optional<Problem> parse_piece(int64_t piece, int64_t row, Worker& worker);
  std::optional<Problem> parse_line(std::string_view line, int64_t row, Worker& worker);
  const char* parse_field(const char* at, const char* end, double& value, NumberField& field) const;
  const char* parse_with_comma(const char* at, const char* end, double& value, NumberField& field,
                               std::string& digits) const;
  std::optional<Problem> take(const Field& field, NumberKind kind, int32_t target, int64_t row, Worker& worker) const;
  void search(const Field& field, size_t column, Worker& worker) const {
    if (plan_.search == Float32Search::kFull) {
      worker.float32.add_text(column, worker.values[column], field.text);
    } else if (!worker.is_long) {
      worker.is_long = !is_short_number(field.text, worker.values[column]);
    }
  }
  void count(const Field& field, NumberKind kind, size_t column, int64_t row, Worker& worker) const;
  void count_for_points(const Field& field, NumberKind kind, size_t column, int64_t row, Worker& worker) const;
  void keep_id(const Field& field, int64_t row) {
    if (is_wanted(row)) result_.ids[static_cast<size_t>(row - begin_)] = text_of(field);
  }
  void note_lost(const Field& field, double value, int32_t target, int64_t row, Worker& worker) const;
  std::optional<Problem> store(int64_t row, Worker& worker);
  void merge(std::vector<Worker>& workers);
  // It will be parsed again anyway; but float64 is not sure while columns of text are still looked for.
  bool stops_early(const Worker& worker) const {
    return !plan_.survey && (worker.is_long || (!plan_.note_text && worker.float32.surely_wide()));
  }
  // Columns of text, and the type of the points, are found from all rows.
  bool looks_at_all() const { return plan_.search != Float32Search::kNone || plan_.note_text; }
  bool is_wanted(int64_t row) const { return row >= begin_ && row < end_; }
  std::string place_of(const Problem& problem) const;
  std::string describe(const Problem& problem) const;
  std::string advice_about(const Problem& problem) const;
  std::string advice_about_line(std::string_view line) const;
  void release_piece(int64_t piece) const {
    pages_.release(static_cast<size_t>(piece * kPiece), static_cast<size_t>((piece + 1) * kPiece));
  }
  int64_t line_of(int64_t row) const { return layout_.first_line + row; }
  Problem open_quote(int64_t row, size_t field) const {
    return {Trouble::kOpenQuote, line_of(row), static_cast<int64_t>(field), {}};
  }

  const TextLayout& layout_;
  const TextPlan& plan_;
  const std::string& path_;
  ThreadPool& pool_;
  int64_t named_number_ = -1;     // a field of numbers that are the names of rows, too
  std::vector<int32_t> targets_;  // per field: column of the points, their number for the weight, kId or kSkip
  int64_t begin_ = 0, end_ = 0;   // the rows that become points
  double exact_below_;            // all integers below this magnitude are exact in the type
  TextPages pages_;
  TextPoints result_;
};

Parser::Parser(const TextLayout& layout, const TextPlan& plan, const std::string& path, ThreadPool& pool)
    : layout_(layout),
      plan_(plan),
      path_(path),
      pool_(pool),
      targets_(static_cast<size_t>(layout.columns.count), kSkip),
      pages_(layout.body, plan.memory) {
  for (size_t j = 0; j < plan.columns.size(); ++j)
    targets_[static_cast<size_t>(plan.columns[j])] = static_cast<int32_t>(j);
  if (plan.weight >= 0) targets_[static_cast<size_t>(plan.weight)] = static_cast<int32_t>(plan.columns.size());
  if (plan.id >= 0) {
    int32_t& target = targets_[static_cast<size_t>(plan.id)];
    if (target == kSkip) target = kId;
    if (target != kId) named_number_ = plan.id;
  }
  exact_below_ = plan.type == DataType::kFloat32 ? 0x1p24 : 0x1p53;
}

// The row that begins first in each piece, and the number of rows at the end. A row belongs to the piece in which
// it begins: that is at the start of the body, or behind a line end.
std::vector<int64_t> Parser::first_rows() const {
  const std::string_view body = layout_.body;
  const auto size = static_cast<int64_t>(body.size());
  const int64_t pieces = (size + kPiece - 1) / kPiece;
  std::vector<int64_t> rows(static_cast<size_t>(pieces + 1));
  pool_.for_each_range(pieces, 1, [&](int, int64_t piece, int64_t) {
    const int64_t first = std::max<int64_t>(piece * kPiece - 1, 0);
    const int64_t last = std::min(size, (piece + 1) * kPiece) - 1;
    rows[static_cast<size_t>(piece + 1)] =
        std::count(body.begin() + first, body.begin() + last, '\n') + (piece == 0 ? 1 : 0);
    release_piece(piece);
  });
  for (size_t i = 1; i < rows.size(); ++i) rows[i] += rows[i - 1];
  return rows;
}

// Every field of a row takes a byte, its delimiter or the end of the line. Where the body has fewer, some line has too
// few fields, and memory for all of them would be taken on the word of the first.
void Parser::check_room(int64_t rows) const {
  const auto fields = static_cast<int64_t>(targets_.size());
  const std::string_view body = layout_.body;
  if (rows <= (static_cast<int64_t>(body.size()) + 1) / fields) return;
  size_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const size_t end = std::min(body.find('\n', at), body.size());
    const std::string_view line = trim_line(body.substr(at, end - at), layout_.delimiter);
    const auto found = static_cast<int64_t>(split_line(line, layout_.delimiter).size());
    if (found != fields) {
      const Trouble trouble = line.empty() ? Trouble::kEmptyLine : Trouble::kRagged;
      const Problem problem{trouble, line_of(row), found, advice_about_line(line)};
      throw Error(ErrorCode::kBadData, path_, fmt::format("line {}{}", problem.line, describe(problem)));
    }
    at = end + 1;
  }
}

TextPoints Parser::run() {
  const std::vector<int64_t> rows = first_rows();
  check_room(rows.back());
  const auto pieces = static_cast<int64_t>(rows.size()) - 1;
  const size_t d = plan_.columns.size();
  result_.file_rows = rows.back();
  begin_ = plan_.part.begin(rows.back());
  end_ = plan_.part.end(rows.back());
  result_.points = std::make_unique<RowStore>(end_ - begin_, static_cast<int64_t>(d), plan_.type, path_, plan_.memory);
  if (plan_.weight >= 0) result_.weights.resize(static_cast<size_t>(end_ - begin_));
  if (plan_.id >= 0) result_.ids.resize(static_cast<size_t>(end_ - begin_));
  std::vector<Worker> workers(static_cast<size_t>(pool_.size()), Worker(d, plan_));
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::optional<Problem> first_problem;
  std::atomic<int64_t> bad_piece{pieces};  // the lowest with a problem: what lies behind it does not matter
  pool_.for_each_range(pieces, 1, [&](int worker, int64_t piece, int64_t) {
    if (piece > bad_piece.load() || stopped) return;
    const auto at = static_cast<size_t>(piece);
    // No row begins here: looking for one would read on to the end of a long line, and so would every piece of it.
    if (rows[at] == rows[at + 1]) return;
    const int64_t first = std::clamp(rows[at], begin_, end_), last = std::clamp(rows[at + 1], begin_, end_);
    if (first == last && !looks_at_all()) return;
    Worker& mine = workers[static_cast<size_t>(worker)];
    auto problem = parse_piece(piece, rows[at], mine);
    if (stops_early(mine)) stopped = true;
    release_piece(piece);
    result_.points->give_back(first - begin_, last - begin_);
    if (!problem) return;
    const std::lock_guard lock(mutex);
    if (piece > bad_piece.load()) return;
    bad_piece.store(piece);
    first_problem = std::move(problem);
  });
  if (first_problem && !stopped) {  // else the next parse names the first one, whatever was skipped here
    throw Error(ErrorCode::kBadData, path_, place_of(*first_problem) + describe(*first_problem));
  }
  result_.points->give_back(0, end_ - begin_);
  merge(workers);
  return std::move(result_);
}

std::optional<Problem> Parser::parse_piece(int64_t piece, int64_t row, Worker& worker) {
  const char* begin = layout_.body.data();
  const char* end = begin + layout_.body.size();
  const char* at = begin + piece * kPiece;
  const char* stop = begin + std::min<int64_t>((piece + 1) * kPiece, static_cast<int64_t>(layout_.body.size()));
  const auto line_end = [&](const char* from) {
    const void* found = std::memchr(from, '\n', static_cast<size_t>(end - from));
    return found == nullptr ? end : static_cast<const char*>(found);
  };
  if (piece > 0) at = line_end(at - 1) + 1;
  for (; at < stop; ++row) {
    const char* last = line_end(at);
    std::optional<Problem> problem;
    if (is_wanted(row) || looks_at_all()) problem = parse_line({at, static_cast<size_t>(last - at)}, row, worker);
    if (problem && !plan_.note_text) return problem;
    worker.trouble |= problem.has_value();
    if (stops_early(worker)) return std::nullopt;
    at = last + 1;
  }
  return std::nullopt;
}

std::optional<Problem> Parser::parse_line(std::string_view line, int64_t row, Worker& worker) {
  line = trim_line(line, layout_.delimiter);
  if (line.empty()) return Problem{Trouble::kEmptyLine, line_of(row), 0, {}};
  const char* end = line.data() + line.size();
  std::optional<Problem> problem;
  size_t count = 0;
  for (const char* at = line.data(); at != nullptr; ++count) {
    NumberField field;
    const int32_t target = count < targets_.size() ? targets_[count] : kSkip;
    if (target < 0) {
      at = cut_field(at, end, layout_.delimiter, field);
      if (field.open) return open_quote(row, count);
      if (target == kId) keep_id(field, row);
      continue;
    }
    if (static_cast<int64_t>(count) == named_number_) {
      cut_field(at, end, layout_.delimiter, field);
      keep_id(field, row);
    }
    double& value = worker.values[static_cast<size_t>(target)];
    at = layout_.decimal == '.' ? parse_field(at, end, value, field)
                                : parse_with_comma(at, end, value, field, worker.digits);
    if (field.open) return open_quote(row, count);
    if (!field.with_comma.empty()) worker.thousands[static_cast<size_t>(target)].note(field.with_comma, line_of(row));
    auto found = take(field, field.kind, target, row, worker);
    if (found && !problem) {
      problem = std::move(found);
      problem->field = static_cast<int64_t>(count);
    }
  }
  if (count != targets_.size()) {
    return Problem{Trouble::kRagged, line_of(row), static_cast<int64_t>(count), advice_about_line(line)};
  }
  return problem ? problem : store(row, worker);
}

// The common case without cutting the field out first: the number, then the delimiter or the end of the line.
const char* Parser::parse_field(const char* at, const char* end, double& value, NumberField& field) const {
  const char delimiter = layout_.delimiter;
  while (at < end && is_blank(*at, delimiter)) ++at;
  const char* stop = at;
  if (end - at >= 2 && static_cast<unsigned char>(*at - '0') < 10 && ends_field(at[1], delimiter)) {
    value = *at - '0';
    stop = at + 1;
  } else {
    const auto [last, error] = fast_float::from_chars(at, end, value);
    if (error == std::errc() && std::isfinite(value)) stop = last;
  }
  if (stop == at || (stop != end && !ends_field(*stop, delimiter))) {
    const char* next = cut_field(at, end, delimiter, field);
    field.kind = parse_number(field.text, value);
    return next;
  }
  field.text = {at, static_cast<size_t>(stop - at)};
  if (stop == end) return nullptr;
  ++stop;
  if (delimiter == kBlanks) {
    while (is_blank(*stop, delimiter)) ++stop;  // the line was trimmed: it ends in no blank
  }
  return stop;
}

// A number's text has a point from here on; `digits` holds it.
const char* Parser::parse_with_comma(const char* at, const char* end, double& value, NumberField& field,
                                     std::string& digits) const {
  const char* next = cut_field(at, end, layout_.delimiter, field);
  field.kind = parse_number(field.text, layout_.decimal, value, digits);
  if (field.kind == NumberKind::kNumber) field.with_comma = std::exchange(field.text, digits);
  return next;
}

std::optional<Problem> Parser::take(const Field& field, NumberKind kind, int32_t target, int64_t row,
                                    Worker& worker) const {
  const auto column = static_cast<size_t>(target);
  if (plan_.survey && column < plan_.columns.size()) {
    plan_.categories == nullptr ? count(field, kind, column, row, worker)
                                : count_for_points(field, kind, column, row, worker);
    return std::nullopt;
  }
  switch (kind) {
    case NumberKind::kNumber:
      if (std::fabs(worker.values[column]) >= exact_below_)
        note_lost(field, worker.values[column], target, row, worker);
      if (plan_.search != Float32Search::kNone && column < plan_.columns.size()) search(field, column, worker);
      return std::nullopt;
    case NumberKind::kEmpty: return Problem{Trouble::kEmptyField, line_of(row), 0, {}};
    case NumberKind::kOverflow: return Problem{Trouble::kTooLarge, line_of(row), 0, shown(field.text)};
    case NumberKind::kText: break;
  }
  if (!plan_.note_text || column == plan_.columns.size())
    return Problem{Trouble::kText, line_of(row), 0, shown(field.text)};
  TextExample& example = worker.text[column];
  if (example.line < 0 || line_of(row) < example.line) example = {line_of(row), shown(field.text)};
  worker.values[column] = 0;
  return std::nullopt;
}

// A cell of a table that need not be numbers.
void Parser::count(const Field& field, NumberKind kind, size_t column, int64_t row, Worker& worker) const {
  ColumnSurvey& survey = worker.survey[column];
  double& value = worker.values[column];
  if (kind == NumberKind::kNumber || kind == NumberKind::kOverflow) {
    ++survey.numbers;
    if (!std::isnan(value)) survey.distinct.add_number(value, field.text);
    search(field, column, worker);
    return;
  }
  value = std::numeric_limits<double>::quiet_NaN();
  if (kind == NumberKind::kEmpty) {
    ++survey.empty;
  } else {
    field.quoted ? survey.add_text(text_of(field), line_of(row)) : survey.add_text(field.text, line_of(row));
  }
}

// A cell of a table that becomes points by rules: a number, NaN for a gap, or the code of a category.
void Parser::count_for_points(const Field& field, NumberKind kind, size_t column, int64_t row, Worker& worker) const {
  ColumnSurvey& survey = worker.survey[column];
  double& value = worker.values[column];
  const bool number = kind == NumberKind::kNumber || kind == NumberKind::kOverflow;
  if (is_gap(field.text)) {
    value = std::numeric_limits<double>::quiet_NaN();
    ++survey.empty;
  } else if (number && !plan_.categorical[column]) {
    ++survey.numbers;
    if (std::fabs(value) >= exact_below_) note_lost(field, value, static_cast<int32_t>(column), row, worker);
    search(field, column, worker);
  } else {
    const std::string meant = field.quoted ? text_of(field) : std::string();
    const std::string_view text = field.quoted ? std::string_view(meant) : field.text;
    survey.add_text(text, line_of(row));
    value = static_cast<double>((*plan_.categories)[column].code_of(text, worker.codes[column]));
  }
}

void Parser::note_lost(const Field& field, double value, int32_t target, int64_t row, Worker& worker) const {
  const auto column = static_cast<size_t>(target);
  if (column == plan_.columns.size()) return;
  // A thread takes its pieces in rising order, so its first is its lowest.
  if (worker.lost.seen(column)) return;
  std::string_view digits = field.text;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return;
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  const double kept = plan_.type == DataType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value;
  if (kept == value && (std::fabs(value) < 0x1p53 || fmt::format("{:.0f}", std::fabs(value)) == digits)) return;
  worker.lost.add(column, line_of(row), shown(field.text));
}

std::optional<Problem> Parser::store(int64_t row, Worker& worker) {
  if (!is_wanted(row)) return std::nullopt;
  const int64_t bad = result_.points->store(row - begin_, worker.values.data());
  if (plan_.weight >= 0) result_.weights[static_cast<size_t>(row - begin_)] = worker.values.back();
  if (bad < 0 || plan_.search != Float32Search::kNone)
    return std::nullopt;  // what is too large for float32 makes the column wide
  const auto column = static_cast<size_t>(bad);
  return Problem{Trouble::kNotStored, line_of(row), plan_.columns[column], fmt::format("{}", worker.values[column])};
}

void Parser::merge(std::vector<Worker>& workers) {
  const size_t d = plan_.columns.size();
  result_.lost = LostIntegers(d);
  result_.text.resize(d);
  result_.thousands.resize(d);
  std::vector<bool> sure(d);
  Float32Check float32(plan_.search == Float32Search::kFull ? d : 0);
  for (Worker& worker : workers) {
    result_.lost.merge(worker.lost);
    float32.merge(worker.float32);
    result_.is_long |= worker.is_long;
    result_.trouble |= worker.trouble;
    for (size_t j = 0; j < d; ++j) {
      take_earlier(worker.text[j], result_.text[j]);
      take_earlier(worker.thousands[j].example, result_.thousands[j]);
      sure[j] = sure[j] || worker.thousands[j].sure;
    }
  }
  for (size_t j = 0; j < d; ++j) {
    if (sure[j]) result_.thousands[j] = {};
  }
  result_.wide = float32.surely_wide() || float32.wide();
  if (!plan_.survey) return;
  result_.survey = std::move(workers[0].survey);
  for (size_t j = 0; j < d; ++j) {
    for (size_t i = 1; i < workers.size(); ++i) result_.survey[j].merge(workers[i].survey[j]);
    result_.wide_columns.push_back(float32.wide(j));
  }
}

// A line that is no row has no number of a row.
std::string Parser::place_of(const Problem& problem) const {
  if (problem.trouble == Trouble::kEmptyLine || problem.trouble == Trouble::kRagged) {
    return fmt::format("line {}", problem.line);
  }
  return fmt::format("row {} (line {})", problem.line - layout_.first_line + 1, problem.line);
}

// Advice that makes text a number, or does without it.
std::string Parser::advice_about(const Problem& problem) const {
  const bool commas = problem.text.find(',') != std::string::npos;
  if (layout_.decimal == ',' && layout_.delimiter == kBlanks && commas) {
    return "with --decimal , a comma is no delimiter, and commas seem to separate the fields of this file";
  }
  const auto column = static_cast<size_t>(problem.field);
  const OddText odd{.text = problem.text,
                    .column = layout_.columns.name(problem.field),
                    .row = problem.line - layout_.first_line + 1,
                    .numbers = layout_.numbers[column],
                    .texts = layout_.texts[column],
                    .decimal = layout_.decimal,
                    .maybe_thousands = layout_.maybe_thousands};
  if (std::string advice = manymeans::advice_about(odd); !advice.empty()) return advice;
  return "leave the column out with --exclude, all that hold text with --numeric-only, or make each text a column "
         "with --categories onehot";
}

// Advice for a line with another number of fields.
std::string Parser::advice_about_line(std::string_view line) const {
  if (line.find('\r') != line.npos) return kConvertLineEnds;
  const auto fields = split_line(line, layout_.delimiter);
  return std::ranges::any_of(fields, is_libsvm, &Field::text) ? kConvertLibsvm : "every line needs the same number";
}

// The error in the line, and the fix.
std::string Parser::describe(const Problem& problem) const {
  if (problem.trouble == Trouble::kEmptyLine) return " is empty; remove it, or fill it: every line is a row";
  if (problem.trouble == Trouble::kRagged) {
    return fmt::format(" has {} fields, the lines before have {}; {}", problem.field, targets_.size(), problem.text);
  }
  const std::string at = ", " + layout_.columns.label(problem.field) + ": ";
  switch (problem.trouble) {
    case Trouble::kOpenQuote: return at + kOpenQuote;
    case Trouble::kEmptyField:
      return at + "the field is empty; fill gaps with --missing, or leave the column out with --exclude";
    case Trouble::kText: return at + "'" + problem.text + "' is not a number; " + advice_about(problem);
    case Trouble::kTooLarge:
      return at + problem.text + " is too large for a 64-bit number; at most 1.8e308 can be read";
    default: break;
  }
  if (plan_.type == DataType::kFloat32) return at + problem.text + " is too large for float32; use --dtype float64";
  return at + fmt::format("{} is not exact in {}; use a wider --dtype", problem.text, name_of(plan_.type));
}

}  // namespace

TextPoints parse_text(const TextLayout& layout, const TextPlan& plan, const std::string& path, ThreadPool& pool) {
  return Parser(layout, plan, path, pool).run();
}

}  // namespace manymeans
