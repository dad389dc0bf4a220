// Running out of memory, as an error of this library.
#pragma once

#include <manymeans/error.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace manymeans {

/// What `work` returns. Where it runs out of memory, or asks for more than there can be: Error(kUnavailable) of this
/// text.
template <class F>
auto or_unavailable(const std::string& where, const std::string& text, F&& work) {
  try {
    return std::forward<F>(work)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more than a vector can ever hold
  }
  throw Error(ErrorCode::kUnavailable, where, text);
}

/// The same where there is nothing to say but an advice.
template <class F>
auto or_out_of_memory(const std::string& where, const char* advice, F&& work) {
  return or_unavailable(where, std::string("there is not enough memory; ") + advice, std::forward<F>(work));
}

}  // namespace manymeans
