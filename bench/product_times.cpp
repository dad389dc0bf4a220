// Products of matrices that lie on a CUDA device, beside cuBLAS in the same process, call by call in turns:
//
//   product_times [--cublas LIBRARY] TYPE ROWS DEPTH COLUMNS [TYPE ROWS DEPTH COLUMNS ...]
//
// A line for each: type, rows, depth, columns, seconds of manymeans, of cuBLAS (both medians of calls that were waited
// for), entries, entries that were summed exactly, per cent of cuBLAS's entries that are not the nearest number, and of
// those that differ between its first and its last call; the same of manymeans last. "-": not known. Normal values.
#include <manymeans/multiply.h>

#include "backend/cuda/runtime/device_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace manymeans;

constexpr size_t kBlock = size_t{1} << 22;     // values that are drawn; more of them repeat
constexpr size_t kCompared = size_t{1} << 28;  // bytes of a product that are compared, at most
constexpr double kSeconds = 0.5;

class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) { cuda::check(cudaMalloc(&data_, bytes), "memory of a benchmark"); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  void* data() const { return data_; }

  template <class T>
  void fill(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<T> normal;
    const size_t count = bytes_ / sizeof(T);
    std::vector<T> values(std::min(kBlock - 1, count));  // odd, so that rows do not repeat together
    for (T& value : values) value = normal(random);
    for (size_t at = 0; at < count; at += values.size()) {
      const size_t some = std::min(values.size(), count - at);
      cuda::check(cudaMemcpy(static_cast<T*>(data_) + at, values.data(), some * sizeof(T), cudaMemcpyHostToDevice),
                  "values of a benchmark");
    }
  }
  std::vector<std::byte> first_bytes() const {
    std::vector<std::byte> bytes(std::min(bytes_, kCompared));
    cuda::check(cudaMemcpy(bytes.data(), data_, bytes.size(), cudaMemcpyDeviceToHost), "a product");
    return bytes;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

struct Shape {
  DataType type;
  int64_t rows, depth, columns;
};

// cuBLAS, where its library can be opened.
class Cublas {
 public:
  explicit Cublas(const std::string& library) {
    for (const std::string& name : {library, std::string("libcublas.so.13"), std::string("libcublas.so.12"),
                                    std::string("/usr/local/cuda/lib64/libcublas.so")}) {
      if (handle_ == nullptr && !name.empty()) handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (handle_ == nullptr) return;
    auto* create = reinterpret_cast<int (*)(void**)>(dlsym(handle_, "cublasCreate_v2"));
    single_ = reinterpret_cast<Multiply<float>*>(dlsym(handle_, "cublasSgemm_v2"));
    double_ = reinterpret_cast<Multiply<double>*>(dlsym(handle_, "cublasDgemm_v2"));
    if (create == nullptr || single_ == nullptr || double_ == nullptr || create(&context_) != 0) handle_ = nullptr;
  }
  bool there() const { return handle_ != nullptr; }
  // Matrices by rows are their transposes by columns.
  void multiply(const Shape& shape, const void* a, const void* b, void* c) const {
    const int status = shape.type == DataType::kFloat64 ? call(double_, shape, a, b, c) : call(single_, shape, a, b, c);
    if (status != 0) throw Error(ErrorCode::kInternal, "cublas", fmt::format("status {}", status));
    cuda::check(cudaDeviceSynchronize(), "cuBLAS");
  }

 private:
  template <class T>
  using Multiply = int(void*, int, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);

  template <class T>
  int call(Multiply<T>* function, const Shape& shape, const void* a, const void* b, void* c) const {
    const T one = 1, zero = 0;
    const auto rows = static_cast<int>(shape.rows), depth = static_cast<int>(shape.depth);
    const auto columns = static_cast<int>(shape.columns);
    return function(context_, 0, 0, columns, rows, depth, &one, static_cast<const T*>(b), columns,
                    static_cast<const T*>(a), depth, &zero, static_cast<T*>(c), columns);
  }

  void* handle_ = nullptr;
  void* context_ = nullptr;
  Multiply<float>* single_ = nullptr;
  Multiply<double>* double_ = nullptr;
};

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double>& values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string share(const std::vector<std::byte>& a, const std::vector<std::byte>& b, size_t size) {
  size_t different = 0;
  for (size_t at = 0; at < a.size(); at += size) different += std::memcmp(a.data() + at, b.data() + at, size) != 0;
  return fmt::format("{:.4f}", 100.0 * static_cast<double>(different) / static_cast<double>(a.size() / size));
}

void time_shape(const Shape& shape, const Cublas& cublas) {
  const size_t size = size_of(shape.type);
  const auto bytes = [size](int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns) * size; };
  Memory a(bytes(shape.rows, shape.depth)), b(bytes(shape.depth, shape.columns)), c(bytes(shape.rows, shape.columns));
  for (const auto& [memory, seed] : {std::pair{&a, 1}, std::pair{&b, 2}}) {
    shape.type == DataType::kFloat64 ? memory->fill<double>(static_cast<uint64_t>(seed))
                                     : memory->fill<float>(static_cast<uint64_t>(seed));
  }
  MatrixView x(a.data(), shape.rows, shape.depth, shape.type), y(b.data(), shape.depth, shape.columns, shape.type);
  x.place = y.place = {"cuda", 0};
  const ProductView out{c.data(), shape.rows, shape.columns, shape.type, shape.columns, 1, {"cuda", 0}};
  ProductCounts counts;
  const auto ours = [&] { counts = multiply_into(x, y, out); };
  const auto theirs = [&] { cublas.multiply(shape, a.data(), b.data(), c.data()); };
  ours();
  const std::vector<std::byte> exact = c.first_bytes();
  std::vector<std::byte> other, last;
  std::vector<double> our_seconds, their_seconds;
  if (cublas.there()) {
    theirs();
    other = c.first_bytes();
  }
  double spent = 0;
  while (our_seconds.size() < 3 || (spent < kSeconds && our_seconds.size() < 200)) {
    our_seconds.push_back(seconds_of(ours));
    spent += our_seconds.back();
    if (cublas.there()) their_seconds.push_back(seconds_of(theirs));
  }
  if (cublas.there()) last = c.first_bytes();
  ours();
  const std::string again = share(exact, c.first_bytes(), size);
  const bool peer = cublas.there();
  fmt::print("{} {} {} {} {:.6f} {} {} {} {} {} {}\n", name_of(shape.type), shape.rows, shape.depth, shape.columns,
             median(our_seconds), peer ? fmt::format("{:.6f}", median(their_seconds)) : "-", counts.entries,
             counts.resolved, peer ? share(exact, other, size) : "-", peer ? share(other, last, size) : "-", again);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::string library;
    int at = 1;
    if (at + 1 < argc && std::string(argv[at]) == "--cublas") library = argv[at + 1], at += 2;
    const Cublas cublas(library);
    if (!cublas.there()) std::fprintf(stderr, "product_times: there is no cuBLAS here; --cublas says where it is\n");
    for (; at + 3 < argc; at += 4) {
      const DataType type = std::string(argv[at]) == "float64" ? DataType::kFloat64 : DataType::kFloat32;
      try {
        time_shape({type, std::atoll(argv[at + 1]), std::atoll(argv[at + 2]), std::atoll(argv[at + 3])}, cublas);
      } catch (const Error& error) {  // memory, mostly
        std::fprintf(stderr, "%s %s %s %s: %s\n", argv[at], argv[at + 1], argv[at + 2], argv[at + 3], error.what());
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "product_times: %s\n", error.what());
    return 1;
  }
  return 0;
}
