// A fit of rows that other processes have, by requests to them.
#include <manymeans/error.h>
#include <manymeans/row_shards.h>

#include "backend/remote/remote_shards.h"
#include "core/fp_environment.h"
#include "engine/fit_shard.h"

namespace manymeans {

FitResult fit_shards(const Ask& ask, const FitOptions& options, const FitHooks& hooks) {
  const FpEnvironmentGuard guard;
  refuse_ranks(hooks, "a fit of shards");
  if (!hooks.checkpoint.path.empty()) {
    throw Error(ErrorCode::kUsage, "checkpoint", "a fit of shards has none yet; a shard that is lost is asked again");
  }
  if (options.memory.bytes != 0) {
    throw Error(ErrorCode::kUsage, "memory", "a fit of shards keeps to no limit; use more or smaller shards");
  }
  check(options);
  RemoteShards shards(ask);
  return fit_remote(shards, options, hooks);
}

}  // namespace manymeans
