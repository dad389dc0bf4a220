// Four models of two clusters over six points in memory; the best one is printed.
#include <manymeans/manymeans.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> values = {1, 1, 1, 2, 2, 1, 9, 9, 9, 8, 8, 9};  // six rows of two columns
  const manymeans::PointsView points(values.data(), 6, 2);

  try {
    const manymeans::FitResult result = manymeans::fit(points, {}, {.k = {2}, .models = 4, .seed = 1});
    const manymeans::ModelResult& best = result.models[result.best(2)];
    std::printf("inertia %.6f after %lld iterations\n", best.inertia, static_cast<long long>(best.iterations));
    for (int row = 0; row < 6; ++row) std::printf("row %d is in cluster %u\n", row, best.labels[row]);
    std::printf("digest %s\n", result.digest().c_str());  // the same on every machine
  } catch (const manymeans::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
