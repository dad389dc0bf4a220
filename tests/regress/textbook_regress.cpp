#include "regress/textbook_regress.h"

#include "core/exact_numbers.h"
#include "core/fixed_point.h"
#include "core/random.h"
#include "prototype/linear_model.h"
#include "prototype/linear_solve.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace manymeans::test {
namespace {

using Models = std::vector<std::vector<float>>;
using Rows = std::vector<int64_t>;

class Textbook {
 public:
  explicit Textbook(const TextbookTask& task) : task_(task), labels_(static_cast<size_t>(task.n)) {}

  TextbookAnswer run() {
    models_ = initial_models();
    if (task_.swaps > 0 && task_.k > 1) search();
    if (!ended_) iterate();
    number();
    TextbookAnswer answer{{}, labels_, inertia(), iterations_, trials_};
    for (const std::vector<float>& model : models_) {
      answer.models.insert(answer.models.end(), model.begin(), model.end());
    }
    return answer;
  }

 private:
  const float* row(int64_t i) const { return task_.rows.data() + i * (task_.d + 1); }
  double d2(int64_t i, const std::vector<float>& model) const {
    return LinearModel::distance(row(i), model.data(), task_.d + 1);
  }

  // The first D + 1 different ones of the rows that these draws pick.
  Rows first_different(const Rows& picked) const {
    Rows rows;
    for (const int64_t i : picked) {
      if (static_cast<int64_t>(rows.size()) <= task_.d && std::ranges::find(rows, i) == rows.end()) rows.push_back(i);
    }
    return rows;
  }

  std::vector<float> solved(const Rows& rows) const {
    ProductSums sums(task_.d);
    for (const int64_t r : rows) {
      std::vector<double> u(row(r), row(r) + task_.d + 1);
      u.push_back(1);
      for (size_t i = 0; i < u.size(); ++i) {
        for (size_t j = i; j < u.size(); ++j) {
          Dyadic& sum = sums(static_cast<int64_t>(i), static_cast<int64_t>(j));
          sum = sum + Dyadic(u[i]) * Dyadic(u[j]);
        }
      }
    }
    const LinearFit fit = solve_linear(sums, {});
    std::vector<float> model;
    for (const double b : fit.coefficients) model.push_back(static_cast<float>(b) + 0.0F);
    model.push_back(static_cast<float>(fit.intercept) + 0.0F);
    return model;
  }

  Models initial_models() const {
    Models models;
    for (int64_t k = 0; k < task_.k; ++k) {
      Rows picked;
      for (int64_t j = 0; j < 4 * (task_.d + 1); ++j) {
        const uint64_t u =
            random_u64(task_.seed, static_cast<uint64_t>(k), static_cast<uint32_t>(j), Purpose::kSubsetRow);
        picked.push_back(
            static_cast<int64_t>((static_cast<unsigned __int128>(u) * static_cast<uint64_t>(task_.n)) >> 64));
      }
      models.push_back(solved(first_different(picked)));
    }
    return models;
  }

  uint32_t nearest(int64_t i, const Models& models) const {
    uint32_t best = 0;
    for (uint32_t k = 1; k < models.size(); ++k) {
      if (d2(i, models[k]) < d2(i, models[best])) best = k;
    }
    return best;
  }
  // A labelling pass: how many labels it changed.
  int64_t label() {
    int64_t changed = 0;
    for (int64_t i = 0; i < task_.n; ++i) {
      const uint32_t k = nearest(i, models_);
      changed += labels_[static_cast<size_t>(i)] != k;
      labels_[static_cast<size_t>(i)] = k;
    }
    return changed;
  }
  void update() {
    for (uint32_t k = 0; k < models_.size(); ++k) {
      Rows mine;
      for (int64_t i = 0; i < task_.n; ++i) {
        if (labels_[static_cast<size_t>(i)] == k) mine.push_back(i);
      }
      if (!mine.empty()) models_[k] = solved(mine);
    }
    ++iterations_;
  }

  // RNE(v 2^s) with G = 3 limbs for the largest of these.
  std::vector<mpz_class> integers(const std::vector<double>& values, int& shift) const {
    shift = 3 * limb_bits(task_.n) - 2 - exponent(std::ranges::max(values));
    std::vector<mpz_class> result;
    for (const double v : values) result.push_back(nearest_integer(scaled(exact(v), shift)));
    return result;
  }
  double inertia() const {
    std::vector<double> values;
    for (int64_t i = 0; i < task_.n; ++i) values.push_back(d2(i, models_[labels_[static_cast<size_t>(i)]]));
    int shift = 0;
    mpz_class sum = 0;
    for (const mpz_class& t : integers(values, shift)) sum += t;
    return std::ldexp(nearest_double(sum), -shift);
  }

