#include "io/arrow/python_process.h"

#include "core/environment.h"
#include "core/os/process.h"
#include "core/os/unnamed_file.h"
#include "io/arrow/fields.h"
#include "io/arrow/python_script.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace manymeans {
namespace {

constexpr std::string_view kGreeting = "manymeans fields 1";
constexpr const char* kVariable = "MANYMEANS_PYTHON";
constexpr const char* kPatienceVariable = "MANYMEANS_PYTHON_PATIENCE";
constexpr int kPatience = 60;      // seconds until the greeting: pyarrow may come over a slow network, unpacked anew
constexpr double kMinWork = 5e-4;  // of a processor: what reads a file of a megabyte a second takes a thousandth
constexpr size_t kMaxBytes = size_t{1} << 40;  // of an answer: anything above is none

size_t padded(size_t size) {
  return (size + 7) / 8 * 8;
}

struct Head {
  int64_t bytes = 0, items = 0;
};

// A descriptor above those that the process gets, so that none is closed by being put in its place.
int moved_up(int file) {
  constexpr int kAbove = 10;
  const int moved = file < 0 ? -1 : ::fcntl(file, F_DUPFD_CLOEXEC, kAbove);
  if (file >= 0) ::close(file);
  return moved;
}

// --- Another program
struct Start {
  const char* program;
  char* const* arguments;
  int ends, complaints, input;
  pid_t parent;
};

// In the memory of the parent, which waits: only async-signal-safe calls. It is killed when the thread that started it
// has ended, in whatever way.
[[noreturn]] void become(const Start& start, volatile int& error) {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  const bool ready = ::setpgid(0, 0) == 0 && end_with_parent() && ::dup2(start.ends, STDIN_FILENO) >= 0 &&
                     ::dup2(start.ends, STDOUT_FILENO) >= 0 && ::dup2(start.complaints, STDERR_FILENO) >= 0 &&
                     (start.input < 0 || ::dup2(start.input, STDERR_FILENO + 1) >= 0) &&
                     ::chdir("/") == 0;  // no module of the folder at hand is taken for Python's
  if (ready && ::getppid() == start.parent && ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0) {
    std::strchr(start.program, '/') != nullptr ? ::execv(start.program, start.arguments)
                                               : ::execvp(start.program, start.arguments);
  }
  error = errno;
  ::_exit(1);
}

// Where it cannot be started, -1, and errno says why. Signals are blocked: no handler of the parent runs in the child.
pid_t start_process(const Start& start) {
  volatile int error = 0;
  const pid_t process = ::vfork();  // a fork would copy the tables of all memory that there is
  if (process == 0) become(start, error);
  if (process < 0 || error == 0) return process;
  ::waitpid(process, nullptr, 0);
  errno = error;
  return -1;
}

// --- Which Python
// Those that are tried, in this order.
std::vector<std::string> candidates() {
  const std::string named = environment::python();
  if (!named.empty()) return {named};
  std::vector<std::string> found;
  const auto add = [&](const std::filesystem::path& program) {
    if (::access(program.c_str(), X_OK) != 0) return;
    if (std::ranges::find(found, program.string()) == found.end()) found.push_back(program.string());
  };
  const std::filesystem::path beside = program_file().parent_path();
  if (!beside.empty()) {
    add(beside / "python3");
    add(beside / "python");
  }
  const std::string path = environment::program_path();
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find(':', at), path.size());
    // An empty or a relative folder would be another one in every folder that somebody works in.
    if (path[at] == '/') add(std::filesystem::path(path.substr(at, end - at)) / "python3");
    at = end + 1;
  }
  return found;
}

std::string advice(const std::string& tried) {
  return fmt::format(
      "Python's pyarrow is needed, and was not found{}: pip install pyarrow, or name a Python that has it in {}; or "
      "use "
      ".npy or .csv (pandas converts: read_parquet or read_feather, then to_csv), or build manymeans again with Arrow "
      "C++ (./dev build --arrow)",
      tried.empty() ? "; there is no python3 in PATH" : " (" + tried + ")", kVariable);
}

