// Checks and times the tensor-core screen by itself: every label that it proves, and every list of candidates, against
// canonical distances of all prototypes, computed on the device in binary64 in the contract's order. A program of its
// own, so that it can be carried to a machine with a device:
//
//   manymeans_screen_check probe | small | tiny | ties | thresholds | fast | profile | big, any of them
//
// fall NUMBER before them: columns below thresholds are passed over, so far below the best score of a screen before.
// SCREEN_CHECK_SYNC=1: by mma.sync, as on devices that are not Hopper. It says what it begins before it begins, and
// ends with code 3 where that takes minutes.
#include "screen_check.h"

#include "backend/cuda/watchdog.h"

#include <cstring>
#include <string>

namespace {

using namespace manymeans::test;
using Data = ScreenData;

constexpr int kMaxSeconds = 180;  // of a case

int failures = 0;
int64_t max_listed = 4'000'000;
std::optional<float> fall;

Watchdog& watchdog() {
  static Watchdog one(kMaxSeconds, [] {});
  return one;
}

const char* kind_of(const Data& data) {
  if (data.averaged == 0) return "ties";
  return data.centres > 0 ? "mixture" : "noise";
}

std::string text_of(const Data& data, double scale) {
  char text[200];
  std::snprintf(text, sizeof(text), "N=%-8lld D=%-4d K=%-6d M=%-3d %-8s scale %.2f", static_cast<long long>(data.rows),
                data.d, data.k, data.models, kind_of(data), scale);
  return text;
}

ScreenOutcome run(const Data& data, double scale, int repeats, double max_work) {
  watchdog().begin(text_of(data, scale));
  return run_screen(data, {max_listed, fall, scale, repeats, max_work});
}

void print(const Data& data, const ScreenOutcome& o, double scale = 1) {
  const double operations = 2.0 * static_cast<double>(data.rows) * data.d * data.k * data.models;
  std::printf(
      "%s  %9.4f ms %7.1f TFLOP/s  certified %.5f listed %.5f (%.2f) overflow %.5f marked %.6f  wrong %lld of %lld\n",
      text_of(data, scale).c_str(), o.ms, operations / o.ms * 1e-9, o.certified, o.listed, o.candidates, o.overflow,
      o.marked, static_cast<long long>(o.wrong), static_cast<long long>(o.looked_at));
  std::fflush(stdout);
}

void expect_right(const Data& data, int repeats, double max_work) {
  const ScreenOutcome outcome = run(data, 1, repeats, max_work);
  print(data, outcome);
  if (outcome.wrong != 0) ++failures;
}

void probe() {
  watchdog().begin("probe");
  if (!probe_matrix_units()) ++failures;
}

void small() {
  for (const Data& data : {
           Data{1000, 16, 5, 1, 0, 8, 3},       Data{129, 1, 3, 1, 0, 1, 3},        Data{70001, 128, 1000, 1, 0, 8, 3},
           Data{70001, 128, 1024, 1, 50, 8, 3}, Data{50001, 100, 300, 3, 0, 4, 3},  Data{50001, 90, 200, 2, 20, 4, 3},
           Data{50001, 64, 130, 2, 0, 4, 3},    Data{50001, 54, 64, 7, 0, 20, 3},   Data{50001, 41, 64, 1, 9, 20, 3},
           Data{140001, 54, 64, 5, 0, 20, 3},   Data{200001, 30, 47, 2, 7, 20, 3},  Data{131072, 9, 64, 3, 0, 20, 3},
           Data{131073, 64, 64, 9, 0, 20, 3},  // many models: entries are reserved in pieces
           Data{131071, 64, 64, 9, 0, 20, 3},   Data{50001, 65, 64, 12, 0, 20, 3},  Data{1000, 1, 1, 8, 0, 8, 3},
           Data{50001, 20, 40, 5, 0, 20, 3},    Data{50001, 130, 1000, 1, 0, 8, 3}, Data{20001, 256, 1000, 2, 0, 8, 3},
           Data{20001, 300, 100, 3, 0, 8, 3},   Data{20001, 500, 50, 3, 0, 8, 3},   Data{20001, 512, 2000, 1, 0, 8, 3},
           Data{20001, 768, 1000, 1, 10, 8, 3}, Data{20001, 784, 10, 3, 0, 8, 3},   Data{10001, 1500, 100, 2, 0, 8, 3},
           Data{10001, 3072, 700, 1, 0, 8, 3},
       }) {
    expect_right(data, 0, 1e13);
  }
}

// For a memory checker: every kernel, few rows.
void tiny() {
  for (const int d : {16, 30, 60, 90, 128, 200, 500, 600}) {
    for (const int k : {60, 120, 600}) {
      expect_right(Data{700, d, k, 2, 0, 4, 3}, 0, 1e13);
    }
  }
  max_listed = 5;
  expect_right(Data{7000, 128, 600, 2, 0, 4, 3}, 0, 1e13);
  max_listed = 40;  // ends in the middle of a piece
  expect_right(Data{7000, 50, 60, 9, 0, 4, 3}, 0, 1e13);
  max_listed = 4'000'000;
}

void ties() {
  for (const int d : {2, 16, 48, 128, 384, 768}) {
    for (const int k : {60, 64, 200}) expect_right(Data{300000, d, k, 1, 0, 0, 11}, 0, 1e13);
  }
  // With a quarter of every bound wrong labels must appear.
  int64_t wrong = 0;
  for (const int d : {1, 2, 4, 16}) {
    const Data data{1000000, d, 60, 1, 0, 0, 12};
    const ScreenOutcome outcome = run(data, 0.25, 0, 1e13);
    print(data, outcome, 0.25);
    wrong += outcome.wrong;
  }
  if (wrong == 0) {
    std::printf("ties: a quarter of the bounds went unnoticed\n");
    ++failures;
  }
}

void big() {
  for (const int centres : {0, 2000}) {
    expect_right(Data{8'000'000, 128, 1024, 1, centres, 8, 5}, 7, 3e11);
  }
  expect_right(Data{1'000'000, 128, 65536, 1, 0, 2, 5}, 3, 1e11);
  expect_right(Data{1'000'000, 512, 8192, 1, 0, 4, 5}, 5, 1e11);
  expect_right(Data{1'000'000, 768, 4096, 1, 0, 8, 5}, 5, 1e11);
  expect_right(Data{2'000'000, 256, 16384, 1, 0, 8, 5}, 3, 1e11);
  expect_right(Data{500'000, 54, 64, 1, 0, 100, 5}, 9, 1e11);
  expect_right(Data{500'000, 54, 64, 64, 0, 100, 5}, 9, 1e11);
  expect_right(Data{2'000'000, 41, 64, 1, 30, 100, 5}, 9, 1e11);
  expect_right(Data{1'000'000, 64, 64, 1, 0, 100, 5}, 9, 1e11);
}

// With thresholds that are far below the best score, near it, and above it for some rows or all.
void thresholds() {
  for (const float below : {1e30F, 2.0F, 0.1F, 0.0F, -0.2F}) {
    fall = below;
    std::printf("thresholds %g below the best score of a pass before:\n", static_cast<double>(below));
    small();
    tiny();
  }
  fall = 0.5F;
  ties();
  fall.reset();
}

// A few shapes, for comparing versions.
void fast() {
  for (const Data& data : {Data{8'000'000, 128, 1024, 1, 0, 8, 5}, Data{1'000'000, 128, 65536, 1, 0, 2, 5},
                           Data{2'000'000, 256, 16384, 1, 0, 8, 5}, Data{1'000'000, 512, 8192, 1, 0, 4, 5},
                           Data{1'000'000, 768, 4096, 1, 0, 8, 5}, Data{500'000, 54, 64, 1, 0, 100, 5},
                           Data{500'000, 54, 64, 64, 0, 100, 5}, Data{2'000'000, 41, 64, 1, 30, 100, 5},
                           Data{1'000'000, 64, 64, 1, 0, 100, 5}}) {
    if (std::getenv("SCREEN_CHECK_TILE") != nullptr && data.d != 128) continue;
    expect_right(data, 7, 1e10);
  }
}

// For a profiler.
void profile() {
  expect_right(Data{2'000'000, 128, 1024, 1, 0, 8, 5}, 0, 1e10);
  expect_right(Data{500'000, 54, 64, 64, 0, 100, 5}, 0, 1e10);
  expect_right(Data{500'000, 256, 4096, 1, 0, 8, 5}, 0, 1e10);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string what = argv[i];
    if (what == "probe") probe();
    if (what == "small") small();
    if (what == "tiny") tiny();
    if (what == "ties") ties();
    if (what == "thresholds") thresholds();
    if (what == "fall" && i + 1 < argc) fall = std::strtof(argv[++i], nullptr);
    if (what == "big") big();
    if (what == "fast") fast();
    if (what == "profile") profile();
  }
  std::printf(failures == 0 ? "screen_check: all right\n" : "screen_check: %d FAILED\n", failures);
  return failures == 0 ? 0 : 1;
}
