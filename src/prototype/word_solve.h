// The solve of linear models in integers of a fixed number of words, by a team of threads: one of the host, or a block
// of a device. It is the fast form of solve_linear(), with the same bits (contract, "Linear models"). Sums and their
// products have a few words each, so nothing is allocated and no length is looked for. Where a number does not fit, the
// answer is "no", and the caller asks solve_linear(): values or coefficients are hundreds of binary digits apart then.
#pragma once

#include "core/everywhere.h"
#include "core/fixed_point.h"
#include "core/word_integers.h"
#include "data/linear_options.h"
#include "prototype/value_pair.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace manymeans {

/// More columns are left to solve_linear().
constexpr int kMaxColumns = 2000;

/// The task that all clusters of a fit have in common.
struct WordSolveTask {
  int d = 0;                           ///< columns of a row: features and the target
  const SumFormat* formats = nullptr;  ///< per term; all have the limbs and bits of the first
  int weight_shift = 0;
  LinearOptions linear;
};

/// One cluster that weighs something.
struct WordSolveSums {
  const int64_t* limbs;  ///< limb g of term t at limbs[g * terms + t]
  int64_t weight;
};

/// Where a team keeps its numbers: A words a sum, M words a product of two sums.
template <int A, int M>
struct WordSolveSpace {
  static constexpr int kSumWords = A;
  static constexpr int kProductWords = M;
  static constexpr int kResidualWords = M + 4;
  static_assert(2 * A <= M);

  Magnitude<A>* firsts;    // d: sums of the columns
  Magnitude<M>* products;  // pairs of columns: centred, times the weight squared
  double* factor;          // (d - 1) x (d - 1): L below the diagonal and on it
  double* diagonal;        // d - 1: of the scaled matrix
  double* solution;        // d - 1: right-hand sides, and what is solved from them
  double* b;               // d - 1
  int32_t* scales;         // d
  int32_t* kept;           // d - 1
  int32_t* state;          // WordSolveState

  MANYMEANS_EVERYWHERE static size_t bytes(int d) { return WordSolveSpace().lay_out(nullptr, d); }
  /// `memory` begins at a multiple of 8 bytes.
  MANYMEANS_EVERYWHERE size_t lay_out(std::byte* memory, int d) {
    size_t used = 0;
    hold(firsts, d, memory, used);
    hold(products, d * (d + 1) / 2, memory, used);
    hold(factor, (d - 1) * (d - 1), memory, used);
    hold(diagonal, d - 1, memory, used);
    hold(solution, d - 1, memory, used);
    hold(b, d - 1, memory, used);
    hold(scales, d, memory, used);
    hold(kept, d - 1, memory, used);
    hold(state, 1, memory, used);
    return (used + 7) / 8 * 8;
  }

 private:
  template <class T>
  MANYMEANS_EVERYWHERE static void hold(T*& at, int count, std::byte* memory, size_t& used) {
    if (memory != nullptr) at = reinterpret_cast<T*>(memory + used);
    used += static_cast<size_t>(count) * sizeof(T);
  }
};

enum WordSolveState : int32_t {
  kSolving = 0,
  kSolved,
  kTooLarge,    ///< a coefficient is: all are left out
  kDoesNotFit,  ///< a number needs more words
};

/// A team of one.
struct LoneThread {
  static constexpr int kRank = 0;
  static constexpr int kSize = 1;
  int rank() const { return kRank; }
  int size() const { return kSize; }
  void sync() const {}
};

/// One solve by a team. Every member calls solve().
template <class Space, class Team>
class WordSolve {
 public:
  MANYMEANS_EVERYWHERE WordSolve(const Team& team, const WordSolveTask& task, const WordSolveSums& sums,
                                 const Space& space)
      : team_(team), task_(task), sums_(sums), s_(space), d_(task.d), features_(task.d - 1) {}

