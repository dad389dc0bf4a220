// Running out of memory, as an error of this library.
#pragma once

#include <manymeans/error.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace manymeans {

/// What `work` returns. Where it runs out of memory, or asks for more than there can be: Error(kUnavailable).
template <class F>
auto or_out_of_memory(const std::string& where, const char* advice, F&& work) {
  const auto error = [&] {
    return Error(ErrorCode::kUnavailable, where, std::string("there is not enough memory; ") + advice);
  };
  try {
    return std::forward<F>(work)();
  } catch (const std::bad_alloc&) {
    throw error();
  } catch (const std::length_error&) {  // more than a vector can ever hold
    throw error();
  }
}

}  // namespace manymeans
