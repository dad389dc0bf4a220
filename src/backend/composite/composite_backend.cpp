#include "backend/composite/composite_backend.h"

#include <manymeans/error.h>

#include "backend/composite/model_shares.h"
#include "backend/composite/row_shares.h"
#include "backend/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace manymeans {
namespace {

constexpr std::string_view kAll = ":all";

class CompositeBackend final : public Backend {
 public:
  CompositeBackend(std::vector<NamedBackend> backends, int threads, std::optional<bool> models_apart)
      : backends_(std::move(backends)), threads_(threads), models_apart_(models_apart) {
    for (const NamedBackend& each : backends_) name_ += (name_.empty() ? "" : ",") + each.name;
  }
  std::string_view name() const override { return name_; }
  std::string instruction_set() const override {
    std::vector<std::string> sets;
    for (const NamedBackend& each : backends_) sets.push_back(each.backend->instruction_set());
    return fmt::format("{}", fmt::join(sets, ", "));
  }
  int threads() const override { return threads_; }
  bool keeps_to_device_memory() const override {
    return std::ranges::all_of(backends_, [](const auto& each) { return each.backend->keeps_to_device_memory(); });
  }
  std::unique_ptr<CopiedPoints> copy(const PointsView& points, const Workload& workload) override {
    const bool all_rows = models_apart_.value_or(may_deal_out_models(points, workload, backends_.size()));
    if (!are_of_one_kind() || all_rows || points.on_device() || points.n < 1) return nullptr;
    return copy_to_parts(points, backends_, share_ends(points.n, equal_speeds(points, workload)), workload);
  }
  std::unique_ptr<Upload> upload(const Input& input, const Workload& workload) override {
    if (deals_out_models(input, workload)) return make_upload_by_models(input, backends_, workload);
    if (are_of_one_kind()) return make_composite_upload(input, backends_, equal_ends(input, workload), workload);
    return upload_by_speed(input, workload);
  }

 private:
  bool are_of_one_kind() const {
    return std::ranges::all_of(backends_, [this](const NamedBackend& each) {
      return each.backend->name() == backends_[0].backend->name() &&
             each.backend->instruction_set() == backends_[0].backend->instruction_set();
    });
  }

  bool deals_out_models(const Input& input, const Workload& workload) const {
    const double least = backends_[0].backend->min_shared_products();
    const bool pays =
        are_of_one_kind() && least > 0 && manymeans::deals_out_models(input, workload, backends_.size(), least);
    return models_apart_.value_or(pays) && workload.models >= static_cast<int64_t>(backends_.size());
  }

  // The ends of the copies, if there are any: backends without a copy are last.
  std::vector<int64_t> equal_ends(const Input& input, const Workload& workload) const {
    if (input.copies().empty()) return share_ends(input.points.n, equal_speeds(input.points, workload));
    std::vector<int64_t> ends;
    for (const PointsView& part : input.copies()) ends.push_back(part.n + (ends.empty() ? 0 : ends.back()));
    ends.resize(backends_.size(), input.points.n);
    return ends;
  }

  std::vector<double> equal_speeds(const PointsView& points, const Workload& workload) const {
    std::vector<double> equal(backends_.size(), 1.0);
    const double products = products_of_pass(points, workload);
    if (products < backends_[0].backend->min_shared_products()) std::fill(equal.begin() + 1, equal.end(), 0.0);
    return equal;
  }

  // A trial says what each can do. Where all have rows, passes say it better, and rows move.
  std::unique_ptr<Upload> upload_by_speed(const Input& input, const Workload& workload) const {
    constexpr double kLink = 25e9;  // bytes a second, from memory that is not pinned
    const int64_t n = input.points.n;
    const double link = kLink * static_cast<double>(n) / static_cast<double>(input.points.bytes());
    const std::vector<DeviceRate> rates = measured_rates(backends_, input, workload);
    const std::vector<int64_t> ends = share_ends(n, shares_in_time(n, rates, link));
    ShareRule rule;
    if (ends[0] > 0 && std::ranges::adjacent_find(ends) == ends.end()) {
      rule = [rates, link](const SharedWork& work) { return corrected_ends(work, rates, link); };
    }
    return make_composite_upload(input, backends_, ends, workload, std::move(rule));
  }

  std::vector<NamedBackend> backends_;
  std::string name_;
  int threads_;
  std::optional<bool> models_apart_;
};

// "cuda:all" is cuda:0, cuda:1 ...
void add_all_of(std::string_view kind, std::vector<std::string>& names) {
  const int count = device_count(kind);
  if (count == 0) {
    throw Error(ErrorCode::kUnavailable, "backend",
                fmt::format("there is no device for '{}{}'; 'manymeans info' lists the devices", kind, kAll));
  }
  for (int device = 0; device < count; ++device) names.push_back(fmt::format("{}:{}", kind, device));
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    begin = end + 1;
    if (name.ends_with(kAll)) {
      add_all_of(name.substr(0, name.size() - kAll.size()), names);
    } else {
      names.emplace_back(name);
    }
  }
  return names;
}

// "cuda" is "cuda:0".
std::string_view device_of(std::string_view name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

void check_names(const std::vector<std::string>& names, std::string_view text) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorCode::kUsage, "backend", fmt::format("in '{}' {}; as in cuda:0,cuda:1", text, why));
    };
    if (names[i].empty()) refuse("a name is empty");
    if (names[i] == "auto" && names.size() > 1) refuse("auto stands among others, which it may be one of");
    for (size_t other = 0; other < i; ++other) {
      if (device_of(names[other]) == device_of(names[i])) refuse(fmt::format("{} stands twice", names[i]));
    }
  }
}

}  // namespace

std::vector<std::string> backend_names(std::string_view text) {
  std::vector<std::string> names = split_names(text);
  check_names(names, text);
  return names;
}

std::unique_ptr<Backend> make_composite_backend(std::string_view text, const BackendOptions& options) {
  const std::vector<std::string> names = backend_names(text);
  if (names.size() == 1) return make_backend(names[0], options);
  const int threads = thread_count(options.threads);
  std::vector<NamedBackend> backends;
  for (const std::string& name : names) {
    BackendOptions own = options;
    // For work that the host does for all devices at once, such as copying rows, each device gets a part of the host's
    // threads.
    if (name != "cpu") own.threads = std::max(1, threads / static_cast<int>(names.size()));
    backends.push_back({name, make_backend(name, own)});
  }
  std::optional<bool> models_apart = options.tuning.models_apart;
  if (options.device_memory > 0 && !models_apart) models_apart = false;  // a limit is for the rows that a device gets
  return make_composite_backend(std::move(backends), threads, models_apart);
}

std::unique_ptr<Backend> make_composite_backend(std::vector<NamedBackend> backends, int threads,
                                                std::optional<bool> models_apart) {
  return std::make_unique<CompositeBackend>(std::move(backends), threads, models_apart);
}

}  // namespace manymeans
