// How ranks hear that one of them has given up where the transport does not tell them.
//
// Every collective begins with an exchange of headers, so that is where all ranks listen. A rank that gives up takes
// part in one more exchange. It posts the length of a text there instead of a header. All ranks see that, and then
// exchange the texts. After that they are as much together as after any other collective.
#include <manymeans/comm.h>

#include <fmt/format.h>

#include <cstring>

namespace manymeans {
namespace {

constexpr double kPatience = 4;  // seconds; every rank has to end within ten

// The text of an Error made of another one's what().
Error with_place(int rank, ErrorCode code, const std::string& text) {
  return Error(code, fmt::format("rank {}", rank), text);
}

Error of_all(ErrorCode code, const std::string& text) {
  const size_t end = text.find("] ");
  return Error(code, text.substr(1, end - 1), text.substr(end + 2));
}

}  // namespace

// The message of a rank before every collective.
struct PlainComm::Post {
  CollectiveHeader header;
  uint64_t code = 0;  // of the error with which it gives up; 0: it does not
  uint64_t text = 0;  // bytes of that error's text
};

// Returns nothing if a rank did not come in time.
std::optional<std::vector<PlainComm::Post>> PlainComm::post(const Post& mine, double seconds) {
  std::vector<Post> posts(static_cast<size_t>(size()));
  if (!share(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(posts)), seconds)) {
    return std::nullopt;
  }
  return posts;
}

// Sets aborted_ where somebody gives up; `mine` is what this rank has to say about it.
void PlainComm::hear(const std::vector<Post>& posts, const std::string& mine) {
  std::vector<uint64_t> sizes;
  int first = -1;
  bool everybody = true;
  for (size_t r = 0; r < posts.size(); ++r) {
    sizes.push_back(posts[r].text);
    if (posts[r].code == 0) everybody = false;
    if (posts[r].code != 0 && first < 0) first = static_cast<int>(r);
  }
  if (first < 0) return;
  const std::vector<std::byte> texts = collect(std::as_bytes(std::span(mine)), sizes);
  const Post& said = posts[static_cast<size_t>(first)];
  const std::string text(reinterpret_cast<const char*>(texts.data()), said.text);  // no rank before it posted a text
  const auto code = static_cast<ErrorCode>(said.code);
  aborted_ = {first, everybody ? of_all(code, text) : with_place(first, code, text)};
}

std::vector<CollectiveHeader> PlainComm::exchange(const CollectiveHeader& mine) {
  if (aborted_) throw aborted_->error;
  const std::vector<Post> posts = *post({mine}, 0);
  hear(posts, {});
  if (aborted_) throw aborted_->error;
  std::vector<CollectiveHeader> headers;
  for (const Post& one : posts) headers.push_back(one.header);
  return headers;
}

void PlainComm::abort(const Error& why) noexcept {
  if (aborted_ || alone()) return;
  try {
    const std::string text = why.what();
    const auto posts = post({{}, static_cast<uint64_t>(why.code()), text.size()}, kPatience);
    if (posts) hear(*posts, text);
  } catch (const std::exception&) {
    // A transport that does not work any more can end the processes all the same.
  }
  if (!aborted_) end_all(with_place(rank(), why.code(), why.what()));
}

}  // namespace manymeans
