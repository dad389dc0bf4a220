#include <manymeans/error.h>
#include <manymeans/fit.h>
#include <manymeans/info.h>

#include "backend/backend.h"
#include "backend/devices.h"
#include "core/memory.h"
#include "core/threads.h"
#include "init/init.h"
#include "io/table/reader.h"
#include "io/table/writer.h"

#include <algorithm>

namespace manymeans {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "g++ " __VERSION__;
#else
  return "unknown";
#endif
}

Choice describe(const BackendEntry& entry) {
  try {
    const auto backend = entry.make({});
    const std::string isa = backend->instruction_set();
    return {std::string(entry.name), isa.empty() ? "available" : "available (" + isa + ")", true};
  } catch (const Error& error) {
    return {std::string(entry.name), error.what(), false};
  }
}

}  // namespace

Info build_info() {
  Info result;
  result.version = MANYMEANS_VERSION;
  result.compiler = compiler();
  result.build_type = MANYMEANS_BUILD_TYPE;
  result.threads = usable_threads();
  result.available_memory = available_memory();
  result.instruction_sets = cpu_instruction_sets();
  result.inits.push_back({"auto", "k-means++ up to k = 5000, k-means|| above", true});
  for (const InitEntry& entry : inits()) result.inits.push_back({std::string(entry.name), "", true});
  result.readers = reader_choices(/*look=*/false);
  result.writers = writer_choices(/*look=*/false);
  return result;
}

Info info() {
  Info result = build_info();
  result.readers = reader_choices();
  result.writers = writer_choices();
  for (const BackendEntry& entry : backends()) result.backends.push_back(describe(entry));
  result.devices = devices();
  return result;
}

}  // namespace manymeans
