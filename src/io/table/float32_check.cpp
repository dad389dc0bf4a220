#include "io/table/float32_check.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace manymeans {
namespace {

// A value may lose this part of the step in which numbers like it are written. Two of them then differ by at most an
// eighth of a step more or less than they should. And all numbers of six digits pass, as FLT_DIG promises: their loss
// is at most 10^6 * 2^-24 = 0.0597 steps.
constexpr double kParts = 16;
constexpr double kSixDigits = 1e6;
// A float32 step has at least this many numbers and one text of a float32: so seldom is a long number one by chance.
constexpr double kLongByChance = 4;

constexpr int kMaxDecimals = 400;

// 10^-decimals, correctly rounded on every machine; infinity and 0 outside of binary64.
double step_of(int decimals) {
  static const auto kSteps = [] {
    std::array<double, 2 * kMaxDecimals + 1> steps{};
    for (int i = -kMaxDecimals; i <= kMaxDecimals; ++i) {
      const std::string text = fmt::format("1e{}", -i);
      double& step = steps[static_cast<size_t>(i + kMaxDecimals)];
      (void)fast_float::from_chars(text.data(), text.data() + text.size(), step);
    }
    return steps;
  }();
  return kSteps[static_cast<size_t>(std::clamp(decimals, -kMaxDecimals, kMaxDecimals) + kMaxDecimals)];
}

double loss_of(double value) {
  const auto narrow = static_cast<float>(value);
  if (std::isinf(narrow)) return std::numeric_limits<double>::infinity();
  return std::fabs(value - static_cast<double>(narrow));
}

// 0 for zero; else by sign and exponent.
int key_of(double value) {
  const auto exponent = static_cast<int>((std::bit_cast<uint64_t>(value) >> 52) & 0x7ff) + 1;
  if (value == 0) return 0;
  return value < 0 ? -exponent : exponent;
}

// Distance between the floats around a value that lies in float32's range.
double float_step(double value) {
  const float low = std::fabs(static_cast<float>(value));
  return static_cast<double>(std::nextafter(low, std::numeric_limits<float>::infinity())) - static_cast<double>(low);
}

// Returns true if the value equals the shortest text of its float32.
bool is_shortest_text(double value) {
  std::array<char, 48> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value)).ptr;
  double back = 0;
  (void)fast_float::from_chars(text.data(), end, back);
  return back == value;
}

}  // namespace

int decimals_of(std::string_view number) {
  int64_t decimals = 0;
  bool behind_point = false;
  for (size_t i = 0; i < number.size(); ++i) {
    const char c = number[i];
    if (c == '.') {
      behind_point = true;
    } else if (c == 'e' || c == 'E') {
      int exponent = 0;
      const size_t first = i + 1 + (i + 1 < number.size() && number[i + 1] == '+' ? 1 : 0);
      (void)std::from_chars(number.data() + first, number.data() + number.size(), exponent);
      decimals -= exponent;
      break;
    } else if (behind_point) {
      ++decimals;
    }
  }
  return static_cast<int>(std::clamp<int64_t>(decimals, -kMaxDecimals, kMaxDecimals));
}

// Let the numbers between two powers of two be multiples of 10^-p, where p is their max of digits behind the point. A
// number with p digits has v < 10^6 * 10^-p. So no number there loses more than v * 2^-24 < 0.06 * 10^-p.
bool is_short_number(std::string_view number, double value) {
  const double magnitude = std::fabs(value);
  const bool in_range = magnitude == 0 || (magnitude >= 0x1p-126 && magnitude <= 0x1.fffffep127);
  constexpr size_t kShort = 6;
  if (!in_range) return !std::isfinite(value);
  if (number.size() <= kShort) return true;
  size_t digits = 0;
  for (const char c : number) {
    if (c == 'e' || c == 'E') break;
    digits += (c >= '1' && c <= '9') || (c == '0' && digits > 0) ? 1 : 0;
  }
  return digits <= kShort;
}

void Float32Check::Binade::add(double value, int its_decimals, double its_loss) {
  low = std::min(low, value);
  high = std::max(high, value);
  decimals = std::max(decimals, its_decimals);
  loss = std::max(loss, its_loss);
}

// Returns true if different values here come too near to each other. One value alone is looked at from its neighbours.
bool Float32Check::Binade::loses_in_step() const {
  return loss > 0 && low < high && loss * kParts > step_of(decimals);
}

