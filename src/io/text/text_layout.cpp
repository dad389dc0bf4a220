#include "io/text/text_layout.h"

#include <manymeans/error.h>

#include "core/lower_case.h"
#include "io/files/text_pages.h"
#include "io/files/unpack.h"
#include "io/text/header_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_set>

namespace manymeans {
namespace {

constexpr size_t kSampleLines = 100;
constexpr size_t kSampleBytes = size_t{1} << 20;  // lines may be long; two are always read

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::kBadData, path, what);
}

[[noreturn]] void fail_too_wide(const std::string& path) {
  fail(path, fmt::format("a line has more than {} fields; a table as wide as that is read from a binary file, such as "
                         ".npy",
                         kMaxFields));
}

void refuse_other_formats(std::string_view text, const std::string& path) {
  if (text.starts_with("PK\x03\x04"))
    fail(path, "this is a zip archive (perhaps .npz); a text file or a .npy is needed");
  if (text.starts_with("\x93NUMPY"))
    fail(path, "this is a .npy file inside; give it the ending .npy or the format npy");
  for (const std::string_view picture : {"\x89PNG\r\n", "\xff\xd8\xff", "GIF8"}) {
    if (!text.starts_with(picture)) continue;
    fail(path,
         "this is a picture, whose pixels have to become the rows of an array (.npy) first: job 14 of "
         "docs/user/twenty-jobs.md, 'The colours of a picture', has the lines");
  }
  const size_t nul = text.substr(0, size_t{1} << 16).find('\0');
  if (nul != std::string_view::npos) {
    fail(path, fmt::format("this is not a text file: byte {} is zero; UTF-8 text or a .npy file is needed", nul + 1));
  }
}

std::string_view first_line_of(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

bool is_empty_line(std::string_view line) {
  return trim_line(line, kBlanks).empty();
}

// Takes the first line away.
void drop_line(TextLayout& layout) {
  layout.body.remove_prefix(std::min(layout.body.size(), first_line_of(layout.body).size() + 1));
  ++layout.first_line;
}

// A line of tabs alone is kept: it may be a row of empty fields.
void drop_empty_end(std::string_view& body) {
  const size_t last = body.find_last_not_of(" \r\n");
  if (last == std::string_view::npos) {
    body = {};
    return;
  }
  body = body.substr(0, std::min(body.find('\n', last), body.size()));
}

std::vector<std::string_view> sample_lines(std::string_view body) {
  std::vector<std::string_view> result;
  size_t bytes = 0;
  while (!body.empty() && result.size() < kSampleLines && (result.size() < 2 || bytes < kSampleBytes)) {
    const std::string_view line = first_line_of(body);
    bytes += line.size() + 1;
    result.push_back(line);
    body.remove_prefix(std::min(body.size(), line.size() + 1));
  }
  return result;
}

std::vector<Row> split_all(const std::vector<std::string_view>& lines, char delimiter, char decimal) {
  std::vector<Row> rows;
  std::string digits;
  for (const std::string_view line : lines) {
    Row& row = rows.emplace_back();
    for (const Field& field : split_line(trim_line(line, delimiter), delimiter)) {
      row.push_back({field});
      Cell& cell = row.back();
      cell.kind = parse_number(field.text, decimal, cell.value, digits);
    }
  }
  return rows;
}

// Returns true for possible thousands: one to three digits, not 0 first, a comma, three digits.
bool is_like_thousands(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const size_t comma = text.find(',');
  constexpr std::string_view kDigits = "0123456789";
  return comma >= 1 && comma <= 3 && text.size() == comma + 4 && text[0] != '0' &&
         text.find_first_not_of(kDigits) == comma && text.find_first_not_of(kDigits, comma + 1) == text.npos;
}

bool has_too_many(const std::vector<Row>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.size() > kMaxFields; });
}

