// Hamerly's algorithm ("Making k-means even faster", 2010) as it stands in the book, for counting distances.
#pragma once

#include <manymeans/points.h>

#include <cstdint>
#include <vector>

namespace manymeans::test {

class TextbookHamerly {
 public:
  explicit TextbookHamerly(const PointsView& points);
  /// Labels of all rows for these prototypes: an upper bound of the distance to a row's own prototype and a lower bound
  /// of that to its second nearest, both moved by how far the prototypes moved.
  void pass(const Matrix& prototypes);
  const std::vector<uint32_t>& labels() const { return labels_; }
  int64_t distances() const { return distances_; }  ///< between rows and prototypes, so far

 private:
  double distance(int64_t row, const Matrix& prototypes, int64_t k);
  void label(int64_t row, const Matrix& prototypes);
  void move_bounds(const Matrix& prototypes);

  int64_t n_, d_;
  std::vector<double> x_;
  Matrix before_;
  std::vector<double> upper_, lower_;
  std::vector<uint32_t> labels_;
  int64_t distances_ = 0;
};

}  // namespace manymeans::test
