// Running out of memory, as an error of this library.
#pragma once

#include <manymeans/error.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace manymeans {

/// Returns what `work` returns. Throws Error(kUnavailable) with these texts if it runs out of memory, or asks for more
/// than can exist. The texts are functions, called only then: made before, they could run out of memory themselves.
template <class Where, class Text, class F>
auto or_unavailable(const Where& where, const Text& text, F&& work) {
  try {
    return std::forward<F>(work)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more than a vector can ever hold
  }
  throw Error(ErrorCode::kUnavailable, where(), text());
}

/// or_unavailable() with a text that is only an advice.
template <class Where, class F>
auto or_out_of_memory(const Where& where, const char* advice, F&& work) {
  return or_unavailable([&] { return std::string(where); },
                        [&] { return std::string("there is not enough memory; ") + advice; }, std::forward<F>(work));
}

}  // namespace manymeans
