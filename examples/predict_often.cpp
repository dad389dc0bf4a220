// A service that labels rows one by one: the model is prepared once, and every call takes microseconds.
#include <manymeans/manymeans.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> values = {1, 1, 1, 2, 2, 1, 9, 9, 9, 8, 8, 9};  // six rows of two columns
  const std::vector<float> arriving = {2, 2, 8, 8, 0, 1};

  try {
    const manymeans::FitResult result = manymeans::fit({values.data(), 6, 2}, {}, {.k = {2}});
    const manymeans::Predictor predictor(result.models[0].prototypes.view());
    for (int row = 0; row < 3; ++row) {
      const manymeans::PointsView point(arriving.data() + 2 * row, 1, 2);
      const manymeans::Prediction found = predictor.predict(point, {.distances = true});
      std::printf("row %d: cluster %u, distance %.3f\n", row, found.labels[0], found.distances[0]);
    }
  } catch (const manymeans::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
