#include "io/text/text_layout.h"

#include <manymeans/error.h>

#include "core/lower_case.h"
#include "io/files/text_pages.h"
#include "io/files/unpack.h"
#include "io/table/text_advice.h"
#include "io/text/header_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
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

// A file of old Macs is one line, and line ends that were converted twice are "\r\r\n".
void refuse_other_line_ends(std::string_view body, const std::string& path) {
  std::string_view line = first_line_of(body);
  const bool alone = line.size() == body.size();
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (alone ? line.find('\r') != line.npos : line.ends_with('\r')) {
    fail(path, fmt::format("line 1 has a carriage return (CR) before its end; {}", kConvertLineEnds));
  }
}

// The delimiter that a first line "sep=;" names, as Excel reads it.
std::optional<char> named_delimiter(std::string_view line, const std::string& path) {
  while (line.ends_with('\r') || line.ends_with('"')) line.remove_suffix(1);
  if (line.starts_with('"')) line.remove_prefix(1);
  constexpr std::string_view kKey = "sep=";
  if (line.size() != kKey.size() + 1 || lower_case(std::string(line.substr(0, kKey.size()))) != kKey)
    return std::nullopt;
  if (std::string_view(",;\t").find(line.back()) != std::string_view::npos) return line.back();
  fail(path,
       fmt::format("line 1 ('{}') names a delimiter that is not read; commas, semicolons or tabs are", shown(line)));
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

// What precedes the names and the rows.
struct Head {
  std::optional<char> delimiter;           // that the file names
  std::vector<std::string_view> comments;  // the last lines that begin with '#'
  std::string_view above;                  // the one directly above the body; empty: there is none
};

Head drop_head(TextLayout& layout, const std::string& path) {
  Head head;
  head.delimiter = named_delimiter(first_line_of(layout.body), path);
  if (head.delimiter) drop_line(layout);
  while (!layout.body.empty()) {
    const std::string_view line = first_line_of(layout.body);
    const bool comment = line.starts_with('#');
    if (!comment && !is_empty_line(line)) break;
    head.above = comment ? line : std::string_view();
    if (head.comments.size() == kSampleLines) head.comments.erase(head.comments.begin());
    if (comment) head.comments.push_back(line);
    drop_line(layout);
  }
  return head;
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

// Tabs as blanks would skip an empty field between tabs, and shift those behind it. A column that is empty in all lines
// does not say so: some programs write a tab at the end of every line.
bool has_gaps_between_tabs(const std::vector<Row>& rows) {
  std::vector<size_t> filled(rows[0].size());
  for (const Row& row : rows) {
    if (row.size() != filled.size()) return false;
    for (size_t f = 0; f < row.size(); ++f) filled[f] += row[f].text.empty() && !row[f].quoted ? 0 : 1;
  }
  return std::ranges::any_of(filled, [&](size_t count) { return count > 0 && count < rows.size(); });
}

char find_delimiter(const std::vector<std::string_view>& lines, const std::string& path, char decimal) {
  const bool tsv = without_packed_ending(lower_case(path)).ends_with(".tsv");
  char best = tsv ? '\t' : kBlanks;
  double best_score = 0;
  bool gaps = false;
  for (const char candidate : {',', '\t', ';', kBlanks}) {
    const std::vector<Row> rows = split_all(lines, candidate, decimal);
    if (candidate == decimal && !has_quoted_commas(rows)) continue;
    if (candidate != kBlanks && has_too_many(rows)) fail_too_wide(path);
    double score = table_score(rows);
    if (score > 0 && tsv && candidate == '\t') score += 2;  // the name of the file says so
    if (candidate == '\t') gaps = has_gaps_between_tabs(rows);
    if (score <= best_score) continue;
    best = candidate;
    best_score = score;
  }
  return best == kBlanks && gaps ? '\t' : best;
}

void refuse_open_quotes(const std::vector<Row>& rows, const TextLayout& layout, const std::string& path) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto open = std::ranges::find_if(rows[i], [](const Cell& cell) { return cell.open; });
    if (open == rows[i].end()) continue;
    fail(path, fmt::format("line {}, column {}: {}", layout.first_line + static_cast<int64_t>(i),
                           open - rows[i].begin() + 1, kOpenQuote));
  }
}

