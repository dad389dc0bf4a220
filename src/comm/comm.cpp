#include "comm/comm.h"

namespace manymeans {
namespace {

class SelfComm final : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(std::span<int64_t>) override {}  // the sum over one rank
};

}  // namespace

std::unique_ptr<Comm> make_self_comm() {
  return std::make_unique<SelfComm>();
}

}  // namespace manymeans