// How well rows look like a table: the share of rows with the commonest number of fields (2 or more)
// plus the share of fields that are numbers.
double table_score(const std::vector<Row>& rows) {
  std::map<size_t, size_t> lengths;
  size_t fields = 0, numbers = 0;
  for (const Row& row : rows) {
    ++lengths[row.size()];
    fields += row.size();
    numbers += static_cast<size_t>(std::count_if(row.begin(), row.end(), is_number));
  }
  std::pair<size_t, size_t> commonest{0, 0};  // rows, fields
  for (const auto& [length, count] : lengths) commonest = std::max(commonest, {count, length});
  if (commonest.second < 2) return 0;
  return static_cast<double>(commonest.first) / static_cast<double>(rows.size()) +
         static_cast<double>(numbers) / static_cast<double>(fields);
}

// Commas delimit numbers with decimal commas only if the numbers are in quotes.
bool has_quoted_commas(const std::vector<Row>& rows) {
  const auto quoted = [](const Cell& cell) {
    return cell.quoted && is_number(cell) && cell.text.find(',') != cell.text.npos;
  };
  return std::ranges::any_of(rows, [&](const Row& row) { return std::ranges::any_of(row, quoted); });
}

char find_delimiter(const std::vector<std::string_view>& lines, const std::string& path, char decimal) {
  const bool tsv = without_packed_ending(lower_case(path)).ends_with(".tsv");
  char best = tsv ? '\t' : kBlanks;
  double best_score = 0;
  for (const char candidate : {',', '\t', ';', kBlanks}) {
    const std::vector<Row> rows = split_all(lines, candidate, decimal);
    if (candidate == decimal && !has_quoted_commas(rows)) continue;
    if (candidate != kBlanks && has_too_many(rows)) fail_too_wide(path);
    double score = table_score(rows);
    if (score > 0 && tsv && candidate == '\t') score += 2;  // the name of the file says so
    if (score <= best_score) continue;
    best = candidate;
    best_score = score;
  }
  return best;
}

// Where commas were taken to separate fields, and semicolons do.
std::string about_semicolons(const TextLayout& layout) {
  const bool has_them = layout.decimal == '.' && layout.columns.names[0].find(';') != std::string::npos;
  return has_them ? "; numbers with decimal commas between semicolons are read with --decimal ," : "";
}

void take_header(TextLayout& layout, std::vector<Row>& rows, const std::string& path) {
  for (const Field& field : rows[0]) layout.columns.names.push_back(text_of(field));
  if (rows.size() > 1 && rows[1].size() != rows[0].size() && !rows[1].empty()) {
    fail(path, fmt::format(
                   "line {} (the names of the columns) has {} fields, line {} has {}; both need the same number{}",
                   layout.first_line, rows[0].size(), layout.first_line + 1, rows[1].size(), about_semicolons(layout)));
  }
  drop_line(layout);
  rows.erase(rows.begin());
}

// Some old sets begin with a line "n d": the numbers of rows and columns that follow. With two columns that could be a
// row, this many rows must confirm it.
constexpr int64_t kConfirmingRows = 100;

bool gives_size(const std::vector<Row>& rows, std::string_view body, int64_t memory) {
  if (rows.size() < 2 || rows[0].size() != 2) return false;
  std::array<int64_t, 2> size{};
  for (size_t i = 0; i < 2; ++i) {
    const std::string_view text = rows[0][i].text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size[i]);
    if (error != std::errc() || end != text.data() + text.size()) return false;
  }
  if (size[1] != static_cast<int64_t>(rows[1].size()) || (size[1] == 2 && size[0] < kConfirmingRows)) return false;
  return size[0] == count_line_ends(body, memory);
}

// Returns true if the first line has all names that the caller knows.
bool has_names(const Row& row, const std::vector<std::string>& names) {
  std::unordered_set<std::string> texts;
  for (const Cell& cell : row) texts.insert(text_of(cell));
  return !names.empty() && std::ranges::all_of(names, [&](const std::string& name) { return texts.contains(name); });
}

