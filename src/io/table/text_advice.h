// Texts where numbers are needed: what they look like, and what makes numbers of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace manymeans {

/// Returns true for a number with a decimal comma.
bool is_number_with_comma(std::string_view text);
/// Returns true for possible thousands: one to three digits, not 0 first, a comma, three digits.
bool is_like_thousands(std::string_view text);
/// Returns true for text that is a number but for how it is written: <0.1, 5 %, 1_000, 1D+03, (5), U+2212 for a minus.
/// A decimal comma is none of these.
bool is_almost_number(std::string_view text);
/// Returns true for what a last row of sums or means says: Total, Sum, Average, Mean, Grand total.
bool is_total(std::string_view text);
/// Returns true for index:value, as in libsvm files.
bool is_libsvm(std::string_view text);

/// Advice for a line with a carriage return in it.
constexpr const char* kConvertLineEnds = "lines end in LF or CR LF; convert them: tr -s '\\r' '\\n' < OLD > NEW";
/// Advice for a libsvm file.
constexpr const char* kConvertLibsvm =
    "index:value, as of libsvm, is not read; sklearn.datasets.load_svmlight_file reads such a file, and "
    "scipy.sparse.save_npz writes it as one that is read";

/// What `--decimal ,` would do for such numbers, and what not.
std::string comma_advice(const std::string& number, bool maybe_thousands);

/// A text in a column of numbers.
struct OddText {
  std::string text;                ///< as shown() has it
  std::string column;              ///< the name of its column; empty: it has none
  int64_t row = 0;                 ///< from 1
  int64_t numbers = 0, texts = 0;  ///< in its column, as far as it was looked at
  char decimal = '.';
  bool maybe_thousands = true;  ///< no number of the file says that a comma is no sign between thousands
};

/// Advice that makes this text a number, or does without it; empty where the text may be a category.
std::string advice_about(const OddText& odd);

}  // namespace manymeans