  /// d values: coefficients and the intercept. False where something did not fit.
  MANYMEANS_EVERYWHERE bool solve(double* model) {
    if (d_ > kMaxColumns) return false;
    if (team_.rank() == 0) *s_.state = kSolving;
    team_.sync();
    sum_columns();
    if (!fits_so_far()) return false;
    centre_products();
    if (!fits_so_far()) return false;
    scale_matrix();
    team_.sync();
    factorise();
    refine();
    if (team_.rank() == 0) write(model);
    team_.sync();
    return *s_.state != kDoesNotFit;
  }

 private:
  static constexpr int kSumWords = Space::kSumWords;
  static constexpr int kProductWords = Space::kProductWords;
  static constexpr int kResidualWords = Space::kResidualWords;
  using Sum = Magnitude<kSumWords>;
  using Product = Magnitude<kProductWords>;
  using Residual = Magnitude<kResidualWords>;

  // Several members may say so at a time.
  MANYMEANS_EVERYWHERE void refuse() {
#ifdef __CUDA_ARCH__
    atomicExch(s_.state, kDoesNotFit);
#else
    __atomic_store_n(s_.state, kDoesNotFit, __ATOMIC_RELAXED);
#endif
  }
  // Returns the state after all members' changes. No member changes it again before all know it.
  MANYMEANS_EVERYWHERE bool fits_so_far() const {
    team_.sync();
    const bool fits = *s_.state != kDoesNotFit;
    team_.sync();
    return fits;
  }
  MANYMEANS_EVERYWHERE Product& product(int i, int j) const {
    return i <= j ? s_.products[i * (2 * d_ - 1 - i) / 2 + j] : s_.products[j * (2 * d_ - 1 - j) / 2 + i];
  }
  MANYMEANS_EVERYWHERE double& factor(int row, int column) const { return s_.factor[row * features_ + column]; }
  MANYMEANS_EVERYWHERE bool is_constant(int i) const { return product(i, i).is_zero() || product(i, i).negative; }

  // The bits that an addend of a sum of `words` words may have. There are twelve addends at most, the limbs of two
  // terms, which stay below 2^(64 words - 1).
  static_assert(2 * kMaxLimbs <= 16);
  MANYMEANS_EVERYWHERE static constexpr int bits_of_addend(int words) { return 64 * words - 5; }

  // The limbs of a term, times 2^shift.
  MANYMEANS_EVERYWHERE bool add_limbs(int64_t term, int shift, WordSum<kSumWords>& total) const {
    const int64_t terms = 2 * ValuePair::count(d_);
    const SumFormat& format = task_.formats[term];
    for (int g = 0; g < format.limbs; ++g) {
      const int64_t limb = sums_.limbs[g * terms + term];
      if (limb == 0) continue;
      const uint64_t magnitude = limb < 0 ? 0 - static_cast<uint64_t>(limb) : static_cast<uint64_t>(limb);
      const int place = g * format.bits + shift;
      if (place + bits_of(magnitude) > bits_of_addend(kSumWords)) return false;
      total.add_product(&magnitude, 1, 1, place, limb < 0);
    }
    return true;
  }
  MANYMEANS_EVERYWHERE bool is_empty(int64_t term) const {
    const int64_t terms = 2 * ValuePair::count(d_);
    for (int g = 0; g < task_.formats[term].limbs; ++g) {
      if (sums_.limbs[g * terms + term] != 0) return false;
    }
    return true;
  }
  // The exact sum of the products of a pair.
  MANYMEANS_EVERYWHERE bool sum_of(int i, int j, Sum& sum) const {
    const int64_t term = 2 * ValuePair::number(i, j, d_);
    const bool rests = !is_empty(term + 1);
    const int shift = task_.formats[term].shift;
    const int other = task_.formats[term + 1].shift;
    const int finest = rests && other > shift ? other : shift;
    WordSum<kSumWords> total;
    bool fits = add_limbs(term, finest - shift, total);
    if (rests) fits = fits && add_limbs(term + 1, finest - other, total);
    sum.take(total, -finest);
    return fits;
  }