// Where commas were taken to separate fields, and the line of names has none.
std::string about_decimal_commas(const TextLayout& layout) {
  if (layout.decimal != '.' || layout.delimiter != ',' || layout.columns.names.size() != 1) return {};
  const bool semicolons = layout.columns.names[0].find(';') != std::string::npos;
  return fmt::format("; numbers with decimal commas{} are read with --decimal ,",
                     semicolons ? " between semicolons" : "");
}

void take_header(TextLayout& layout, std::vector<Row>& rows, const std::string& path) {
  for (const Field& field : rows[0]) layout.columns.names.push_back(text_of(field));
  if (rows.size() > 1 && rows[1].size() != rows[0].size() && !rows[1].empty()) {
    fail(path,
         fmt::format("line {} (the names of the columns) has {} fields, line {} has {}; both need the same number{}",
                     layout.first_line, rows[0].size(), layout.first_line + 1, rows[1].size(),
                     about_decimal_commas(layout)));
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

// The fields of a comment, as a row. What is '#' alone is a field, as in "#,x,y".
Row fields_of_comment(std::string_view line, const TextLayout& layout) {
  const std::string_view text = line.substr(std::min(line.find_first_not_of('#'), line.size()));
  Row row = std::move(split_all({text}, layout.delimiter, layout.decimal)[0]);
  if (row.size() > 1 && row[0].text.empty()) row[0].text = line.substr(0, line.size() - text.size());
  return row;
}

// Takes names from the comment above the rows, as numpy.savetxt(header="x y") writes them. Where a fit knows the names,
// others are none.
bool take_commented_names(TextLayout& layout, const Head& head, const std::vector<Row>& rows, const std::string& path,
                          const TextForm& form) {
  if (form.header != Header::kAuto || has_names(rows[0], form.names)) return false;
  const Row row = fields_of_comment(head.above, layout);
  std::vector<std::string> names;
  for (const Cell& cell : row) names.push_back(text_of(cell));
  const bool right = row.size() > 1 && row.size() == rows[0].size() &&
                     std::all_of(row.begin() + 1, row.end(), is_name) && (is_name(row[0]) || names[0] == "#") &&
                     std::unordered_set<std::string>(names.begin(), names.end()).size() == names.size() &&
                     (form.names.empty() || has_names(row, form.names));
  if (!right || guess_header(rows) == HeaderGuess::kNames) return false;
  layout.warnings.push_back(
      fmt::format("line {} of {}, a comment, was taken as names of columns ('{}'); --header no takes it "
                  "as a comment",
                  layout.first_line - 1, path, shown(trim_line(head.above, layout.delimiter))));
  layout.columns.names = std::move(names);
  return true;
}

// Warns if comments look like the row below them.
void warn_of_skipped_rows(TextLayout& layout, const Head& head, const Row& below, const std::string& path) {
  std::string_view example;
  int64_t count = 0;
  for (const std::string_view line : head.comments) {
    const Row row = fields_of_comment(line, layout);
    bool alike = row.size() == below.size() && std::ranges::any_of(row, is_number);
    for (size_t f = 0; f < row.size() && alike; ++f) alike = !is_number(below[f]) || !is_text(row[f]);
    if (!alike) continue;
    if (count == 0) example = line;
    ++count;
  }
  if (count == 0) return;
  layout.warnings.push_back(
      fmt::format("lines of {} that begin with '#' were skipped as comments, but {} of them look{} like "
                  "rows ('{}'); quotes around the field, or a line of names above, make them rows",
                  path, count, count == 1 ? "s" : "", shown(trim_line(example, layout.delimiter))));
}

// Warns if the last row sums the others up. A text that other rows have, too, is a category.
void warn_of_total(TextLayout& layout, const std::vector<Row>& rows, const std::string& path) {
  const size_t line_end = layout.body.rfind('\n');
  if (line_end == std::string_view::npos) return;
  const Row last = std::move(split_all({layout.body.substr(line_end + 1)}, layout.delimiter, layout.decimal)[0]);
  for (size_t f = 0; f < std::min(last.size(), layout.text.size()); ++f) {
    const std::string_view text = last[f].text;
    const auto repeats = [&](const Row& row) {
      return f < row.size() && row[f].text == text && row[f].text.data() != text.data();
    };
    if (!is_total(text) || std::ranges::any_of(rows, repeats)) continue;
    layout.warnings.push_back(
        fmt::format("the last row of {} says '{}' in {}, and becomes a point like others; remove the row "
                    "if it sums up the others",
                    path, text, layout.columns.label(static_cast<int64_t>(f))));
    return;
  }
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
  const auto is_written_otherwise = [](const Cell& cell) { return is_text(cell) && is_almost_number(cell.text); };
  if (guess == HeaderGuess::kPerhapsNames && std::ranges::any_of(rows[0], is_number))
    warn("names of columns, though some of them are numbers; --header no takes it as a row");
  else if (guess == HeaderGuess::kPerhapsNames && std::ranges::any_of(rows[0], is_written_otherwise))
    warn("names of columns, though some of them are numbers with other signs; --header no takes it as a row");
  else if (guess == HeaderGuess::kPerhapsNames)
    warn("names of columns, though the lines below hold text, too; --header no takes it as a row");
  return guess == HeaderGuess::kNames || guess == HeaderGuess::kPerhapsNames;
}

void note_comma(TextLayout& layout, std::string_view text) {
  if (!is_number_with_comma(text)) return;
  if (layout.comma_number.empty()) layout.comma_number = shown(text);
  layout.maybe_thousands &= is_like_thousands(text);
}

// Notes which of the first rows hold text, and where.
void note_texts(TextLayout& layout, const std::vector<Row>& rows) {
  const auto count = static_cast<size_t>(layout.columns.count);
  layout.text.resize(count);
  layout.numbers.resize(count);
  layout.texts.resize(count);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t f = 0; f < std::min(rows[i].size(), count); ++f) {
      layout.numbers[f] += is_number(rows[i][f]) ? 1 : 0;
      if (!is_text(rows[i][f])) continue;
      layout.texts[f] += is_gap(rows[i][f].text) ? 0 : 1;
      note_comma(layout, rows[i][f].text);
      if (layout.text[f].line >= 0) continue;
      layout.text[f] = {layout.first_line + static_cast<int64_t>(i), shown(rows[i][f].text)};
    }
  }
}

}  // namespace

