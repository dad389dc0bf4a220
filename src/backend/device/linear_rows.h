// The kernels' computations for a row and linear models: contract, "Linear models". Written for host and device, so
// that the simulated device of tests/backend/device computes what a device does. The oracle's own is
// prototype/linear_model.h.
//
// Residuals: a row is compared with four models at a time. They are interleaved value by value (a group), so that the
// row's values are read once for four. Sums: a thread adds up one pair of values over the rows of one cluster.
#pragma once

#include "backend/two_nearest.h"
#include "core/everywhere.h"
#include "prototype/value_pair.h"

#include <cmath>
#include <cstdint>

namespace manymeans::device {

constexpr int kGroupModels = 4;
constexpr double kMaxResidual = 0x1p1000;  ///< squared residuals that are no smaller count as this

constexpr int kLanes = 8;
constexpr int kPaddedFeatures = 16;  ///< what 9 to 16 features are made, by coefficients and values of 0

/// How many coefficients a model has among groups. A product of zeros is +0, which changes no lane but one of -0, and
/// see sum_of_lanes().
MANYMEANS_EVERYWHERE inline int features_in_groups(int features) {
  return features > kLanes && features < kPaddedFeatures ? kPaddedFeatures : features;
}

/// The place of value j of a model among groups; `values`: its coefficients there, and the intercept behind them.
MANYMEANS_EVERYWHERE inline int64_t place_in_groups(int64_t model, int64_t j, int64_t values) {
  return (model / kGroupModels * values + j) * kGroupModels + model % kGroupModels;
}

/// The sum of eight lanes; only the first F are not empty. An empty lane is +0, which changes no sum but -0, and that
/// not for long: an intercept is added, which is never -0.
template <int F>
MANYMEANS_EVERYWHERE double sum_of_lanes(const double* p) {
  static_assert(F >= 1 && F <= 8);
  const double first = F > 4 ? p[0] + p[4] : p[0];
  const double even = F > 6 ? first + (p[2] + p[6]) : F > 2 ? first + p[2] : first;
  if constexpr (F == 1) return even;
  const double second = F > 5 ? p[1] + p[5] : p[1];
  const double odd = F > 7 ? second + (p[3] + p[7]) : F > 3 ? second + p[3] : second;
  return even + odd;
}

/// The predictions of a group's models for the target of a row of `features`. x(j) is feature j. F: the number of
/// features up to 8, each with a lane of its own, or kPaddedFeatures; 0: any number. `models` begins at a multiple of
/// 16 bytes.
template <int F, class Row>
MANYMEANS_EVERYWHERE void predict_group(const Row& x, int features, const double* models,
                                        double (&said)[kGroupModels]) {
  const auto* group = static_cast<const double*>(__builtin_assume_aligned(models, 16));
  constexpr int kUsed = F > 0 && F < kLanes ? F : kLanes;
  double p[kGroupModels][kUsed] = {};
  const int end = F > 0 ? F : features;
#pragma unroll(F > 0 ? 2 : 1)
  for (int first = 0; first < end; first += kUsed) {
#pragma unroll
    for (int l = 0; l < kUsed; ++l) {
      if (first + l >= end) continue;
      const double value = x(first + l);
#pragma unroll
      for (int m = 0; m < kGroupModels; ++m) p[m][l] = std::fma(group[(first + l) * kGroupModels + m], value, p[m][l]);
    }
  }
#pragma unroll
  for (int m = 0; m < kGroupModels; ++m) said[m] = sum_of_lanes<kUsed>(p[m]) + group[end * kGroupModels + m];
}

/// Calls body<F>() with the F of predict_group() for `features` features.
template <class Body>
void dispatch_features(int64_t features, const Body& body) {
  switch (features) {
    case 1: return body.template operator()<1>();
    case 2: return body.template operator()<2>();
    case 3: return body.template operator()<3>();
    case 4: return body.template operator()<4>();
    case 5: return body.template operator()<5>();
    case 6: return body.template operator()<6>();
    case 7: return body.template operator()<7>();
    case 8: return body.template operator()<8>();
    default: break;
  }
  if (features_in_groups(static_cast<int>(features)) == kPaddedFeatures) {
    body.template operator()<kPaddedFeatures>();
  } else {
    body.template operator()<0>();
  }
}

/// The model of the least squared residual so far, the lowest of equals.
struct NearestModel {
  double squared = kMaxResidual;
  uint32_t model = 0;

