// Several devices as one backend: "cuda:0,cuda:1", "cuda:all", "cpu,cuda:0".
#pragma once

#include "backend/backend.h"
#include "backend/composite/composite_upload.h"

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace manymeans {

/// The devices of such a name. Throws Error(kUsage): an empty name, one that is there twice, auto among others;
/// Error(kUnavailable): a device that is not there.
std::unique_ptr<Backend> make_composite_backend(std::string_view name, const BackendOptions& options);

/// These devices; rows are dealt out equally where all are of one kind, else by measured speed. `threads` is for the
/// host's own work, `models_apart` as in Tuning.
std::unique_ptr<Backend> make_composite_backend(std::vector<NamedBackend> backends, int threads = 1,
                                                std::optional<bool> models_apart = {});

}  // namespace manymeans
