#include "backend/opencl/runtime/device_check.h"

#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/runtime/kernel_launch.h"
#include "core/fp_environment.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace manymeans::opencl {
namespace {

constexpr int64_t kTriples = 100'000;

// SplitMix64: whoever opens a device waits for these.
uint64_t random_bits(uint64_t index) {
  uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

// Magnitudes around one, so that sums cancel; every fourth triple of any exponent, denormal ones included.
double random_double(uint64_t index, uint64_t triple) {
  const uint64_t bits = random_bits(index);
  const uint64_t any = (bits >> 52 & 0x7ff) % 0x7ff;
  const uint64_t near_one = 1023 - 12 + (bits >> 52 & 0x7ff) % 24;
  const uint64_t float_range = 1023 - 151 + (bits >> 52 & 0x7ff) % 60;
  const uint64_t exponent = triple % 4 == 0 ? any : (triple % 4 == 1 ? float_range : near_one);
  return std::bit_cast<double>((bits & 0x800fffffffffffffULL) | exponent << 52);
}

float random_float(uint64_t index) {
  const auto bits = static_cast<uint32_t>(random_bits(index));
  const uint32_t exponent = 127 - 12 + (bits >> 23 & 0xff) % 24;
  return std::bit_cast<float>((bits & 0x807fffffU) | exponent << 23);
}

// Any NaN is as good as another.
uint64_t bits_of(double v) {
  return std::isnan(v) ? 0x7ff8000000000000ULL : std::bit_cast<uint64_t>(v);
}

// What the kernel makes of a triple.
uint64_t answer_for(const double* v) {
  const auto [a, b, c] = std::array{v[0], v[1], v[2]};
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  const double small = std::bit_cast<double>(bits(c) % 0x43d0000000000000ULL);
  const auto narrow = static_cast<float>(a);
  const double wide = std::bit_cast<float>(static_cast<uint32_t>(bits(b)) & 0xbfffffffU);
  const uint64_t integers = bits(static_cast<double>(std::bit_cast<int64_t>(c))) +
                            static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(small)));
  const uint64_t answers[] = {bits_of(std::fma(a, b, c)),
                              bits_of(a * b + c),
                              bits_of(a - b),
                              bits_of(a / b),
                              bits_of(std::sqrt(std::fabs(a))),
                              std::bit_cast<uint32_t>(narrow),
                              bits_of(wide),
                              integers};
  uint64_t all = 0;
  for (const uint64_t answer : answers) all = (all ^ answer) * 0x9e3779b97f4a7c15ULL;
  return all;
}

bool same_floats(const float* v, const uint32_t* found) {
  const float wanted[4] = {std::fma(v[0], v[1], v[2]), v[0] * v[1] + v[2], v[0] - v[1], v[0] * v[1]};
  return std::ranges::equal(std::span(wanted), std::span(found, 4), {},
                            [](float x) { return std::bit_cast<uint32_t>(x); });
}

// The answers of a kernel to `kTriples` triples of these.
template <class Answer, class Value>
std::vector<Answer> ask(const OpenClDevice& device, const Kernel& kernel, const std::vector<Value>& triples,
                        size_t answers_each) {
  const std::unique_ptr<device::Queue> queue = device.make_queue({});
  std::vector<Answer> answers(static_cast<size_t>(kTriples) * answers_each);
  const device::Buffer in(device, triples.size() * sizeof(Value), "numbers to compute with");
  const device::Buffer out(device, answers.size() * sizeof(Answer), "what is computed");
  const Settled settled(*queue);
  queue->copy_to_device(in.at(), triples.data(), in.bytes(), "numbers to compute with");
  kernel(*queue, {256, 1, 1}, in.at(), out.at(), kTriples);
  queue->read_back(answers.data(), out.at(), out.bytes(), "trying the device's arithmetic");
  return answers;
}

bool try_doubles(const OpenClDevice& device) {
  const FpEnvironmentGuard plain;
  const Kernel kernel(device.program(kCheckSource, "-cl-std=CL1.2 -w -DCHECK_DOUBLE -DCONTIGUOUS=0 -DATOMICS64=0"),
                      "check_doubles");
  std::vector<double> triples;
  triples.reserve(3 * kTriples);
  for (uint64_t i = 0; i < 3 * kTriples; ++i) triples.push_back(random_double(i, i / 3));
  const std::vector<uint64_t> answers = ask<uint64_t>(device, kernel, triples, 1);
  for (size_t i = 0; i < static_cast<size_t>(kTriples); ++i) {
    if (answer_for(triples.data() + 3 * i) != answers[i]) return false;
  }
  return true;
}

bool try_floats(const OpenClDevice& device) {
  const FpEnvironmentGuard plain;
  const Kernel kernel(device.program(kCheckSource, "-cl-std=CL1.2 -w -DCONTIGUOUS=0 -DATOMICS64=0"), "check_floats");
  std::vector<float> triples;
  triples.reserve(3 * kTriples);
  for (uint64_t i = 0; i < 3 * kTriples; ++i) triples.push_back(random_float(i));
  const std::vector<uint32_t> answers = ask<uint32_t>(device, kernel, triples, 4);
  for (size_t i = 0; i < static_cast<size_t>(kTriples); ++i) {
    if (!same_floats(triples.data() + 3 * i, answers.data() + 4 * i)) return false;
  }
  return true;
}

}  // namespace

bool computes_doubles(const OpenClDevice& device) {
  return device.facts().binary64 && device.remembered("doubles", [&] { return try_doubles(device); });
}

bool computes_floats(const OpenClDevice& device) {
  return device.remembered("floats", [&] { return try_floats(device); });
}

}  // namespace manymeans::opencl