std::string comma_advice(const TextLayout& layout) {
  if (layout.decimal != '.' || layout.comma_number.empty()) return {};
  return comma_advice(layout.comma_number, layout.maybe_thousands);
}

TextForm form_of(const ReadOptions& options) {
  TextForm form{.decimal = options.decimal, .header = options.header, .memory = options.memory};
  if (options.decimal == 0) form.decimal = options.like ? options.like->source.decimal : '.';
  form.given = options.names;
  if (options.like) form.names = options.like->source.names;
  if (options.like && form.names.empty()) form.names = options.like->column_names;
  return form;
}

TextLayout find_layout(std::string_view text, const std::string& path, const TextForm& form) {
  refuse_other_formats(text, path);
  TextLayout layout;
  layout.decimal = form.decimal;
  layout.body = text;
  while (layout.body.starts_with(kByteOrderMark)) {  // files put together have several
    layout.body.remove_prefix(kByteOrderMark.size());
  }
  drop_empty_end(layout.body);
  refuse_other_line_ends(layout.body, path);
  const Head head = drop_head(layout, path);
  if (layout.body.empty()) {
    fail(path, "the file holds no rows, only comments (lines that begin with '#') or empty lines; points are needed");
  }
  const std::vector<std::string_view> lines = sample_lines(layout.body);
  layout.delimiter = head.delimiter ? *head.delimiter : find_delimiter(lines, path, form.decimal);
  std::vector<Row> rows = split_all(lines, layout.delimiter, form.decimal);
  if (has_too_many(rows)) fail_too_wide(path);
  refuse_open_quotes(rows, layout, path);
  if (form.header == Header::kAuto && gives_size(rows, layout.body, form.memory)) {
    layout.warnings.push_back(fmt::format("line {} of {} gives the numbers of rows and columns ('{}') and was left out",
                                          layout.first_line, path, shown(trim_line(lines[0], layout.delimiter))));
    drop_line(layout);
    rows.erase(rows.begin());
  } else if (!take_commented_names(layout, head, rows, path, form) && find_header(layout, rows, path, form)) {
    take_header(layout, rows, path);
  }
  const size_t fields = rows.empty() ? 0 : rows[0].size();
  layout.columns.count = static_cast<int64_t>(std::max(fields, layout.columns.names.size()));
  give_names(layout.columns, form.given, path);
  note_texts(layout, rows);
  if (!rows.empty()) warn_of_skipped_rows(layout, head, rows[0], path);
  warn_of_total(layout, rows, path);
  return layout;
}

}  // namespace manymeans
