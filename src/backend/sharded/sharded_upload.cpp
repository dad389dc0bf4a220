#include "backend/sharded/sharded_upload.h"

#include "backend/sharded/sharded_seeding.h"
#include "backend/sharded/sharded_session.h"

#include <fmt/format.h>

#include <utility>

namespace manymeans {
namespace {

class ShardedUpload final : public Upload {
 public:
  ShardedUpload(const Input& input, std::shared_ptr<Upload> local) : input_(input), local_(std::move(local)) {}

  std::unique_ptr<Session> session(std::span<const int64_t> k, int threads) override {
    return std::make_unique<ShardedSession>(input_, local_ ? local_->session(k, threads) : nullptr, k, threads);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool& pool) override {
    return std::make_unique<ShardedSeeding>(input_, local_ ? make_seeding(*local_, input_, k, pool) : SeedingOwner{},
                                            k.size());
  }
  std::string plan() const override {
    return fmt::format("{}; rank {} of {} with {} of {} rows", local_ ? local_->plan() : "nothing to do",
                       input_.comm->rank(), input_.comm->size(), input_.shard.rows, input_.shard.all);
  }
  std::vector<std::string> warnings() const override {
    return local_ ? local_->warnings() : std::vector<std::string>{};
  }

 private:
  const Input& input_;
  std::shared_ptr<Upload> local_;  // null: this rank has no rows
};

}  // namespace

std::unique_ptr<Upload> make_sharded_upload(const Input& input, std::shared_ptr<Upload> local) {
  return std::make_unique<ShardedUpload>(input, std::move(local));
}

}  // namespace manymeans
