// Any bytes as a model file: a model that can be used, or an Error.
#include <manymeans/error.h>
#include <manymeans/io.h>
#include <manymeans/model_file.h>

#include "memory_file.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace manymeans;
  std::vector<uint8_t> bytes(data, data + size);
  fuzz::repair_checksums(bytes);
  const std::string path = fuzz::hold(bytes);
  try {
    const ModelFile models = load_model(path);
    if (models.models.empty()) std::abort();
    for (const StoredModel& model : models.models) {
      if (model.prototypes.rows() != model.k || model.prototypes.columns() < 1) std::abort();
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}