// A program that was started and has said nothing for so long.
struct Silent {
  std::string program;
  int seconds;
};

// Where it was found the last time, and the environment that it was found in.
struct Remembered {
  std::mutex mutex;
  std::vector<std::string> tried;
  PythonFound found;
  std::vector<Silent> silent;  // not waited for again, unless with more patience
};
Remembered& remembered() {
  static auto* const last = new Remembered;  // never ended: the last caller may still ask
  return *last;
}

std::string about_silence(const Silent& its) {
  return fmt::format("{} was started and has said nothing for {} s; {}=SECONDS gives it more time", its.program,
                     its.seconds, kPatienceVariable);
}

// Its Python is not waited for any more.
class TookTooLong : public Error {
 public:
  TookTooLong(const std::string& where, Silent its)
      : Error(ErrorCode::kUnavailable, where, about_silence(its)), silent(std::move(its)) {}
  Silent silent;
};

}  // namespace

// --- Messages
PythonRequest& PythonRequest::add(std::span<const std::byte> bytes) {
  const auto size = static_cast<int64_t>(bytes.size());
  const auto* head = reinterpret_cast<const std::byte*>(&size);
  bytes_.insert(bytes_.end(), head, head + sizeof size);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  bytes_.resize(padded(bytes_.size()));
  ++items_;
  return *this;
}

PythonRequest& PythonRequest::add(const std::vector<int>& numbers) {
  const std::vector<int64_t> wide(numbers.begin(), numbers.end());
  return add(std::as_bytes(std::span(wide)));
}

std::span<const std::byte> PythonItems::next() {
  if (empty()) throw Error(ErrorCode::kUnavailable, "Python", "its answer ends too early");
  return items_[at_++];
}

std::string_view PythonItems::text() {
  const std::span<const std::byte> item = next();
  return {reinterpret_cast<const char*>(item.data()), item.size()};
}

int64_t PythonItems::number() {
  const std::span<const std::byte> item = next();
  int64_t value = 0;
  if (item.size() != sizeof value) throw Error(ErrorCode::kUnavailable, "Python", "its answer is no number");
  std::memcpy(&value, item.data(), sizeof value);
  return value;
}

// --- The process
// By way of the other one: what a constructor throws ends the process, too.
PythonProcess::PythonProcess(std::string path, int input) : PythonProcess() {
  const PythonFound found = look(input);
  path_ = std::move(path);
  if (!found.program.empty()) return;
  throw Error(ErrorCode::kUnavailable, path_,
              "this build of manymeans cannot read or write such files by itself; " + found.reason);
}

// Begins the one that was found the last time, or else the first that has pyarrow.
PythonFound PythonProcess::look(int input) {
  Remembered& last = remembered();
  const std::lock_guard lock(last.mutex);
  std::vector<std::string> programs = candidates();
  patience_ = environment::python_patience().value_or(kPatience);
  const bool known = programs == last.tried && !last.found.program.empty();
  std::string tried;
  for (const std::string& program : known ? std::vector{last.found.program} : programs) {
    PythonFound found;
    const auto known_silent = std::ranges::find_if(
        last.silent, [&](const Silent& its) { return its.program == program && its.seconds >= patience_; });
    try {
      if (known_silent != last.silent.end()) throw TookTooLong(path_, *known_silent);
      program_ = program;
      begin(input);
      found = greet();
    } catch (const TookTooLong& late) {
      found.reason = about_silence(late.silent);
      if (known_silent == last.silent.end()) last.silent.push_back(late.silent);
    } catch (const Error& error) {
      const std::string_view what = error.what();
      found.reason = what.substr(what.find("] ") + 2);
    }
    if (!found.program.empty()) {
      last.tried = std::move(programs);
      return last.found = found;
    }
    end();
    const std::string said = found.reason.starts_with(program) ? found.reason : program + ": " + found.reason;
    tried += (tried.empty() ? "" : "; ") + said;
  }
  last.found = {};
  return {"", "", advice(tried)};
}

PythonProcess::~PythonProcess() {
  end();
}

