// An open device: its context, built programs, memory, queues and events. It stays open until the process ends: a
// driver takes long to begin, and programs take long to build.
#pragma once

#include "backend/device/queue.h"
#include "backend/opencl/runtime/opencl_platform.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>

namespace manymeans::opencl {

using device::Address;
using device::Patience;
using device::Settled;

class OpenClDevice;

/// All queues of this runtime.
class OpenClQueue final : public device::Queue {
 public:
  OpenClQueue(const OpenClDevice& device, cl_command_queue queue, const Patience& patience);
  ~OpenClQueue() override;

  const device::Runtime& runtime() const override { return runtime_; }
  cl_command_queue get() const { return queue_; }
  void copy_to_device(Address to, const void* from, size_t bytes, const char* what) const override;
  void copy_to_host(void* to, Address from, size_t bytes, const char* what) const override;
  void fill(Address to, std::byte value, size_t bytes, const char* what) const override;
  void wait_for(const device::Event& event, const char* what) const override;

  /// The event of what was enqueued last, which becomes this queue's.
  void follow(cl_event event) const;
  /// The event of the last follow(); null if nothing was enqueued.
  cl_event last() const { return last_; }
  void flush(const char* doing) const;

 private:
  bool is_done(const char* doing) const override;
  device::Unfinished unfinished() const noexcept override;

  const device::Runtime& runtime_;
  cl_command_queue queue_;
  bool shares_processors_;  // with the thread that waits
  mutable cl_event last_ = nullptr;
  mutable bool flushed_ = true;
  mutable int questions_ = 0;  // about the last event
};

inline const OpenClQueue& queue_of(const device::Queue& queue) {
  return static_cast<const OpenClQueue&>(queue);
}

/// A program that is built, for one device.
class Program {
 public:
  explicit Program(cl_program program) : program_(program) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();
  cl_program get() const { return program_; }

 private:
  cl_program program_;
};

class OpenClDevice final : public device::Runtime {
 public:
  explicit OpenClDevice(const DeviceFacts& facts);

  const DeviceFacts& facts() const { return facts_; }
  cl_context context() const { return context_; }

  /// A program from one of the sources of kernel_sources.h, with these options. It is built when it is first asked for.
  const Program& program(std::string_view source, const std::string& options) const;
  /// Returns the result of make() for a question, and remembers it.
  bool remembered(const std::string& question, const std::function<bool()>& make) const;

  std::string_view name() const override { return "opencl"; }
  void* allocate(size_t bytes, const char* what) const override;
  void free(void* memory) const noexcept override;
  void* allocate_pinned(size_t bytes, const char* what) const override;
  void free_pinned(void* memory) const noexcept override;
  bool is_pinned(const void* address) const override;
  std::unique_ptr<device::Queue> make_queue(const Patience& patience) const override;
  std::unique_ptr<device::Event> make_event() const override;

 private:
  cl_command_queue create_queue(const char* doing) const;
  cl_mem make_buffer(size_t bytes, cl_mem_flags flags, const char* what) const;
  std::unique_ptr<Program> build(std::string_view source, const std::string& options) const;

  DeviceFacts facts_;
  cl_context context_ = nullptr;
  cl_command_queue maps_ = nullptr;    // maps pinned memory; a map would wait for kernels of its queue
  cl_command_queue common_ = nullptr;  // runs everybody's kernels where queues cannot run at once
  struct Pinned {
    cl_mem memory;
    size_t bytes;
  };
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Program>> programs_;
  mutable std::map<std::string, bool> remembered_;
  mutable std::map<const void*, Pinned> pinned_;  // by address
};

/// Opens a device, or finds it open. Throws Error(kUnavailable) if no device has this number.
const OpenClDevice& open_device(int index);
/// Facts of that device, without opening it.
DeviceFacts facts_of_device(int index);

inline cl_mem memory_of(Address address) {
  return static_cast<cl_mem>(address.memory);
}

}  // namespace manymeans::opencl
