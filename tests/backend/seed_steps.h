// Steps of k-means++ made one by one, as the contract says: what a seeding that runs by itself has to choose.
#pragma once

#include "backend/seeding.h"
#include "core/random.h"
#include "data/gather.h"

#include <cstdint>
#include <span>
#include <vector>

namespace manymeans::test {

/// Makes one step of a run; false if the total is zero.
inline bool make_step(Seeding& seeding, const PointsView& points, SeedRun& run) {
  SeedDraw draw{run.slot};
  const auto centre = static_cast<uint64_t>(run.centres) + run.rows.size();
  for (int i = 0; i < run.draws; ++i) {
    draw.u.push_back(random_u64(run.key, centre, static_cast<uint32_t>(i), Purpose::kCandidate));
  }
  const std::vector<int64_t> rows = seeding.draw({&draw, 1})[0];
  if (rows.empty()) return false;
  const Matrix candidates = gather_rows(points, rows);
  SeedTrial trial{run.slot, &candidates};
  const int64_t row = rows[static_cast<size_t>(seeding.choose({&trial, 1})[0])];
  const Matrix centre_row = gather_rows(points, std::vector<int64_t>{row});
  const SeedCentres added{run.slot, &centre_row};
  seeding.add({&added, 1});
  run.rows.push_back(row);
  return true;
}

/// What Seeding::run() does, for a seeding that may not have it.
inline void run_steps(Seeding& seeding, const PointsView& points, std::span<SeedRun> runs, int64_t steps) {
  if (seeding.run(runs, steps)) return;
  for (SeedRun& run : runs) {
    for (int64_t step = 0; step < steps && run.centres + step < run.k; ++step) {
      if (!make_step(seeding, points, run)) break;
    }
  }
}

}  // namespace manymeans::test
