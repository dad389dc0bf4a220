#include "engine/removal_costs.h"

#include "backend/backend.h"
#include "backend/device/async_backend.h"
#include "prototype/linear_model.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace manymeans::test {
namespace {

// Small integers: every sum is exact in whatever order.
TEST(RemovalCosts, AreWhatTheSecondBestWouldCost) {
  std::mt19937 random(2);
  constexpr int64_t kRows = 70'000;  // more than are asked about at a time
  std::vector<float> rows;
  std::vector<double> weights;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int j = 0; j < 3; ++j) rows.push_back(static_cast<float>(random() % 20));
    weights.push_back(static_cast<double>(random() % 3) + (i == 0 ? 2 : 0));
  }
  Matrix models(4, 3, DataType::kFloat32);
  for (float& value : models.values<float>()) value = static_cast<float>(random() % 7) - 3;
  ThreadPool pool(2);
  Input input = prepare_input({rows.data(), kRows, 3}, weights, pool);
  use_prototype(input, linear_model(), pool);
  std::vector<double> expected(4);
  for (int64_t i = 0; i < kRows; ++i) {
    std::vector<std::pair<double, size_t>> d2;
    for (int64_t k = 0; k < 4; ++k) {
      d2.emplace_back(LinearModel::distance(rows.data() + i * 3, models.values<float>().data() + k * 3, 3),
                      static_cast<size_t>(k));
    }
    std::ranges::sort(d2);
    expected[d2[0].second] += input.weight(i) * (d2[1].first - d2[0].first);
  }
  // The reference leaves distances to the host; the others have them, a device also where its points come in slices.
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_backend("reference", {}));
  backends.push_back(make_backend("cpu", {}));
  for (const int64_t slice_rows : {0, 500}) {
    BackendOptions options;
    options.tuning.cuda.slice_rows = slice_rows;
    backends.push_back(make_async_backend(options));
  }
  for (const std::unique_ptr<Backend>& backend : backends) {
    const std::unique_ptr<Upload> upload = backend->upload(input);
    const std::unique_ptr<Session> session = upload->session(std::vector<int64_t>{4}, 1);
    int64_t known = 0;
    session->rows().two_nearest(
        models, [&](int64_t, std::span<const TwoNearest> some) { known += static_cast<int64_t>(some.size()); });
    EXPECT_EQ(known, backend->name() == "reference" ? 0 : kRows);
    const Matrix* asked[] = {&models, &models};
    const std::vector<std::vector<double>> found = removal_costs(input, asked, session->rows(), pool);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0], expected);
    EXPECT_EQ(found[1], expected);
  }
}

}  // namespace
}  // namespace manymeans::test
