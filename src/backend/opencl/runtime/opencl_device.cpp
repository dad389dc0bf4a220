#include "backend/opencl/runtime/opencl_device.h"

#include <manymeans/error.h>

#include "backend/opencl/runtime/program_cache.h"
#include "core/mapped_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace manymeans::opencl {
namespace {

// Destructors cannot throw, and what follows waits for no device.
void release(cl_event event) noexcept {
  if (event != nullptr) api().clReleaseEvent(event);
}

// Returns true if the work up to this event is done. Throws its errors.
bool has_come(cl_event event, const char* doing) {
  if (event == nullptr) return true;
  cl_int status = CL_COMPLETE;
  check(api().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr),
        "clGetEventInfo", doing);
  if (status < 0) check(status, "the device", doing);
  return status == CL_COMPLETE;
}

// The event of the last work of its queue: queues do one thing after the other.
class OpenClEvent final : public device::Event {
 public:
  OpenClEvent() = default;
  ~OpenClEvent() override { release(event_); }

  void record(const device::Queue& queue) override {
    const OpenClQueue& of = queue_of(queue);
    keep(of.last());
    of.flush("recording an event");  // another queue may wait for it
  }
  void try_record(const device::Queue& queue) noexcept override {
    try {
      record(queue);
    } catch (const Error&) {  // record() set the event before it threw
    }
  }
  cl_event get() const { return event_; }

 private:
  bool is_reached(const char* doing) const override { return has_come(event_, doing); }
  void keep(cl_event event) noexcept {
    if (event != nullptr) api().clRetainEvent(event);
    release(event_);
    event_ = event;
  }

  cl_event event_ = nullptr;
};

Error does_not_fit(const DeviceFacts& facts, size_t bytes, const char* what, const std::string& why) {
  return Error(ErrorCode::kUnavailable, "opencl device memory",
               fmt::format("{} needs {} bytes, and {} ({}); use fewer points, columns or models at a time, or "
                           "--backend cpu",
                           what, bytes, why, facts.name));
}

}  // namespace

OpenClQueue::OpenClQueue(const OpenClDevice& device, cl_command_queue queue, const Patience& patience)
    : Queue(patience), runtime_(device), queue_(queue), shares_processors_(device.facts().processor) {}

OpenClQueue::~OpenClQueue() {
  settle();
  if (given_up()) return;
  release(last_);
  api().clReleaseCommandQueue(queue_);
}

// A queue that was given up is queried again later, so its event stays.
void OpenClQueue::follow(cl_event event) const {
  if (!given_up()) release(last_);
  last_ = event;
  flushed_ = false;
  questions_ = 0;
}

void OpenClQueue::flush(const char* doing) const {
  if (flushed_) return;
  check(api().clFlush(queue_), "clFlush", doing);
  flushed_ = true;
}

void OpenClQueue::copy_to_device(Address to, const void* from, size_t bytes, const char* what) const {
  if (bytes == 0) return;
  cl_event event = nullptr;
  check(api().clEnqueueWriteBuffer(queue_, memory_of(to), CL_FALSE, to.offset, bytes, from, 0, nullptr, &event),
        "clEnqueueWriteBuffer", what);
  follow(event);
}

void OpenClQueue::copy_to_host(void* to, Address from, size_t bytes, const char* what) const {
  if (bytes == 0) return;
  cl_event event = nullptr;
  check(api().clEnqueueReadBuffer(queue_, memory_of(from), CL_FALSE, from.offset, bytes, to, 0, nullptr, &event),
        "clEnqueueReadBuffer", what);
  follow(event);
}

void OpenClQueue::fill(Address to, std::byte value, size_t bytes, const char* what) const {
  if (bytes == 0) return;
  cl_event event = nullptr;
  check(api().clEnqueueFillBuffer(queue_, memory_of(to), &value, 1, to.offset, bytes, 0, nullptr, &event),
        "clEnqueueFillBuffer", what);
  follow(event);
}

