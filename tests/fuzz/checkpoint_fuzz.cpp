// Any bytes as a checkpoint: states that fit together, or an Error.
#include <manymeans/error.h>

#include "io/results/checkpoint_file.h"
#include "memory_file.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace manymeans;
  std::vector<uint8_t> bytes(data, data + size);
  fuzz::repair_checksums(bytes);
  const std::string path = fuzz::hold(bytes);
  try {
    const CheckpointFile file = load_checkpoint(path);
    for (const ModelState& model : file.models) {
      const bool begun = model.stage != ModelStage::kNotBegun;
      if (begun != (model.prototypes.rows() > 0) || model.iterations < 0) std::abort();
      if (begun && model.prototypes.columns() != file.identity.columns) std::abort();
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) std::abort();
  }
  return 0;
}