// Returns true if the first line holds names. Warns if it may be something else.
bool find_header(TextLayout& layout, const std::vector<Row>& rows, const std::string& path, const TextForm& form) {
  if (form.header != Header::kAuto) return form.header == Header::kYes;
  if (has_names(rows[0], form.names)) return true;
  const HeaderGuess guess = guess_header(rows);
  const auto warn = [&](const char* what) {
    layout.warnings.push_back(fmt::format("line {} of {} was taken as {}", layout.first_line, path, what));
  };
  if (guess == HeaderGuess::kPerhapsRow)
    warn("a row, though it may hold the names of the columns; --header yes takes it as names");
  if (guess == HeaderGuess::kPerhapsNames && std::ranges::any_of(rows[0], is_number))
    warn("names of columns, though some of them are numbers; --header no takes it as a row");
  else if (guess == HeaderGuess::kPerhapsNames)
    warn("names of columns, though the lines below hold text, too; --header no takes it as a row");
  return guess == HeaderGuess::kNames || guess == HeaderGuess::kPerhapsNames;
}

void note_comma(TextLayout& layout, std::string_view text) {
  if (!is_number_with_comma(text)) return;
  if (layout.comma_number.empty()) layout.comma_number = shown(text);
  layout.maybe_thousands &= is_like_thousands(text);
}

}  // namespace

std::string comma_advice(const TextLayout& layout) {
  if (layout.decimal != '.' || layout.comma_number.empty()) return {};
  std::string advice = "numbers with decimal commas, as '" + layout.comma_number + "', are read with --decimal ,";
  if (!layout.maybe_thousands) return advice;
  std::string small = layout.comma_number;
  small.replace(small.find(','), 1, ".");
  return advice + "; commas between thousands, as these may be, are not: remove them first, or this becomes " + small;
}

TextForm form_of(const ReadOptions& options) {
  TextForm form{.decimal = options.decimal, .header = options.header, .memory = options.memory};
  if (options.decimal == 0) form.decimal = options.like ? options.like->source.decimal : '.';
  if (options.like) form.names = options.like->source.names;
  if (options.like && form.names.empty()) form.names = options.like->column_names;
  return form;
}

TextLayout find_layout(std::string_view text, const std::string& path, const TextForm& form) {
  refuse_other_formats(text, path);
  TextLayout layout;
  layout.decimal = form.decimal;
  layout.body = text;
  if (text.starts_with("\xef\xbb\xbf")) layout.body.remove_prefix(3);
  drop_empty_end(layout.body);
  while (!layout.body.empty()) {
    const std::string_view line = first_line_of(layout.body);
    if (!line.starts_with('#') && !is_empty_line(line)) break;
    drop_line(layout);
  }
  if (layout.body.empty()) fail(path, "the file holds no rows, only comments or empty lines; points are needed");

  const std::vector<std::string_view> lines = sample_lines(layout.body);
  layout.delimiter = find_delimiter(lines, path, form.decimal);
  std::vector<Row> rows = split_all(lines, layout.delimiter, form.decimal);
  if (has_too_many(rows)) fail_too_wide(path);
  if (form.header == Header::kAuto && gives_size(rows, layout.body, form.memory)) {
    layout.warnings.push_back(fmt::format("line {} of {} gives the numbers of rows and columns ('{}') and was left out",
                                          layout.first_line, path, shown(trim_line(lines[0], layout.delimiter))));
    drop_line(layout);
    rows.erase(rows.begin());
  } else if (find_header(layout, rows, path, form)) {
    take_header(layout, rows, path);
  }
  const size_t fields = rows.empty() ? 0 : rows[0].size();
  layout.columns.count = static_cast<int64_t>(std::max(fields, layout.columns.names.size()));
  layout.text.resize(static_cast<size_t>(layout.columns.count));
  layout.categories.resize(layout.text.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t f = 0; f < std::min(rows[i].size(), layout.text.size()); ++f) {
      if (!is_text(rows[i][f])) continue;
      if (!is_gap(rows[i][f].text)) layout.categories[f] = true;
      note_comma(layout, rows[i][f].text);
      if (layout.text[f].line >= 0) continue;
      layout.text[f] = {layout.first_line + static_cast<int64_t>(i), shown(rows[i][f].text)};
    }
  }
  return layout;
}

}  // namespace manymeans