void OpenClQueue::wait_for(const device::Event& awaited, const char* what) const {
  const cl_event other = static_cast<const OpenClEvent&>(awaited).get();
  if (other == nullptr) return;
  cl_event event = nullptr;
  check(api().clEnqueueBarrierWithWaitList(queue_, 1, &other, &event), "clEnqueueBarrierWithWaitList", what);
  follow(event);
}

bool OpenClQueue::is_done(const char* doing) const {
  constexpr int kImpatient = 200;  // after some tens of microseconds
  constexpr std::chrono::microseconds kPause{50};
  flush(doing);
  if (has_come(last_, doing)) return true;
  // Who asks again and again takes a processor from the work, where the device is one.
  if (shares_processors_ && ++questions_ > kImpatient) std::this_thread::sleep_for(kPause);
  return false;
}

device::Unfinished OpenClQueue::unfinished() const noexcept {
  const auto has_ended = [](void* event) {
    cl_int status = CL_COMPLETE;
    const cl_int answer = api().clGetEventInfo(static_cast<cl_event>(event), CL_EVENT_COMMAND_EXECUTION_STATUS,
                                               sizeof(status), &status, nullptr);
    return answer != CL_SUCCESS || status <= CL_COMPLETE;
  };
  if (!flushed_) api().clFlush(queue_);
  flushed_ = true;
  return {last_, has_ended};
}

Program::~Program() {
  api().clReleaseProgram(program_);
}

OpenClDevice::OpenClDevice(const DeviceFacts& facts) : facts_(facts) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(facts.platform), 0};
  cl_int status = CL_SUCCESS;
  context_ = api().clCreateContext(properties, 1, &facts_.id, nullptr, nullptr, &status);
  check(status, "clCreateContext", "opening a device");
  try {
    maps_ = create_queue("opening a device");
    if (!facts_.several_queues) common_ = create_queue("opening a device");
  } catch (const Error&) {
    if (maps_ != nullptr) api().clReleaseCommandQueue(maps_);
    api().clReleaseContext(context_);
    throw;
  }
}

cl_command_queue OpenClDevice::create_queue(const char* doing) const {
  cl_int status = CL_SUCCESS;
  const cl_command_queue queue = api().clCreateCommandQueue(context_, facts_.id, 0, &status);
  check(status, "clCreateCommandQueue", doing);
  return queue;
}

cl_mem OpenClDevice::make_buffer(size_t bytes, cl_mem_flags flags, const char* what) const {
  if (static_cast<int64_t>(bytes) > facts_.largest_buffer) {
    throw does_not_fit(facts_, bytes, what,
                       fmt::format("the device's largest allocation is {} bytes", facts_.largest_buffer));
  }
  cl_int status = CL_SUCCESS;
  const cl_mem memory = api().clCreateBuffer(context_, flags, bytes, nullptr, &status);
  if (is_out_of_memory(status)) {
    throw does_not_fit(facts_, bytes, what, "clCreateBuffer answered " + name_of_status(status));
  }
  check(status, "clCreateBuffer", what);
  return memory;
}

void* OpenClDevice::allocate(size_t bytes, const char* what) const {
  return bytes == 0 ? nullptr : make_buffer(bytes, CL_MEM_READ_WRITE, what);
}

void OpenClDevice::free(void* memory) const noexcept {
  if (memory != nullptr && device::devices_answer_now()) api().clReleaseMemObject(static_cast<cl_mem>(memory));
}

// A processor copies from and to any memory of the host. Other devices do so at their link's rate with memory that the
// driver has made. Only a map returns its address.
void* OpenClDevice::allocate_pinned(size_t bytes, const char* what) const {
  if (bytes == 0) return nullptr;
  if (facts_.processor) {
    constexpr size_t kAlignment = 64;
    void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr) throw does_not_fit(facts_, bytes, what, "the host has no such memory");
    return memory;
  }
  const cl_mem memory = make_buffer(bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, what);
  cl_int status = CL_SUCCESS;
  void* const address = api().clEnqueueMapBuffer(maps_, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                                 nullptr, nullptr, &status);
  if (status != CL_SUCCESS) {
    api().clReleaseMemObject(memory);
    check(status, "clEnqueueMapBuffer", what);
  }
  const std::lock_guard lock(mutex_);
  pinned_[address] = {memory, bytes};
  return address;
}