  MANYMEANS_EVERYWHERE void sum_columns() {
    for (int i = team_.rank(); i < d_; i += team_.size()) {
      if (!sum_of(i, d_, s_.firsts[i])) refuse();
    }
  }

  // += a * b * 2^shift, or -= it.
  template <int B>
  MANYMEANS_EVERYWHERE static bool add_product(WordSum<kProductWords>& total, const Sum& a, const Magnitude<B>& b,
                                               int shift, bool negative) {
    if (a.is_zero() || b.is_zero()) return true;
    if (shift + a.length + b.length > bits_of_addend(kProductWords)) return false;
    for (int w = 0; w < b.words(); ++w) total.add_product(a.word, a.words(), b.word[w], shift + 64 * w, negative);
    return true;
  }
  MANYMEANS_EVERYWHERE Magnitude<1> weight() const {
    const auto value = static_cast<uint64_t>(sums_.weight);
    return {{value}, -task_.weight_shift, static_cast<int16_t>(bits_of(value)), false};
  }

  // W A_ij - s_i s_j; without an intercept A_ij itself.
  MANYMEANS_EVERYWHERE bool centred(int i, int j, Product& out) const {
    Sum sum;
    if (!sum_of(i, j, sum)) return false;
    WordSum<kProductWords> total;
    if (!task_.linear.intercept) {
      total.add_product(sum.word, sum.words(), 1, 0, sum.negative);
      out.take(total, sum.exponent);
      return true;
    }
    const Sum& a = s_.firsts[i];
    const Sum& b = s_.firsts[j];
    const Magnitude<1> w = weight();
    const int plain = sum.exponent + w.exponent;
    const int mixed = a.exponent + b.exponent;
    // A product that is 0 decides nothing.
    const bool no_mixed = a.is_zero() || b.is_zero();
    const int exponent = no_mixed ? plain : sum.is_zero() ? mixed : plain < mixed ? plain : mixed;
    const bool fits = add_product(total, sum, w, plain - exponent, sum.negative) &&
                      add_product(total, a, b, mixed - exponent, a.negative == b.negative);
    out.take(total, exponent);
    return fits;
  }
  // Times the exact 1 + ridge.
  MANYMEANS_EVERYWHERE bool grown(Product& value) const {
    const DoubleParts ridge(task_.linear.ridge);
    if (ridge.mantissa == 0) return true;
    const int low = ridge.exponent < 0 ? ridge.exponent : 0;
    WordSum<kResidualWords> total;
    const int most = bits_of_addend(kProductWords);
    if (value.length - low > most || value.length + 53 + ridge.exponent - low > most) return false;
    total.add_product(value.word, value.words(), 1, -low, value.negative);
    total.add_product(value.word, value.words(), ridge.mantissa, ridge.exponent - low, value.negative);
    value.take(total, value.exponent + low);
    return true;
  }

  MANYMEANS_EVERYWHERE void centre_products() {
    ValuePair pair;
    pair.advance(team_.rank(), d_ - 1);
    for (int p = team_.rank(); p < d_ * (d_ + 1) / 2; p += team_.size()) {
      Product& value = s_.products[p];
      bool fits = centred(pair.i, pair.j, value);
      if (pair.i == pair.j && pair.i < features_ && task_.linear.ridge > 0) fits = fits && grown(value);
      if (!fits) refuse();
      if (pair.i == pair.j) s_.scales[pair.i] = -(value.top() >> 1);
      pair.advance(team_.size(), d_ - 1);
    }
  }

  MANYMEANS_EVERYWHERE void scale_matrix() {
    ValuePair pair;
    pair.advance(team_.rank(), d_ - 1);
    for (int p = team_.rank(); p < d_ * (d_ + 1) / 2; p += team_.size()) {
      if (pair.j < features_) {
        const double value = s_.products[p].rounded(s_.scales[pair.i] + s_.scales[pair.j]);
        factor(pair.j, pair.i) = value;
        if (pair.i == pair.j) s_.diagonal[pair.i] = value;
      }
      pair.advance(team_.size(), d_ - 1);
    }
  }