Float32Check::Binade& Float32Check::binade_of(Column& column, double value) {
  const int key = key_of(value);
  auto& binades = column.binades;
  uint8_t& place = column.places[static_cast<size_t>(key) % column.places.size()];
  if (place < binades.size() && binades[place].key == key) return binades[place];
  const auto at = std::lower_bound(binades.begin(), binades.end(), key,
                                   [](const Binade& binade, int wanted) { return binade.key < wanted; });
  place = static_cast<uint8_t>(std::min<std::ptrdiff_t>(at - binades.begin(), UINT8_MAX));
  if (at != binades.end() && at->key == key) return *at;
  Binade fresh;
  fresh.key = key;
  fresh.low = fresh.high = value;
  return *binades.insert(at, fresh);
}

void Float32Check::add(Column& column, double value, int decimals, double loss) {
  Binade& binade = binade_of(column, value);
  binade.add(value, decimals, loss);
  if (loss == 0) return;
  const bool never = std::isinf(loss) || (!column.float32_text && binade.loses_in_step());
  column.surely_wide |= never;
  surely_wide_ |= never;
}

void Float32Check::add(size_t column, double value, int decimals) {
  Column& mine = columns_[column];
  if (mine.surely_wide || !std::isfinite(value)) return;
  const double loss = loss_of(value);
  if (loss > 0) mine.float32_text = false;
  add(mine, value, decimals, loss);
}

void Float32Check::add_witness(Column& column, double value) {
  auto& list = column.witnesses;
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at != list.end() && *at == value) return;
  if (list.size() == kWitnesses && at == list.end()) return;
  list.insert(at, value);
  if (list.size() > kWitnesses) list.pop_back();
}

void Float32Check::note_float32_text(Column& column, double value, std::string_view text) {
  // Integers are what they are: programs write float32 numbers with a point or an exponent.
  column.float32_text = text.find_first_of(".eE") != std::string_view::npos && is_shortest_text(value);
  if (column.float32_text && float_step(value) >= kLongByChance * step_of(decimals_of(text)))
    add_witness(column, value);
}

void Float32Check::add_new_text(Column& mine, double value, std::string_view text) {
  mine.last_size = text.size() <= mine.last_text.size() ? text.size() : SIZE_MAX;
  if (mine.last_size == text.size()) std::memcpy(mine.last_text.data(), text.data(), text.size());
  if (!std::isfinite(value)) return;
  const double loss = loss_of(value);
  const int decimals = decimals_of(text);
  // Numbers of six digits are always the shortest text of their float32.
  const bool is_long = loss > 0 && std::fabs(value) >= kSixDigits * step_of(decimals);
  if (is_long && mine.float32_text && !std::isinf(loss)) note_float32_text(mine, value, text);
  add(mine, value, decimals, loss);
}

void Float32Check::merge(const Float32Check& other) {
  for (size_t j = 0; j < columns_.size(); ++j) {
    Column& mine = columns_[j];
    const Column& its = other.columns_[j];
    for (const Binade& from : its.binades) {
      Binade& to = binade_of(mine, from.low);
      to.add(from.low, from.decimals, from.loss);
      to.add(from.high, from.decimals, from.loss);
    }
    mine.float32_text &= its.float32_text;
    for (const double witness : its.witnesses) add_witness(mine, witness);
    mine.surely_wide |= its.surely_wide;
    surely_wide_ |= its.surely_wide;
  }
}

bool Float32Check::is_float32_text(const Column& column) {
  return column.float32_text && column.witnesses.size() == kWitnesses;
}

bool Float32Check::surely_wide(size_t column) const {
  return columns_[column].surely_wide;
}

bool Float32Check::wide(size_t column) const {
  const Column& mine = columns_[column];
  if (mine.surely_wide) return true;
  if (is_float32_text(mine)) return false;
  for (size_t i = 0; i < mine.binades.size(); ++i) {
    const Binade& here = mine.binades[i];
    if (here.loses_in_step()) return true;
    if (i == 0) continue;
    const Binade& below = mine.binades[i - 1];
    const double loss = std::max(here.loss, below.loss);
    if (loss > 0 && loss * kParts > here.low - below.high) return true;
  }
  return false;
}

bool Float32Check::wide() const {
  for (size_t j = 0; j < columns_.size(); ++j) {
    if (wide(j)) return true;
  }
  return false;
}

}  // namespace manymeans
