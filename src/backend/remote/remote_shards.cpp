#include "backend/remote/remote_shards.h"

#include <manymeans/error.h>

#include "backend/remote/byte_stream.h"
#include "core/data_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace manymeans {
namespace {

constexpr size_t kMaxKept = size_t{1} << 24;  // words of rows' values: 128 MiB

// One shard's answer about its shape.
struct Shape {
  int64_t first, rows, columns, type, weighted, largest_weight, smallest_weight;
};

void check_same_columns(const Shape& first, const Shape& other) {
  if (first.columns != other.columns || first.type != other.type) {
    const auto text = [](const Shape& shape) {
      return fmt::format("the shard from row {} on has {} columns of {}", shape.first + 1, shape.columns,
                         name_of(static_cast<DataType>(shape.type)));
    };
    throw Error(ErrorCode::kUsage, "points", fmt::format("{}, {}; give all shards the same", text(first), text(other)));
  }
  if (first.weighted != other.weighted) {
    throw Error(ErrorCode::kUsage, "weights",
                fmt::format("of the shards from rows {} and {} on, one has weights; give them to all or to none",
                            first.first + 1, other.first + 1));
  }
}

// All shards are required: the sums would not show a missing one.
void check_rows(const std::vector<RowRange>& rows, int64_t all) {
  if (rows.size() == 1 && rows[0].first == 0 && (all == 0 || rows[0].last == all)) return;
  const int64_t missing = rows.empty() || rows[0].first > 0 ? 0 : rows[0].last;
  throw Error(
      ErrorCode::kUsage, "shards",
      fmt::format("nobody has answered for row {}, counted from 0; every shard's answer is needed, and first_row "
                  "of a shard is the number of rows before it",
                  missing));
}

[[noreturn]] void refuse_zero_weights() {
  throw Error(ErrorCode::kBadData, "weights", "all weights are zero; at least one must be positive");
}

// Of every column, from the places of what all shards found.
std::vector<double> finite_of(std::span<const int64_t> places) {
  std::vector<double> values = from_order(places);
  for (const double value : values) check_answer(std::isfinite(value));
  return values;
}

[[noreturn]] void rethrow(const Failure& failure) {
  const size_t end = failure.text.find("] ");
  throw Error(static_cast<ErrorCode>(failure.code), failure.text.substr(1, end - 1), failure.text.substr(end + 2));
}

}  // namespace

AnswerReader::AnswerReader(const Answered& answered, int64_t all) : answer_(Answer::decode(answered.answer)) {
  if (answer_.question != hash_of_bytes(answered.question)) {
    throw Error(ErrorCode::kUsage, "shards", "this is the answer to another question; merge what answers this one");
  }
  if (answer_.rows.empty()) throw Error(ErrorCode::kBadData, "points", "there are no rows; at least one is needed");
  if (answer_.failure) rethrow(*answer_.failure);
  check_rows(answer_.rows, all);
}

const MergedField& AnswerReader::next() {
  check_answer(at_ < answer_.values.size());
  return answer_.values[at_++];
}

std::span<const int64_t> AnswerReader::integers(size_t count) {
  const MergedField& field = next();
  check_answer(field.merging <= Merging::kSmallest && field.values.size() == count);
  return field.values;
}

std::span<const int64_t> AnswerReader::records(size_t width) {
  const MergedField& field = next();
  check_answer(field.merging > Merging::kSmallest && static_cast<size_t>(field.width) == width);
  return field.values;
}

std::vector<double> AnswerReader::distances(size_t count) {
  std::vector<double> values = finite_of(integers(count));
  for (const double value : values) check_answer(value >= 0);
  return values;
}

KnownRows::KnownRows(AnswerReader answer) {
  const std::span<const int64_t> records = answer.records(7);
  std::vector<Shape> shapes;
  for (size_t at = 0; at < records.size(); at += 7) {
    const int64_t* r = &records[at];
    shapes.push_back({r[0], r[1], r[2], r[3], r[4], r[5], r[6]});
    check_answer(r[0] == whole_.rows && r[1] >= 1 && r[1] <= kMaxShardRows - r[0] && r[2] >= 1 && r[3] >= 0 &&
                 r[3] <= static_cast<int64_t>(DataType::kInt8));
    const double largest = from_order(r[5]), smallest = from_order(r[6]);
    check_answer(largest >= 0 && std::isfinite(largest) && smallest > 0);
    whole_.rows += r[1];
  }
  check_answer(answer.has_rows(whole_.rows));
  for (const Shape& shape : shapes) {
    check_same_columns(shapes[0], shape);
    whole_.largest_weight = std::max(whole_.largest_weight, from_order(shape.largest_weight));
    smallest_weight_ = std::min(smallest_weight_, from_order(shape.smallest_weight));
  }
  shards_ = shapes.size();
  columns_ = shapes[0].columns;
  type_ = static_cast<DataType>(shapes[0].type);
  whole_.weighted = shapes[0].weighted != 0;
  // A shard would say it too, but as an error of its own.
  if (whole_.weighted && whole_.largest_weight == 0) refuse_zero_weights();
}

