#include "streams/standard_streams.h"

#include "streams/printable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace manymeans::cli {
namespace {

// 0, or the errno of the write that failed.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

void prepare_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // ulimit -f
  for (int file = 0; file <= 2; ++file) {
    // Opened the wrong way round on purpose: reading or writing it still fails, as it would have.
    if (::fcntl(file, F_GETFD) < 0) ::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
  }
}

namespace {

void print_as_it_is(std::string_view text) {
  if (const int problem = write_all(STDOUT_FILENO, text)) {
    throw Error(ErrorCode::kUnavailable, "standard output",
                fmt::format("cannot be written: {}; give it a place that takes all of it", std::strerror(problem)));
  }
}

}  // namespace

void print(std::string_view text) {
  print_as_it_is(printable(text, Newlines::kKept));
}

void print_json(std::string_view text) {
  print_as_it_is(printable_json(text));
}

void draw_on_error_stream(std::string_view text) {
  static_cast<void>(write_all(STDERR_FILENO, text));
}

void print_error_stream(std::string_view text) {
  draw_on_error_stream(printable(text, Newlines::kKept));
}

void warn(std::string_view message) {
  print_error_stream(fmt::format("manymeans: warning: {}\n", printable(message, Newlines::kEscaped)));
}

void note(std::string_view message) {
  print_error_stream(fmt::format("manymeans: {}\n", printable(message, Newlines::kEscaped)));
}

int complain(ErrorCode code, std::string_view message) {
  print_error_stream(fmt::format("manymeans: error: {}\n", printable(message, Newlines::kEscaped)));
  return static_cast<int>(code);
}

bool is_standard_input(std::string_view path) {
  return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

int terminal_width() {
  if (::isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace manymeans::cli
