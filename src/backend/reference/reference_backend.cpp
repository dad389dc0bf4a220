// Backend "reference": one thread, no cleverness.
#include <manymeans/error.h>

#include "backend/backend.h"
#include "backend/reference/reference_session.h"

namespace manymeans {
namespace {

class ReferenceUpload final : public Upload {
 public:
  ReferenceUpload(const Input& input, const std::atomic<bool>* abort) : input_(input), abort_(abort) {}
  std::unique_ptr<Session> session(std::span<const int64_t> k, int) override {
    return std::make_unique<ReferenceSession>(input_, k.size(), abort_);
  }
  std::unique_ptr<Seeding> seeding(std::span<const int64_t> k, ThreadPool&) override {
    return std::make_unique<ReferenceSeeding>(input_, k.size(), abort_);
  }
  std::string plan() const override { return "every canonical distance, one thread"; }

 private:
  const Input& input_;
  const std::atomic<bool>* abort_;
};

class ReferenceBackend final : public Backend {
 public:
  explicit ReferenceBackend(const std::atomic<bool>* abort) : abort_(abort) {}
  std::string_view name() const override { return "reference"; }
  std::string instruction_set() const override { return "portable"; }
  int threads() const override { return 1; }
  bool keeps_to_memory() const override { return true; }
  std::unique_ptr<Upload> upload(const Input& input, const Workload&) override {
    return std::make_unique<ReferenceUpload>(input, abort_);
  }

 private:
  const std::atomic<bool>* abort_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(const BackendOptions& options) {
  check_algorithm(options.algorithm);
  if (options.algorithm != "auto" && options.algorithm != "brute") {
    throw Error(ErrorCode::kUsage, "algorithm",
                "the reference backend computes every distance, '" + options.algorithm +
                    "' was asked for; use auto or brute, or another backend");
  }
  return std::make_unique<ReferenceBackend>(options.abort);
}

}  // namespace manymeans
