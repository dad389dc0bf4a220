// Random numbers of the fuzzer: the same from the same seed on every machine, which <random>'s distributions are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace manymeans::fuzz {

/// A well mixed function of its argument (SplitMix64's last step).
inline uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(mixed(seed)) {}

  uint64_t bits() { return random_(); }
  /// 0 .. limit - 1.
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  /// In [0, 1).
  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return share() < probability; }
  /// From `least` to `most`, each power of two as likely as the others.
  int64_t log_between(int64_t least, int64_t most) {
    const double low = std::log(static_cast<double>(least)), high = std::log(static_cast<double>(most) + 1);
    const auto value = static_cast<int64_t>(std::exp(low + (high - low) * share()));
    return value < least ? least : (value > most ? most : value);
  }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int64_t>(choices.size()))];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace manymeans::fuzz
