#include "backend/cuda/queries/centre_passes.h"

#include <manymeans/error.h>

#include <memory>
#include <utility>

namespace manymeans::cuda {

std::optional<NearestCentres> nearest_by_pass(Upload* upload, const Input& input, const Matrix& centres) {
  constexpr int64_t kMinCentres = 1024;  // the screen reads the points once for 32
  const int64_t k = centres.rows();
  if (upload == nullptr || k < kMinCentres || input.memory.limited) return std::nullopt;
  std::unique_ptr<Session> session;
  try {
    session = upload->session({&k, 1}, 0);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    return std::nullopt;
  }
  PassModel pass{0, &centres, {}};
  session->advance({&pass, 1}, 1);
  NearestCentres found;
  found.distances = session->rows().distances(0, centres);
  found.labels = session->take_labels(0);
  return found;
}

void NearestOfRows::take(const NearestCentres& found, int64_t first, std::span<double> least) {
  if (std::exchange(only_first_, false)) rows_.assign(least.size(), 0);
  for (size_t row = 0; row < least.size(); ++row) {
    if (!(found.distances[row] < least[row])) continue;
    least[row] = found.distances[row];
    if (!rows_.empty()) rows_[row] = static_cast<uint32_t>(first) + found.labels[static_cast<int64_t>(row)];
  }
}

std::vector<int64_t> NearestOfRows::weights(const Input& input, int64_t centres) const {
  if (rows_.empty()) return {};
  std::vector<int64_t> weights(static_cast<size_t>(centres));
  for (size_t row = 0; row < rows_.size(); ++row) {
    weights[rows_[row]] += input.integer_weight(static_cast<int64_t>(row));
  }
  return weights;
}

}  // namespace manymeans::cuda
