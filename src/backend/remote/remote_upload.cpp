#include "backend/remote/remote_upload.h"

#include "backend/remote/remote_seeding.h"
#include "backend/remote/remote_session.h"

#include <fmt/format.h>

namespace manymeans {
namespace {

class RemoteUpload final : public Upload {
 public:
  RemoteUpload(const Input& input, RemoteShards& shards) : input_(input), shards_(shards) {}

  std::unique_ptr<Session> session(std::span<const int64_t> k, int) override {
    return std::make_unique<RemoteSession>(input_, shards_, k);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool&) override {
    return std::make_unique<RemoteSeeding>(shards_, k);
  }
  std::string plan() const override {
    return fmt::format("{} rows in {} shards", input_.shard.all, shards_.known().shards());
  }

 private:
  const Input& input_;
  RemoteShards& shards_;
};

}  // namespace

std::unique_ptr<Upload> make_remote_upload(const Input& input, RemoteShards& shards, const Workload& workload) {
  shards.expect(workload);
  return std::make_unique<RemoteUpload>(input, shards);
}

}  // namespace manymeans
