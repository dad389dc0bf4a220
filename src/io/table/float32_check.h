// Checks that float32 keeps different numbers apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace manymeans {

/// Digits behind the decimal point of a number in text, its exponent taken into account: 2 for "1.50", -2 for "3e2".
int decimals_of(std::string_view number);

/// Returns true for a number of at most six digits in the range of float32. A column of such numbers keeps in float32
/// what tells them apart, whatever else is in it; so most files are decided without a Float32Check.
bool is_short_number(std::string_view number, double value);

/// The findings of one reading of columns, in any order and by any number of threads. docs/user/files.md, "Types", has
/// the rule. An object has the columns of one thread; merge() adds another one.
class Float32Check {
 public:
  explicit Float32Check(size_t columns) : columns_(columns) {}

  /// Adds a value with `decimals` written digits behind the point: it is a multiple of 10^-decimals.
  void add(size_t column, double value, int decimals);
  /// Adds a number in text, which may be what a program writes for a float32.
  void add_text(size_t column, double value, std::string_view text) {
    Column& mine = columns_[column];
    // Tables repeat themselves, and the same number again changes nothing.
    const bool again =
        mine.last_size == text.size() && std::memcmp(mine.last_text.data(), text.data(), text.size()) == 0;
    if (!again && !mine.surely_wide) add_new_text(mine, value, text);
  }
  void merge(const Float32Check& other);

  /// Returns true if the values so far prove that the column needs float64, whatever else is in it.
  bool surely_wide(size_t column) const;
  /// Returns true if any column is surely wide; cheap, for calls after every row.
  bool surely_wide() const { return surely_wide_; }
  /// Returns true if the column needs float64, once all of its values are there.
  bool wide(size_t column) const;
  bool wide() const;

 private:
  // Values of one sign between two powers of two.
  struct Binade {
    int key = 0;  // ordered as the values are
    int decimals = std::numeric_limits<int>::min();
    double low = 0, high = 0;
    double loss = 0;  // largest |v - float32(v)|

    void add(double value, int its_decimals, double its_loss);
    bool loses_in_step() const;
  };
  // By chance, one in 4^8 columns has this many different long numbers that are all written as float32 numbers are.
  static constexpr size_t kWitnesses = 8;
  struct Column {
    std::vector<Binade> binades;       // by rising key
    std::array<uint8_t, 16> places{};  // where the binade of a key was, by the key's low bits; it may have moved
    std::array<char, 16> last_text{};
    size_t last_size = SIZE_MAX;    // of that text; more than it can hold: none
    bool float32_text = true;       // each value that float32 changes is the shortest text of its float32
    std::vector<double> witnesses;  // the lowest different ones of more digits than float32 can tell apart
    bool surely_wide = false;
  };

  static Binade& binade_of(Column& column, double value);
  static void add_witness(Column& column, double value);
  static void note_float32_text(Column& column, double value, std::string_view text);
  static bool is_float32_text(const Column& column);
  void add(Column& column, double value, int decimals, double loss);
  void add_new_text(Column& column, double value, std::string_view text);

  std::vector<Column> columns_;
  bool surely_wide_ = false;
};

}  // namespace manymeans