// No shell, and no name of a file among the arguments. It has a group of its own, since a Ctrl-C is for this process.
// The kernel ends it when its parent thread ends, so this thread lives as long as the object.
void PythonProcess::begin(int input) {
  std::array<int, 2> ends = {-1, -1};
  const bool open = connect_sockets(ends);
  socket_ = moved_up(ends[0]);
  const int theirs = moved_up(ends[1]);
  complaints_ = moved_up(open_memory_file("manymeans-python"));
  const int file = input < 0 ? -1 : ::fcntl(input, F_DUPFD_CLOEXEC, theirs + 1);
  int error = open && socket_ >= 0 && theirs >= 0 && complaints_ >= 0 && (input < 0 || file >= 0) ? 0 : errno;
  if (error == 0) {
    std::error_code ignored;
    const bool is_path = program_.find('/') != std::string::npos;
    std::string program = is_path ? std::filesystem::absolute(program_, ignored).string() : program_;
    std::string flag = "-c", script = kPythonScript;
    const std::array<char*, 4> arguments = {program.data(), flag.data(), script.data(), nullptr};
    const Start start{program.c_str(), arguments.data(), theirs, complaints_, file, ::getpid()};
    error = keep([&] { return start_process(start); });
  }
  if (theirs >= 0) ::close(theirs);
  if (file >= 0) ::close(file);
  if (error == 0) return;
  throw Error(ErrorCode::kUnavailable, path_, fmt::format("{} cannot be started: {}", program_, std::strerror(error)));
}

// Starts it on a thread that ends after it. Returns an error number, or 0.
int PythonProcess::keep(const std::function<pid_t()>& start) {
  std::promise<int> promise;
  std::future<int> started = promise.get_future();
  ended_ = {};
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // which the new thread has from its beginning
  try {
    keeper_ = std::thread([this, &start, promise = std::move(promise), ended = ended_.get_future()]() mutable {
      process_ = start();
      promise.set_value(process_ < 0 ? errno : 0);
      ended.wait();
    });
  } catch (const std::system_error& error) {  // the system gives no more threads
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started.get();
}

// Who it is; `program` is empty where it has no pyarrow.
PythonFound PythonProcess::greet() {
  until_ = std::chrono::steady_clock::now() + std::chrono::seconds(patience_);
  const PythonAnswer answer = receive_answer();
  PythonItems items(answer);
  if (answer.items.size() != 3 || items.text() != kGreeting) {
    throw Error(ErrorCode::kUnavailable, path_, program_ + " is no Python: it answers something else");
  }
  PythonFound found;
  found.reason = items.text();
  found.version = items.text();
  if (found.reason.empty()) found.program = program_;
  greeted_ = true;
  return found;
}

bool PythonProcess::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    await(POLLOUT);
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return true;
}

// Returns true if the process has worked since this last returned true.
bool PythonProcess::is_working() {
  const std::optional<double> seconds = processor_seconds(process_);
  if (!seconds || *seconds < worked_ + kMinWork * patience_) return false;
  worked_ = *seconds;
  return true;
}

// Until there is something to receive, or room for what is sent. A question may take as long as its file is large, so
// after the greeting only one that does nothing is given up.
void PythonProcess::await(short events) {
  using std::chrono::steady_clock;
  const std::chrono::seconds patience(patience_);
  if (greeted_) until_ = steady_clock::now() + patience;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - steady_clock::now()).count();
    pollfd waited{socket_, events, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1000)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;  // the next call says what it is
    if (greeted_ && is_working()) {
      until_ = steady_clock::now() + patience;
    } else if (left <= 0) {
      break;
    }
  }
  if (!greeted_) throw TookTooLong(path_, {program_, patience_});
  end_ = fmt::format("has done nothing for {} s; {}=SECONDS gives it more time", patience_, kPatienceVariable);
  fail_ended();
}

bool PythonProcess::receive(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    await(POLLIN);
    const ssize_t received = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(received));
  }
  return true;
}