KnownRows::KnownRows(const Question& question)
    : whole_(question.whole),
      columns_(question.columns),
      type_(question.type),
      metric_(question.metric),
      scan_(question.scan),
      max_weight_(question.max_weight) {}

void KnownRows::take_columns(AnswerReader columns) {
  const auto d = static_cast<size_t>(columns_);
  scan_.minimum = finite_of(columns.integers(d));
  scan_.maximum = finite_of(columns.integers(d));
  scan_.largest = from_order(columns.integers(d));
  for (const double largest : scan_.largest) check_answer(largest >= 0);
  scan_.low = from_order(columns.integers(d));
  for (const double low : scan_.low) check_answer(low > 0);
  max_weight_ = from_order(columns.integers(1)[0]);
  check_answer(max_weight_ > 0 && max_weight_ <= 2);
}

Question KnownRows::question(Asked what) const {
  Question question;
  question.what = what;
  question.whole = whole_;
  question.columns = columns_;
  question.type = type_;
  question.metric = metric_;
  question.scan = scan_;
  question.max_weight = max_weight_;
  return question;
}

Input KnownRows::input() const {
  WholeShape shape = whole_;
  shape.weighted = false;  // the shards make integers of the weights
  PointsView fitted = points();
  if (metric_ == Metric::kCosine) fitted.type = prototype_type(type_);
  Input input = begin_shard(fitted, {}, 0, shape);
  input.weighted = whole_.weighted;
  if (input.weighted) set_weight_scale(input, whole_.largest_weight);
  finish_shard(input, scan_, max_weight_);
  return input;
}

RemoteShards::RemoteShards(const Ask& ask) : ask_(ask), known_(RemoteShards::ask(ask, {}, 0)) {}

Question RemoteShards::question(Asked what) const {
  Question question = known_.question(what);
  question.workload = workload_;
  return question;
}

AnswerReader RemoteShards::ask(const Ask& ask, Question question, int64_t all) {
  const Bytes bytes = question.encode();
  return {{bytes, ask(bytes)}, all};
}

Input RemoteShards::input() {
  known_.take_columns(ask(question(Asked::kColumns)));
  Input input = known_.input();
  input.remote = this;
  if (!input.weighted) return input;
  AnswerReader weights = ask(question(Asked::kWeights));
  const std::span<const int64_t> records = weights.records(2);
  check_answer(records.size() == 2 * static_cast<size_t>(known_.rows()));
  input.weights.reserve(records.size() / 2);
  for (size_t at = 0; at < records.size(); at += 2) {
    input.weights.push_back(from_order(records[at + 1]));
    check_answer(input.weights.back() >= 0 && input.weights.back() <= 2);
  }
  return input;
}

size_t RemoteShards::words_of_row() const {
  return (static_cast<size_t>(known_.columns()) * size_of(prototype_type(known_.type())) + 7) / 8;
}

std::vector<int64_t> RemoteShards::take_rows(AnswerReader answer) {
  const size_t width = 1 + words_of_row();
  const std::span<const int64_t> records = answer.records(width);
  if (kept_.size() * width > kMaxKept) kept_.clear();
  std::vector<int64_t> rows;
  for (size_t at = 0; at < records.size(); at += width) {
    check_answer(records[at] >= 0 && records[at] < known_.rows());
    rows.push_back(records[at]);
    const std::span<const int64_t> values = records.subspan(at + 1, width - 1);
    kept_[records[at]].assign(values.begin(), values.end());
  }
  return rows;
}

// Only missing rows are requested, each of them once.
Matrix RemoteShards::gather(std::span<const int64_t> rows) {
  Question missing = question(Asked::kRows);
  for (const int64_t row : rows) {
    if (!kept_.contains(row)) missing.rows.push_back(row);
  }
  std::map<int64_t, std::vector<int64_t>> found;
  if (!missing.rows.empty()) {
    std::ranges::sort(missing.rows);
    missing.rows.erase(std::unique(missing.rows.begin(), missing.rows.end()), missing.rows.end());
    std::swap(found, kept_);  // what is there must not be given up meanwhile
    take_rows(ask(std::move(missing)));
    kept_.merge(found);
  }
  Matrix result(static_cast<int64_t>(rows.size()), known_.columns(), prototype_type(known_.type()));
  const size_t size = static_cast<size_t>(known_.columns()) * size_of(result.type());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto values = kept_.find(rows[i]);
    check_answer(values != kept_.end());
    std::memcpy(result.values<std::byte>().data() + i * size, values->second.data(), size);
  }
  as_float_type(result.type(), [&]<class T>(T) {
    for (const T value : result.values<T>()) check_answer(std::isfinite(value));
  });
  return result;
}

std::vector<MomentSums> RemoteShards::sum_moments(const std::vector<MomentFormats>& formats) {
  AnswerReader reader = ask(question(Asked::kMoments));
  const int64_t* at = reader.integers(formats.size() * 2 * kDistanceLimbs).data();
  std::vector<MomentSums> sums(formats.size());
  for (MomentSums& sum : sums) {
    std::copy_n(at, kDistanceLimbs, sum.y);
    std::copy_n(at + kDistanceLimbs, kDistanceLimbs, sum.yy);
    at += 2 * kDistanceLimbs;
  }
  return sums;
}

}  // namespace manymeans