  void search() {
    Models best;
    double least = 0;
    for (int64_t failures = 0, t = 0; failures < task_.swaps; ++t) {
      if (t > 0) {
        if (!(least > 0)) break;
        models_ = with_one_replaced(best, failures, t);
        ++trials_;
      }
      const int64_t updates = trial(t == 0 ? 10 : 5);
      const double found = inertia();
      const bool success = t == 0 || (updates > 0 && found <= (1 - 0x1p-10) * least);
      failures = success ? 0 : failures + 1;
      if (success) {
        best = models_;
        least = found;
      }
      ended_ = iterations_ >= task_.max_iter;
      if (ended_) break;
    }
    models_ = best;
    if (ended_) label();
  }
  int64_t trial(int64_t most) {
    for (int64_t updates = 0;; ++updates) {
      const int64_t changed = label();
      if (updates == most || iterations_ >= task_.max_iter || (updates > 0 && changed == 0)) return updates;
      update();
    }
  }
  void iterate() {
    for (bool first = true;; first = false) {
      const int64_t changed = label();
      if ((!first && changed == 0) || iterations_ >= task_.max_iter) return;
      update();
    }
  }

  void number() {
    while (true) {
      std::vector<int64_t> sizes(models_.size());
      for (const uint32_t k : labels_) ++sizes[k];
      if (std::ranges::is_sorted(sizes, std::greater<>())) return;
      std::vector<size_t> order(models_.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::ranges::stable_sort(order, std::greater<>(), [&](size_t k) { return sizes[k]; });
      Models ordered;
      for (const size_t k : order) ordered.push_back(models_[k]);
      models_ = std::move(ordered);
      label();
    }
  }

  size_t removed(const Models& best, int64_t failures) const {
    std::vector<mpq_class> costs(best.size());
    for (int64_t i = 0; i < task_.n; ++i) {
      std::vector<double> all;
      for (const std::vector<float>& model : best) all.push_back(d2(i, model));
      std::ranges::sort(all);
      costs[nearest(i, best)] += exact(all[1] - all[0]);
    }
    std::vector<size_t> order(best.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t k) { return nearest_double(costs[k]); });
    return order[static_cast<size_t>(failures) % best.size()];
  }

  Models with_one_replaced(const Models& best, int64_t failures, int64_t t) const {
    const size_t gone = removed(best, failures);
    Models others = best;
    others.erase(others.begin() + static_cast<int64_t>(gone));
    std::vector<double> least;
    for (int64_t i = 0; i < task_.n; ++i) least.push_back(d2(i, others[nearest(i, others)]));
    const Models candidates = candidate_models(others, least, t);
    int shift = 0;
    integers(least, shift);
    mpz_class smallest = -1;
    Models next;
    for (const std::vector<float>& candidate : candidates) {
      mpz_class sum = 0;
      for (int64_t i = 0; i < task_.n; ++i) {
        const double v = std::min(least[static_cast<size_t>(i)], d2(i, candidate));
        sum += nearest_integer(scaled(exact(v), shift));
      }
      if (smallest >= 0 && sum >= smallest) continue;
      smallest = sum;
      next = best;
      next[gone] = candidate;
    }
    return next;
  }
  Models candidate_models(const Models& others, const std::vector<double>& least, int64_t t) const {
    int shift = 0;
    std::vector<mpz_class> prefix = integers(least, shift);
    std::partial_sum(prefix.begin(), prefix.end(), prefix.begin());
    const int64_t draws = 4 * (task_.d + 1);
    Rows picked;
    for (int64_t j = 0; j < 16 * draws; ++j) {
      const uint64_t u =
          random_u64(task_.seed, static_cast<uint64_t>(t - 1), static_cast<uint32_t>(j), Purpose::kSwapRow);
      const mpz_class target = (mpz_class(std::to_string(u)) * prefix.back()) >> 64;
      picked.push_back(std::ranges::upper_bound(prefix, target) - prefix.begin());
    }
    Models candidates;
    for (int64_t c = 0; c < 16; ++c) {
      Rows from;
      if (c % 2 == 0) {
        from.assign(picked.begin() + c * draws, picked.begin() + (c + 1) * draws);
      } else {
        std::ranges::rotate_copy(picked, picked.begin() + c * draws, std::back_inserter(from));
        const uint32_t label = nearest(from[0], others);
        std::erase_if(from, [&](int64_t i) { return nearest(i, others) != label; });
      }
      candidates.push_back(solved(first_different(from)));
    }
    return candidates;
  }

  const TextbookTask& task_;
  Models models_;
  std::vector<uint32_t> labels_;
  int64_t iterations_ = 0;
  int64_t trials_ = 0;
  bool ended_ = false;
};

}  // namespace

TextbookAnswer textbook_regress(const TextbookTask& task) {
  return Textbook(task).run();
}

}  // namespace manymeans::test