PythonAnswer PythonProcess::receive_answer() {
  Head head;
  if (!receive(std::as_writable_bytes(std::span(&head, 1)))) fail_ended();
  const auto size = static_cast<size_t>(head.bytes);
  const bool possible = head.bytes >= 0 && size <= kMaxBytes && size % 8 == 0 && head.items >= 0 &&
                        static_cast<size_t>(head.items) <= size / 8;
  const auto fail = [&] {
    throw Error(ErrorCode::kUnavailable, path_, program_ + " is no Python: it answers something else");
  };
  if (!possible) fail();
  const std::shared_ptr<std::byte> bytes(new std::byte[size], std::default_delete<std::byte[]>());
  if (!receive({bytes.get(), size})) fail_ended();
  PythonAnswer answer{bytes, {}};
  for (size_t at = 0; std::ssize(answer.items) < head.items;) {
    uint64_t length = 0;
    if (size - at < sizeof length) fail();
    std::memcpy(&length, bytes.get() + at, sizeof length);
    at += sizeof length;
    if (length > size - at) fail();
    answer.items.push_back({bytes.get() + at, static_cast<size_t>(length)});
    at += padded(length);
  }
  return answer;
}

PythonAnswer PythonProcess::ask(const PythonRequest& request, const std::string& written) {
  const std::lock_guard lock(mutex_);
  if (!end_.empty()) fail_ended();
  const Head head{std::ssize(request.bytes_), request.items_};
  if (!send(std::as_bytes(std::span(&head, 1))) || !send(request.bytes_)) fail_ended();
  PythonAnswer answer;
  try {
    answer = receive_answer();
  } catch (...) {  // the rest of it must not be read as another answer
    if (end_.empty()) end_ = "has given an answer that could not be read";
    throw;
  }
  PythonItems items(answer);
  const std::string_view outcome = items.text();
  if (outcome == "memory") throw std::bad_alloc();
  if (outcome == "bad") fail_fields(path_, std::string(items.text()));
  if (outcome != "ok") {
    throw Error(ErrorCode::kUnavailable, written.empty() ? path_ : written,
                fmt::format("the Arrow library cannot write this file: {}", items.text()));
  }
  answer.items.erase(answer.items.begin());
  return answer;
}

// The last line that it wrote to standard error, where Python says what went wrong.
std::string PythonProcess::how_it_ended() {
  constexpr auto kPatience = std::chrono::milliseconds(1000);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  pid_t done = 0;
  while ((done = ::waitpid(process_, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (done != 0) process_ = -1;
  std::string text(4096, '\0');
  const off_t size = ::lseek(complaints_, 0, SEEK_END);
  const ssize_t count =
      ::pread(complaints_, text.data(), text.size(), std::max<off_t>(0, size - static_cast<off_t>(text.size())));
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  while (text.ends_with('\n')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  std::string how = "has closed its output";
  if (done > 0 && WIFSIGNALED(status)) {
    how = fmt::format("was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  } else if (done > 0 && WIFEXITED(status)) {
    how = fmt::format("has ended with code {}", WEXITSTATUS(status));
  }
  return text.empty() ? how : how + ": " + text;
}

void PythonProcess::fail_ended() {
  if (end_.empty()) end_ = how_it_ended();  // the next caller gets the same message
  throw Error(ErrorCode::kUnavailable, path_, fmt::format("{} {}", program_, end_));
}

// It has nothing to put in order: whatever it has made, this process has.
void PythonProcess::end() {
  if (socket_ >= 0) ::close(socket_);
  if (complaints_ >= 0) ::close(complaints_);
  socket_ = complaints_ = -1;
  greeted_ = false;
  worked_ = 0;
  end_.clear();
  if (process_ >= 0) {
    ::kill(-process_, SIGKILL);  // its group: the program may have been a script that started Python
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  process_ = -1;
  if (!keeper_.joinable()) return;
  ended_.set_value();
  keeper_.join();
}

PythonFound find_python() {
  {
    Remembered& last = remembered();
    const std::lock_guard lock(last.mutex);
    if (!last.found.program.empty() && candidates() == last.tried) return last.found;
  }
  return PythonProcess().look(-1);
}

}  // namespace manymeans