  MANYMEANS_EVERYWHERE void take(double other, uint32_t number) {
    if (!(other < squared)) return;
    squared = other;
    model = number;
  }
};

/// The nearest of two models or more, and the least squared residual of the others.
struct TwoNearestModels {
  TwoNearest found{kMaxResidual, kMaxResidual, 0};

  MANYMEANS_EVERYWHERE void take(double other, uint32_t number) {
    if (other < found.d2) {
      found = {other, found.d2, number};
    } else if (other < found.second) {
      found.second = other;
    }
  }
};

/// Of a row with target y the models of a group, from number `first` on; those at `end` and beyond are none.
template <class Best>
MANYMEANS_EVERYWHERE void take_group(double y, const double (&said)[kGroupModels], uint32_t first, uint32_t end,
                                     Best& best) {
#pragma unroll
  for (int m = 0; m < kGroupModels; ++m) {
    const double residual = y - said[m];
    if (first + m < end) best.take(residual * residual, first + m);
  }
}

/// The squared residual of a row and a model: x(j) and model(j) are their values, x(features) is the target.
template <class Row, class Model>
MANYMEANS_EVERYWHERE double squared_residual(const Row& x, const Model& model, int features) {
  double p[8] = {};
  for (int first = 0; first < features; first += 8) {
#pragma unroll
    for (int l = 0; l < 8; ++l) {
      if (first + l < features) p[l] = std::fma(model(first + l), x(first + l), p[l]);
    }
  }
  const double residual = x(features) - (sum_of_lanes<8>(p) + model(features));
  const double squared = residual * residual;
  return squared < kMaxResidual ? squared : kMaxResidual;
}

/// How the two terms of every pair become limbs (core/fixed_point.h).
struct ProductFormats {
  int limbs = 1;
  double radix = 1;                    ///< 2^bits
  const double* tops = nullptr;        ///< 2^exponent of every term, if all are normal numbers; else null
  const int32_t* exponents = nullptr;  ///< shift - (limbs - 1) * bits of every term

  MANYMEANS_EVERYWHERE double scaled(double v, int64_t term) const {
    return tops != nullptr ? v * tops[term] : std::ldexp(v, exponents[term]);
  }
};

/// A sum of terms in at most kMax limbs (kAll: exactly kMax), the highest first: limb[s] is number limbs - 1 - s.
template <int kMax, bool kAll = false>
struct LimbSum {
  int64_t limb[kMax] = {};
  /// Each remainder is exact; only the last limb rounds. All parts have the sign of the scaled term.
  MANYMEANS_EVERYWHERE void add(double scaled, const ProductFormats& formats) {
    const int limbs = kAll ? kMax : formats.limbs;
#pragma unroll
    for (int s = 0; s < kMax; ++s) {
      if (s + 1 < limbs) {
        const auto part = static_cast<long long>(scaled);
        limb[s] += part;
        scaled = (scaled - static_cast<double>(part)) * formats.radix;
      } else if (s + 1 == limbs) {
        limb[s] += std::llrint(scaled);
      }
    }
  }
};

/// The sums of a pair's two terms: the product, and what it was rounded by, where that is not always 0 (kRests).
template <int kMax, bool kRests, bool kAll = false>
struct PairSums {
  LimbSum<kMax, kAll> product;
  LimbSum<kRests ? kMax : 1> rest;

  /// A row with the values a and b, of weight w'; or of -w' where it leaves, since every step is odd in the weight.
  MANYMEANS_EVERYWHERE void add(const ProductFormats& formats, int64_t pair, double a, double b, double weight) {
    const double exact_to_53 = a * b;
    const double weighted = weight * exact_to_53;
    product.add(formats.scaled(weighted, 2 * pair), formats);
    if constexpr (kRests) {
      const double rounded_off = std::fma(a, b, -exact_to_53);
      const double beside = std::fma(weight, exact_to_53, -weighted) + weight * rounded_off;
      rest.add(formats.scaled(beside, 2 * pair + 1), formats);
    }
  }
};

}  // namespace manymeans::device