void OpenClDevice::free_pinned(void* address) const noexcept {
  if (address == nullptr || !device::devices_answer_now()) return;
  if (facts_.processor) return std::free(address);
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find(address);
  if (found == pinned_.end()) return;
  api().clEnqueueUnmapMemObject(maps_, found->second.memory, address, 0, nullptr, nullptr);
  api().clReleaseMemObject(found->second.memory);
  pinned_.erase(found);
}

bool OpenClDevice::is_pinned(const void* address) const {
  if (facts_.processor) return true;
  const std::lock_guard lock(mutex_);
  auto after = pinned_.upper_bound(address);
  if (after == pinned_.begin()) return false;
  --after;
  return static_cast<const char*>(address) < static_cast<const char*>(after->first) + after->second.bytes;
}

std::unique_ptr<device::Queue> OpenClDevice::make_queue(const Patience& patience) const {
  if (common_ == nullptr) return std::make_unique<OpenClQueue>(*this, create_queue("making a queue"), patience);
  check(api().clRetainCommandQueue(common_), "clRetainCommandQueue", "making a queue");
  return std::make_unique<OpenClQueue>(*this, common_, patience);
}

std::unique_ptr<device::Event> OpenClDevice::make_event() const {
  return std::make_unique<OpenClEvent>();
}

const Program& OpenClDevice::program(std::string_view source, const std::string& options) const {
  const std::lock_guard lock(mutex_);
  std::string key = options;
  key.push_back('\0');
  key += source;
  std::unique_ptr<Program>& program = programs_[std::move(key)];
  if (!program) program = build(source, options);
  return *program;
}

bool OpenClDevice::remembered(const std::string& question, const std::function<bool()>& make) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = remembered_.find(question);
    if (found != remembered_.end()) return found->second;
  }
  const bool answer = make();  // which may build programs
  const std::lock_guard lock(mutex_);
  return remembered_[question] = answer;
}

std::unique_ptr<Program> OpenClDevice::build(std::string_view source, const std::string& options) const {
  if (!facts_.compiler) {
    throw Error(ErrorCode::kUnavailable, "opencl",
                facts_.name + " has no compiler for OpenCL C; use another device, or --backend cpu");
  }
  auto program = std::make_unique<Program>(build_program({context_, facts_}, source, options));
  go_on_replacing_lost_pages();
  return program;
}

namespace {

std::vector<DeviceFacts> known_devices() {
  if (!device::devices_answer_now()) {
    throw Error(ErrorCode::kUnavailable, "backend opencl",
                "a device did not answer before, and work that it was given has not ended since; start a new process, "
                "or use --backend cpu");
  }
  return find_devices();
}

}  // namespace

DeviceFacts facts_of_device(int index) {
  const std::vector<DeviceFacts> devices = known_devices();
  if (devices.empty()) {
    throw Error(ErrorCode::kUnavailable, "backend opencl",
                "there is no OpenCL device: the ICD loader knows no platform with one; install a driver (for "
                "processors, Debian: pocl-opencl-icd), or use --backend cpu");
  }
  if (index < 0 || index >= static_cast<int>(devices.size())) {
    throw Error(ErrorCode::kUnavailable, "backend opencl",
                fmt::format("there is no device {}; there are {} (from 0 on)", index, devices.size()));
  }
  const DeviceFacts& facts = devices[static_cast<size_t>(index)];
  check_usable(facts);
  return facts;
}

const OpenClDevice& open_device(int index) {
  static std::mutex mutex;
  static auto* const open = new std::map<cl_device_id, std::unique_ptr<OpenClDevice>>;  // drivers end before us
  const DeviceFacts facts = facts_of_device(index);
  const std::lock_guard lock(mutex);
  std::unique_ptr<OpenClDevice>& device = (*open)[facts.id];
  if (!device) device = std::make_unique<OpenClDevice>(facts);
  return *device;
}

}  // namespace manymeans::opencl
