#include "backend/opencl/runtime/program_cache.h"

#include <manymeans/error.h>

#include "core/environment.h"

#include <fmt/format.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

namespace manymeans::opencl {
namespace {

namespace fs = std::filesystem;

using Binary = std::vector<unsigned char>;

// A file that is not whole, or is another program's, has another header.
struct Header {
  char magic[16] = "manymeans cl 1\n";
  uint64_t key[2] = {};    // of the program, as in the file's name
  uint64_t bytes = 0;      // that follow
  uint64_t check[2] = {};  // hash of these
};

struct Hash {
  uint64_t low, high;

  std::string text() const { return fmt::format("{:016x}{:016x}", high, low); }
};

Hash hash_of(const void* data, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return {hash.low64, hash.high64};
}

Hash key_of(const DeviceFacts& device, std::string_view source, const std::string& options) {
  std::string all;
  const auto add = [&all](std::string_view text) {
    all += fmt::format("{}:", text.size());
    all += text;
  };
  for (const std::string_view text : {std::string_view(device.name), std::string_view(device.version),
                                      std::string_view(device.driver), std::string_view(device.platform_name),
                                      std::string_view(device.platform_version), source, std::string_view(options)}) {
    add(text);
  }
  for (const std::string& setting : environment::compiler_settings()) add(setting);
  return hash_of(all.data(), all.size());
}

Header header_of(const Hash& key, const Binary& binary) {
  Header header;
  header.key[0] = key.low;
  header.key[1] = key.high;
  header.bytes = binary.size();
  const Hash check = hash_of(binary.data(), binary.size());
  header.check[0] = check.low;
  header.check[1] = check.high;
  return header;
}

std::optional<Binary> read_binary(const std::string& path, const Hash& key) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const auto length = static_cast<int64_t>(file.tellg());
  if (length <= static_cast<int64_t>(sizeof(Header))) return std::nullopt;
  Header header;
  Binary binary(static_cast<size_t>(length) - sizeof(Header));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  file.read(reinterpret_cast<char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
  if (!file) return std::nullopt;
  const Header wanted = header_of(key, binary);
  if (std::memcmp(&header, &wanted, sizeof(header)) != 0) return std::nullopt;
  return binary;
}

// Whatever goes wrong here costs the next process a build, and nothing else.
void write_binary(const std::string& path, const Hash& key, const Binary& binary) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  const std::string beside = fmt::format("{}.{}", path, ::getpid());
  {
    std::ofstream file(beside, std::ios::binary);
    const Header header = header_of(key, binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.write(reinterpret_cast<const char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
    file.flush();
    if (!file) {
      file.close();
      fs::remove(beside, ignored);
      return;
    }
  }
  fs::rename(beside, path, ignored);
  if (ignored) fs::remove(beside, ignored);
}

std::string log_of(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  if (api().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) != CL_SUCCESS) return "";
  std::string log(bytes, '\0');
  api().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

// Null where the driver does not want this binary.
cl_program from_binary(const BuildTarget& target, const Binary& binary, const std::string& options) {
  const size_t bytes = binary.size();
  const unsigned char* data = binary.data();
  cl_int of_binary = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  const cl_program program =
      api().clCreateProgramWithBinary(target.context, 1, &target.device.id, &bytes, &data, &of_binary, &status);
  if (status != CL_SUCCESS) return nullptr;
  if (of_binary == CL_SUCCESS &&
      api().clBuildProgram(program, 1, &target.device.id, options.c_str(), nullptr, nullptr) == CL_SUCCESS) {
    return program;
  }
  api().clReleaseProgram(program);
  return nullptr;
}

cl_program from_source(const BuildTarget& target, std::string_view source, const std::string& options) {
  const char* text = source.data();
  const size_t length = source.size();
  cl_int status = CL_SUCCESS;
  const cl_program program = api().clCreateProgramWithSource(target.context, 1, &text, &length, &status);
  check(status, "clCreateProgramWithSource", "making a program");
  status = api().clBuildProgram(program, 1, &target.device.id, options.c_str(), nullptr, nullptr);
  if (status == CL_SUCCESS) return program;
  const std::string log = log_of(program, target.device.id);
  api().clReleaseProgram(program);
  throw Error(is_out_of_memory(status) ? ErrorCode::kUnavailable : ErrorCode::kInternal, "opencl",
              fmt::format("building kernels for {} (driver {}) with '{}': clBuildProgram answered {}; its log:\n{}",
                          target.device.name, target.device.driver, options, name_of_status(status), log));
}

Binary binary_of(cl_program program) {
  size_t bytes = 0;
  if (api().clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, nullptr) != CL_SUCCESS) return {};
  Binary binary(bytes);
  unsigned char* data = binary.data();
  if (api().clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr) != CL_SUCCESS) return {};
  return binary;
}

}  // namespace

std::string cached_program_file(const DeviceFacts& device, std::string_view source, const std::string& options) {
  const std::string folder = environment::opencl_cache();
  return folder.empty() ? "" : folder + "/" + key_of(device, source, options).text() + ".bin";
}

cl_program build_program(const BuildTarget& target, std::string_view source, const std::string& options) {
  const std::string path = cached_program_file(target.device, source, options);
  if (path.empty()) return from_source(target, source, options);
  const Hash key = key_of(target.device, source, options);
  if (const std::optional<Binary> binary = read_binary(path, key)) {
    const cl_program program = from_binary(target, *binary, options);
    if (program != nullptr) return program;
  }
  const cl_program program = from_source(target, source, options);
  const Binary binary = binary_of(program);
  if (!binary.empty()) write_binary(path, key, binary);
  return program;
}

}  // namespace manymeans::opencl
