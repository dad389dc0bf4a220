#include "backend/opencl/runtime/device_check.h"

#include "backend/opencl/kernels/kernel_sources.h"
#include "backend/opencl/runtime/kernel_launch.h"
#include "core/fp_environment.h"
#include "core/threads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

namespace manymeans::opencl {
namespace {

constexpr int64_t kTriples = 100'000;  // a multiple of kLanes
constexpr uint64_t kLanes = 8;         // of vectors

// SplitMix64: opening a device waits for these numbers.
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

uint64_t folded(uint64_t all, uint64_t answer) {
  return (all ^ answer) * 0x9e3779b97f4a7c15ULL;
}

uint32_t folded(uint32_t all, uint32_t answer) {
  return (all ^ answer) * 0x9e3779b1U;
}

// These answers for each lane, added up over the lanes, then one answer after the other.
template <class Answer, size_t kCount, class AnswersOfLane>
Answer folded_lanes(const AnswersOfLane& answers_of) {
  std::array<Answer, kCount> sums = {};
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    const std::array<Answer, kCount> answers = answers_of(lane);
    for (size_t i = 0; i < kCount; ++i) sums[i] += answers[i];
  }
  Answer all = 0;
  for (const Answer sum : sums) all = folded(all, sum);
  return all;
}

uint64_t answer_of_vectors(const double* v) {
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  const auto* const bytes = reinterpret_cast<const unsigned char*>(v);
  return folded_lanes<uint64_t, 4>([&](uint64_t lane) {
    const double rest = v[lane] - static_cast<double>(static_cast<float>(v[lane]));
    const double b = v[kLanes + lane];
    return std::array{bits(std::fma(rest, rest, b)), bits(rest * rest + b), bits(bytes[lane]),
                      bits(static_cast<signed char>(bytes[lane]))};
  });
}

uint32_t answer_of_vectors(const float* v) {
  const auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  return folded_lanes<uint32_t, 5>([&](uint64_t lane) {
    const auto [a, b, c] = std::array{v[lane], v[kLanes + lane], v[2 * kLanes + lane]};
    return std::array{bits(std::fma(a, b, c)), bits(a * b + c), bits(a > b ? a : c), bits(a) & 0xff, bits(a) & 0xffff};
  });
}

// Returns the kernel's answer for a triple.
uint64_t answer_for(const double* v) {
  const auto [a, b, c] = std::array{v[0], v[1], v[2]};
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  const double at_most_two_to_62 = std::bit_cast<double>(bits(c) % 0x43d0000000000000ULL);
  const auto narrow = static_cast<float>(a);
  const double wide = std::bit_cast<float>(static_cast<uint32_t>(bits(b)) & 0xbfffffffU);
  const uint64_t integers =
      bits(static_cast<double>(std::bit_cast<int64_t>(c))) +
      static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(std::copysign(at_most_two_to_62, a))));
  const uint64_t answers[] = {bits_of(std::fma(a, b, c)),
                              bits_of(a * b + c),
                              bits_of(a - b),
                              bits_of(a / b),
                              bits_of(std::sqrt(std::fabs(a))),
                              std::bit_cast<uint32_t>(narrow),
                              bits_of(wide),
                              integers};
  uint64_t all = 0;
  for (const uint64_t answer : answers) all = folded(all, answer);
  return all;
}

uint32_t answer_for(const float* v) {
  uint32_t all = 0;
  for (const float answer : {std::fma(v[0], v[1], v[2]), v[0] * v[1] + v[2], v[0] - v[1], v[0] * v[1]}) {
    all = folded(all, std::bit_cast<uint32_t>(answer));
  }
  return all;
}

// Returns true if a kernel's answers to the `kTriples` triples are the host's.
template <class Answer, class Value>
bool answers_alike(const OpenClDevice& device, const Kernel& kernel, const std::vector<Value>& triples) {
  const std::unique_ptr<device::Queue> queue = device.make_queue({});
  std::vector<Answer> answers(static_cast<size_t>(kTriples));
  const device::Buffer in(device, triples.size() * sizeof(Value), "numbers to compute with");
  const device::Buffer out(device, answers.size() * sizeof(Answer), "what is computed");
  const Settled settled(*queue);
  queue->copy_to_device(in.at(), triples.data(), in.bytes(), "numbers to compute with");
  kernel(*queue, {256, 1, 1}, in.at(), out.at(), kTriples);
  queue->read_back(answers.data(), out.at(), out.bytes(), "trying the device's arithmetic");
  for (uint64_t i = 0; i < answers.size(); ++i) {
    const Value* const triple = triples.data() + 3 * i;
    const Answer of_one = answer_for(triple);
    if (answers[i] != (i % kLanes == 0 ? folded(of_one, answer_of_vectors(triple)) : of_one)) return false;
  }
  return true;
}

bool try_doubles(const OpenClDevice& device) {
  const FpEnvironmentGuard plain;
  const Kernel kernel(device.program(kCheckDoublesSource, "-cl-std=CL1.2 -w -DPOINT_TYPE=0 -DCONTIGUOUS=0"),
                      "check_doubles");
  std::vector<double> triples;
  triples.reserve(3 * kTriples);
  for (uint64_t i = 0; i < 3 * kTriples; ++i) triples.push_back(random_double(i, i / 3));
  return answers_alike<uint64_t>(device, kernel, triples);
}

bool try_floats(const OpenClDevice& device) {
  const FpEnvironmentGuard plain;
  const Kernel kernel(device.program(kCheckFloatsSource, "-cl-std=CL1.2 -w -DCONTIGUOUS=0"), "check_floats");
  std::vector<float> triples;
  triples.reserve(3 * kTriples);
  for (uint64_t i = 0; i < 3 * kTriples; ++i) triples.push_back(random_float(i));
  return answers_alike<uint32_t>(device, kernel, triples);
}

}  // namespace

bool computes_alike(const OpenClDevice& device) {
  return device.remembered("arithmetic", [&] {
    bool alike[2] = {};
    ThreadPool pool(2);
    pool.for_each_range(2, 1, [&](int, int64_t trial, int64_t) {
      alike[trial] = trial == 0 ? try_floats(device) : try_doubles(device);
    });
    return alike[0] && alike[1];
  });
}

}  // namespace manymeans::opencl
