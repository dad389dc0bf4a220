#include "backend/make_seeding.h"

namespace manymeans {

SeedingOwner make_seeding(Upload& upload, const Input& input, std::span<const int64_t> k, ThreadPool& pool) {
  SeedingOwner owner;
  owner.seeding = upload.seeding(k, pool);
  if (owner.seeding) return owner;
  BackendOptions options;
  options.threads = pool.size();
  options.abort = pool.abort();
  owner.backend = make_backend("cpu", options);
  owner.upload = owner.backend->upload(input);
  owner.seeding = owner.upload->seeding(k, pool);
  return owner;
}

std::vector<int64_t> cluster_weights_by_pass(Upload& upload, const Matrix& centres, int threads) {
  const int64_t count = centres.rows();
  const auto session = upload.session({&count, 1}, threads);
  PassModel pass{0, &centres, {}};
  session->advance({&pass, 1}, 1);
  return session->statistics(0).weights;
}

}  // namespace manymeans
