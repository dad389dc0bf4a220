// Whether numbers keep in float32 what tells them apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace manymeans {

/// Digits behind the decimal point of a number in text, its exponent taken into account: 2 for "1.50", -2 for "3e2".
int decimals_of(std::string_view number);

/// What one reading of a column finds out, in any order and by any number of threads. docs/files.md, "Types", has the
/// rule. The columns of one thread; merge() adds those of another.
class Float32Check {
 public:
  explicit Float32Check(size_t columns) : columns_(columns) {}

  /// A value of which `decimals` digits behind the point are written down: it is a multiple of 10^-decimals.
  void add(size_t column, double value, int decimals);
  /// The same for a number in text, which may be what a program writes for a float32.
  void add_text(size_t column, double value, std::string_view text);
  void merge(const Float32Check& other);

  /// Whether what was seen so far proves that the column needs float64, whatever else is in it.
  bool surely_wide(size_t column) const;
  /// Whether any column is surely wide; cheap, for asking after every row.
  bool surely_wide() const { return surely_wide_; }
  /// Whether the column needs float64, once all of its values are there.
  bool wide(size_t column) const;
  bool wide() const;

 private:
  // Values of one sign between two powers of two.
  struct Binade {
    int key = 0;  // the same order as that of the values
    int decimals = std::numeric_limits<int>::min();
    double low = 0, high = 0;
    double loss = 0;  // largest |v - float32(v)|

    void add(double value, int its_decimals, double its_loss);
    bool loses_in_step() const;
  };
  // So many different long numbers that are all written as float32 numbers are: by chance one in 4^8 columns has them.
  static constexpr size_t kWitnesses = 8;
  struct Column {
    std::vector<Binade> binades;  // by rising key
    size_t last = 0;              // the one that was looked up last
    bool float32_text = true;     // each value that float32 changes is the shortest text of its float32
    std::vector<double> witnesses;  // the lowest different ones of more digits than float32 can tell apart
    bool surely_wide = false;
  };

  static Binade& binade_of(Column& column, double value);
  static void add_witness(Column& column, double value);
  static void note_float32_text(Column& column, double value, std::string_view text);
  static bool is_float32_text(const Column& column);
  void add(Column& column, double value, int decimals, double loss);

  std::vector<Column> columns_;
  bool surely_wide_ = false;
};

}  // namespace manymeans
