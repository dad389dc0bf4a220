#include "backend/composite/row_shares.h"

#include "backend/composite/composite_part.h"
#include "data/gather.h"
#include "prototype/prototype.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace manymeans {
namespace {

// Rows of a trial: enough to show what a device can do. For a processor it is at most a fraction of a second of work.
int64_t trial_rows(const Input& input, int64_t k) {
  constexpr int64_t kMax = 1 << 17, kMin = 4096, kProducts = int64_t{1} << 34;
  const int64_t rows = std::clamp(kProducts / (k * input.points.d), kMin, kMax);
  return std::min({rows, std::max<int64_t>(1, input.points.n / 8)});
}

double seconds_of(Session& session, const Matrix& prototypes) {
  const auto begin = std::chrono::steady_clock::now();
  PassModel model{0, &prototypes, {}};
  session.advance({&model, 1}, 1);
  session.statistics(0);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<int64_t> share_ends(int64_t rows, std::span<const double> speeds) {
  constexpr int64_t kBlock = 64;
  constexpr double kMin = 0.01;
  std::vector<double> used(speeds.begin(), speeds.end());
  const double all = std::accumulate(used.begin(), used.end(), 0.0);
  for (double& speed : used) speed = speed < kMin * all ? 0 : speed;
  const double left = std::accumulate(used.begin(), used.end(), 0.0);
  std::vector<int64_t> ends;
  double before = 0;
  for (const double speed : used) {
    before += speed;
    const auto end = static_cast<int64_t>(static_cast<double>(rows) * (before / left));
    ends.push_back(before == left ? rows : std::min(rows, (end + kBlock - 1) / kBlock * kBlock));
  }
  return ends;
}

std::vector<double> shares_in_time(int64_t rows, std::span<const DeviceRate> devices, double link) {
  const auto labelled = [&](size_t device, double seconds) {
    const double held = static_cast<double>(devices[device].resident_rows) + link * seconds;
    return std::min(devices[device].labelled * seconds, held);
  };
  std::vector<double> shares(devices.size());
  double all = 0;
  for (const DeviceRate& device : devices) all += device.labelled;
  // By halves, between the time that no memory or link would add to and one that is long enough.
  double enough = static_cast<double>(rows) / all, too_little = enough;
  const auto count_in = [&](double seconds) {
    for (size_t d = 0; d < devices.size(); ++d) shares[d] = labelled(d, seconds);
    return std::accumulate(shares.begin(), shares.end(), 0.0);
  };
  while (count_in(enough) < static_cast<double>(rows) * (1 - 1e-12)) enough *= 2;
  for (int step = 0; step < 60 && too_little < enough; ++step) {
    const double middle = (too_little + enough) / 2;
    (count_in(middle) < static_cast<double>(rows) ? too_little : enough) = middle;
  }
  count_in(enough);
  return shares;
}

std::vector<int64_t> corrected_ends(const SharedWork& work, std::span<const DeviceRate> devices, double link) {
  constexpr double kMinGain = 0.05;  // of a pass; less is noise
  if (work.passes == 0 || work.waited <= work.moving) return {};
  if (work.waited <= kMinGain * *std::ranges::max_element(work.seconds)) return {};
  const int64_t rows = std::accumulate(work.rows.begin(), work.rows.end(), int64_t{0});
  std::vector<DeviceRate> measured(devices.begin(), devices.end());
  for (size_t d = 0; d < measured.size(); ++d) {
    measured[d].labelled = static_cast<double>(work.rows[d] * work.passes) / work.seconds[d];
  }
  return share_ends(rows, shares_in_time(rows, measured, link));
}

double products_of_pass(const PointsView& points, const Workload& workload) {
  constexpr double kColumnsOfARow = 8;  // cost of a row in addition to its columns
  return static_cast<double>(points.n) * static_cast<double>(workload.all_clusters) *
         (static_cast<double>(points.d) + kColumnsOfARow);
}

// The first session of a backend makes it ready; the second one's first pass is timed, since later ones know much.
std::vector<DeviceRate> measured_rates(std::span<const NamedBackend> backends, const Input& input,
                                       const Workload& workload) {
  const int64_t rows = trial_rows(input, workload.max_clusters);
  const int64_t k = std::min(workload.max_clusters, rows);
  Input some = rows_of(input, 0, rows);
  some.shard = {0, rows, rows, {rows}};
  const Matrix prototypes = prototypes_at(some, spread_rows(rows, k));
  Workload trial = workload;
  trial.models = trial.sessions = 1;
  trial.all_clusters = k;
  trial.clusters.clear();
  CompositeParts parts;
  for (const NamedBackend& each : backends) {
    parts.push_back(std::make_unique<CompositePart>(each.backend.get(), each.name, 0, some));
  }
  ThreadPool drivers(static_cast<int>(parts.size()));
  for_each_part(parts, drivers, [&](size_t p) {
    parts[p]->upload = parts[p]->backend->upload(parts[p]->input, trial);
    seconds_of(*parts[p]->upload->session({&k, 1}, 0), prototypes);
  });
  std::vector<DeviceRate> rates(parts.size());
  for_each_part(parts, drivers, [&](size_t p) {
    const auto session = parts[p]->upload->session({&k, 1}, 0);
    rates[p].labelled = static_cast<double>(rows) / std::max(seconds_of(*session, prototypes), 1e-9);
  });
  for_each_part(parts, drivers,
                [&](size_t p) { rates[p].resident_rows = parts[p]->backend->resident_rows(input, workload); });
  return rates;
}

}  // namespace manymeans