  // Column by column; every element gets its subtractions by ascending columns.
  MANYMEANS_EVERYWHERE void factorise() {
    for (int c = 0; c < features_; ++c) {
      const double pivot = factor(c, c);
      const bool keeps = !is_constant(c) && pivot > kMinPivot * s_.diagonal[c];
      team_.sync();  // all have read the pivot
      if (team_.rank() == 0) s_.kept[c] = keeps ? 1 : 0;
      if (!keeps) {
        leave_out(c);
        continue;
      }
      const double root = std::sqrt(pivot);
      for (int j = c + team_.rank(); j < features_; j += team_.size()) {
        factor(j, c) = j == c ? root : factor(j, c) / root;
      }
      team_.sync();
      subtract_column(c);
      team_.sync();
    }
    team_.sync();
  }
  // A column of its own that nothing else depends on; its right-hand side is 0.
  MANYMEANS_EVERYWHERE void leave_out(int c) {
    for (int i = team_.rank(); i < features_; i += team_.size()) {
      (i < c ? factor(c, i) : factor(i, c)) = i == c ? 1 : 0;
      if (i == c) s_.solution[c] = 0;
    }
    team_.sync();
  }
  MANYMEANS_EVERYWHERE void subtract_column(int c) {
    const int left = features_ - c - 1;
    for (int e = team_.rank(); e < left * left; e += team_.size()) {
      const int j = c + 1 + e / left;
      const int i = c + 1 + e % left;
      if (i <= j) factor(j, i) = std::fma(-factor(j, c), factor(i, c), factor(j, i));
    }
  }

  // m_i - sum_j M_ij b_j, rounded.
  MANYMEANS_EVERYWHERE bool residual(int i, double& out) const {
    Rest<Product, Residual> rest;
    rest.take(product(i, features_), 1);
    for (int j = 0; j < features_; ++j) rest.take(product(i, j), s_.b[j]);
    Residual sum;
    if (!rest.begin()) return false;
    rest.add(product(i, features_), 1);
    for (int j = 0; j < features_; ++j) rest.add(product(i, j), -s_.b[j]);
    rest.end(sum);
    out = sum.rounded(s_.scales[i] + s_.scales[features_]);
    return true;
  }

  // L L^T x = x. Columns that are left out have zeros, whose products change nothing but the sign of a zero, and b
  // begins with +0.
  MANYMEANS_EVERYWHERE void solve_triangles() {
    double* x = s_.solution;
    for (int i = 0; i < features_; ++i) {
      const double value = x[i] / factor(i, i);
      for (int j = i + 1 + team_.rank(); j < features_; j += team_.size()) x[j] = std::fma(-factor(j, i), value, x[j]);
      team_.sync();
      if (team_.rank() == 0) x[i] = value;
    }
    if (team_.rank() != 0) return;
    // The other way each element begins with the one that was solved last, so there is nothing to share.
    for (int i = features_; i-- > 0;) {
      double value = x[i];
#pragma unroll(4)
      for (int p = i + 1; p < features_; ++p) value = std::fma(-factor(p, i), x[p], value);
      x[i] = value / factor(i, i);
    }
  }
  MANYMEANS_EVERYWHERE void correct() {
    solve_triangles();
    if (team_.rank() != 0) return;
    bool changed = false;
    bool large = false;
    for (int j = 0; j < features_; ++j) {
      const double before = s_.b[j];
      s_.b[j] = before + std::ldexp(s_.solution[j], s_.scales[j] - s_.scales[features_]);
      changed = changed || s_.b[j] != before;
      large = large || !(std::fabs(s_.b[j]) <= task_.linear.largest);
    }
    if (large) *s_.state = kTooLarge;
    if (!large && !changed) *s_.state = kSolved;
  }
  MANYMEANS_EVERYWHERE void refine() {
    for (int j = team_.rank(); j < features_; j += team_.size()) s_.b[j] = 0;
    team_.sync();
    if (is_constant(features_)) return;
    for (int step = 0; step <= kMaxRefinements; ++step) {
      for (int i = team_.rank(); i < features_; i += team_.size()) {
        if (s_.kept[i] != 0 && !residual(i, s_.solution[i])) refuse();
      }
      if (!fits_so_far()) return;
      correct();
      team_.sync();
      const bool more = *s_.state == kSolving;
      team_.sync();  // all have read it
      if (!more) return;
    }
  }

