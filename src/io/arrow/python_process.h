// Another process: a Python that has pyarrow. Includes nothing of Arrow.
#pragma once

#include <manymeans/error.h>

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace manymeans {

/// A request: items, as arrow_process.py describes them.
class PythonRequest {
 public:
  explicit PythonRequest(std::string_view name) { add(name); }
  PythonRequest& add(std::span<const std::byte> bytes);
  PythonRequest& add(std::string_view text) { return add(std::as_bytes(std::span(text.data(), text.size()))); }
  PythonRequest& add(int64_t number) { return add(std::as_bytes(std::span(&number, 1))); }
  PythonRequest& add(const std::vector<int>& numbers);

 private:
  friend class PythonProcess;
  std::vector<std::byte> bytes_;
  int64_t items_ = 0;
};

/// What was answered.
struct PythonAnswer {
  std::shared_ptr<const std::byte> bytes;  ///< keeps the items, which are aligned to eight
  std::vector<std::span<const std::byte>> items;
};

/// Reads the items of an answer one after the other. Throws Error(kUnavailable) for an item that cannot be read so.
class PythonItems {
 public:
  explicit PythonItems(const PythonAnswer& answer) : items_(answer.items) {}
  bool empty() const { return at_ == items_.size(); }
  std::span<const std::byte> next();
  std::string_view text();
  int64_t number();

 private:
  const std::vector<std::span<const std::byte>>& items_;
  size_t at_ = 0;
};

/// A Python that was looked for.
struct PythonFound {
  std::string program;  ///< empty: there is none that has pyarrow
  std::string version;  ///< of pyarrow
  std::string reason;   ///< why there is none, and what to do about it
};

/// The Python that MANYMEANS_PYTHON names, else one next to this program, else the first python3 of PATH that has
/// pyarrow. Looked for once, and again if the environment has changed. A silent one gets a minute, or
/// MANYMEANS_PYTHON_PATIENCE seconds, once in a process. So does one that does nothing with a question.
PythonFound find_python();

/// Any thread may ask; a question waits for the one before. The process ends with the object, and when this process is
/// gone, in whatever way.
class PythonProcess {
 public:
  /// `path`: of the file that it is about, for messages; `input`: a descriptor of it, which the process has as 3, or
  /// -1. Throws Error(kUnavailable) if no Python has pyarrow.
  explicit PythonProcess(std::string path, int input = -1);
  ~PythonProcess();
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;

  /// Throws Error(kBadData) with what Python says of the file, std::bad_alloc where its memory does not suffice, and
  /// Error(kUnavailable) where it has ended.
  /// `written`: the path of the file that the request is to write; empty: the object's path.
  PythonAnswer ask(const PythonRequest& request, const std::string& written = {});

 private:
  friend PythonFound find_python();
  PythonProcess() = default;
  PythonFound look(int input);
  void begin(int input);
  int keep(const std::function<pid_t()>& start);
  PythonFound greet();
  bool send(std::span<const std::byte> bytes);
  bool is_working();
  void await(short events);
  bool receive(std::span<std::byte> bytes);
  PythonAnswer receive_answer();
  [[noreturn]] void fail_ended();
  std::string how_it_ended();
  void end();

  std::string path_ = "Python", program_;
  std::string end_;   // how it has ended; empty: it has not, as far as anybody knows
  int patience_ = 0;  // seconds
  bool greeted_ = false;
  std::chrono::steady_clock::time_point until_;  // nobody waits longer
  double worked_ = 0;  // seconds of a processor that it had used when it was last seen to work
  std::mutex mutex_;
  int socket_ = -1, complaints_ = -1;
  pid_t process_ = -1;
  std::thread keeper_;  // has started the process, and waits until it has ended
  std::promise<void> ended_;
};

}  // namespace manymeans
