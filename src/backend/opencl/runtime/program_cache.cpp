#include "backend/opencl/runtime/program_cache.h"

#include <manymeans/error.h>

#include "core/environment.h"
#include "core/open_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
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

// The bytes behind the header, where this user alone can have written the file: its code will run.
std::optional<size_t> size_of_binary(const InputFile& file) {
  constexpr off_t kMaxBytes = off_t{1} << 28;  // a hundred times what drivers make
  constexpr auto kHeader = static_cast<off_t>(sizeof(Header));
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) return std::nullopt;
  if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  if (status.st_size <= kHeader || status.st_size > kMaxBytes) return std::nullopt;
  return static_cast<size_t>(status.st_size - kHeader);
}

std::optional<Binary> read_binary(const std::string& path, const Hash& key) try {
  const InputFile file(path, FileKind::kRegular);
  const std::optional<size_t> size = size_of_binary(file);
  if (!size) return std::nullopt;
  Header header;
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  if (header.bytes != *size) return std::nullopt;
  Binary binary(*size);
  file.read(reinterpret_cast<char*>(binary.data()), binary.size());
  const Header wanted = header_of(key, binary);
  if (std::memcmp(&header, &wanted, sizeof(header)) != 0) return std::nullopt;
  return binary;
} catch (const Error&) {  // there is none, or a folder or a pipe
  return std::nullopt;
}

// Those that are there stay as they are.
void make_folders(const fs::path& folder) {
  fs::path made;
  for (const fs::path& part : folder) ::mkdir((made /= part).c_str(), S_IRWXU);
}

// Whatever goes wrong here costs the next process a build, and nothing else.
void write_binary(const std::string& path, const Hash& key, const Binary& binary) {
  make_folders(fs::path(path).parent_path());
  std::string beside = path + ".XXXXXX";
  const int made = ::mkostemp(beside.data(), O_CLOEXEC);
  std::FILE* const file = made < 0 ? nullptr : ::fdopen(made, "wb");
  if (file == nullptr) return;
  const Header header = header_of(key, binary);
  const bool whole = std::fwrite(&header, sizeof(header), 1, file) == 1 &&
                     std::fwrite(binary.data(), 1, binary.size(), file) == binary.size();
  const bool closed = std::fclose(file) == 0;
  if (!whole || !closed || ::rename(beside.c_str(), path.c_str()) != 0) ::unlink(beside.c_str());
}

std::string log_of(cl_program program, cl_device_id device) {
  size_t bytes = 0;
  if (api().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) != CL_SUCCESS) return "";
  std::string log(bytes, '\0');
  api().clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log;
}

// Returns null if the driver rejects this binary.
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
