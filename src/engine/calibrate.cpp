#include <manymeans/calibrate.h>
#include <manymeans/error.h>

#include "backend/calibration.h"
#include "core/fp_environment.h"
#include "io/files/output_file.h"

#include <filesystem>

namespace manymeans {

std::string measure_costs(int threads, const std::function<void(std::string_view)>& say) {
  const FpEnvironmentGuard guard;
  return measure_cpu_costs(threads, say);
}

std::string default_costs_path() {
  return costs_path();
}

void write_costs(const std::string& path, const std::string& text) {
  if (path == costs_path()) {
    std::error_code problem;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(folder, problem);
    if (problem) throw Error(ErrorCode::kUnavailable, folder.string(), "cannot be made: " + problem.message());
  }
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace manymeans