  // The mean of what the coefficients leave of the target.
  MANYMEANS_EVERYWHERE bool intercept(double& out) const {
    Rest<Sum, Residual> rest;
    rest.take(s_.firsts[features_], 1);
    for (int j = 0; j < features_; ++j) rest.take(s_.firsts[j], s_.b[j]);
    Residual sum;
    if (!rest.begin()) return false;
    rest.add(s_.firsts[features_], 1);
    for (int j = 0; j < features_; ++j) rest.add(s_.firsts[j], -s_.b[j]);
    rest.end(sum);
    const Magnitude<1> w = weight();
    out = std::ldexp(sum.rounded(-sum.top()) / w.rounded(-w.top()), sum.top() - w.top());
    return true;
  }
  MANYMEANS_EVERYWHERE void write(double* model) {
    if (*s_.state == kDoesNotFit) return;
    bool fits = true;
    double constant = 0;
    if (*s_.state != kTooLarge && task_.linear.intercept) {
      fits = intercept(constant);
      if (!(std::fabs(constant) <= task_.linear.largest)) *s_.state = kTooLarge;
    }
    if (*s_.state == kTooLarge) {
      for (int j = 0; j < features_; ++j) s_.b[j] = 0;
      constant = 0;
      if (task_.linear.intercept) fits = fits && intercept(constant);
    }
    if (!fits) return refuse();
    for (int j = 0; j < features_; ++j) model[j] = s_.b[j];
    model[features_] = constant;
  }

  // An exact sum of numbers times binary64 numbers: first all are taken, for what it spans, then added.
  template <class Number, class Total>
  class Rest {
   public:
    MANYMEANS_EVERYWHERE void take(const Number& number, double factor) {
      const DoubleParts parts(factor);
      if (number.is_zero() || parts.mantissa == 0) return;
      const int low = number.exponent + parts.exponent;
      const int high = low + number.length + 53;
      lowest_ = low < lowest_ ? low : lowest_;
      highest_ = high > highest_ ? high : highest_;
    }
    MANYMEANS_EVERYWHERE bool begin() {
      if (lowest_ > highest_) lowest_ = highest_ = 0;
      return highest_ - lowest_ + kBitsOfCount + 1 <= 64 * kResidualWords;  // one bit for the sign
    }
    MANYMEANS_EVERYWHERE void add(const Number& number, double factor) {
      const DoubleParts parts(factor);
      if (number.is_zero() || parts.mantissa == 0) return;
      const int shift = number.exponent + parts.exponent - lowest_;
      sum_.add_product(number.word, number.words(), parts.mantissa, shift, number.negative != parts.negative);
    }
    MANYMEANS_EVERYWHERE void end(Total& total) { total.take(sum_, lowest_); }

   private:
    static constexpr int kBitsOfCount = 11;  // of how many numbers there are: kMaxColumns at most
    static_assert(kMaxColumns < 1 << kBitsOfCount);
    WordSum<kResidualWords> sum_;
    int lowest_ = 1 << 20;
    int highest_ = -(1 << 20);
  };

  const Team& team_;
  const WordSolveTask& task_;
  const WordSolveSums& sums_;
  const Space& s_;
  int d_;
  int features_;
};

}  // namespace manymeans
