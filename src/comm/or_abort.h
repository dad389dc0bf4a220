// How the errors of one rank end all of them.
#pragma once

#include <manymeans/comm.h>
#include <manymeans/error.h>

#include <cstdint>
#include <exception>
#include <type_traits>

namespace manymeans {

/// body(), whose errors all ranks hear of.
template <class Body>
auto or_abort(Comm& comm, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    comm.abort(error);
    throw;
  } catch (const std::exception& error) {
    comm.abort(Error(ErrorCode::kInternal, "ranks", error.what()));
    throw;
  }
}

/// Calls or_abort(). No rank returns before all have done it: an error after a rank's last collective is heard, too.
template <class Body>
auto all_or_abort(Comm& comm, Body&& body) {
  return or_abort(comm, [&] {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      comm.max(int64_t{0});
    } else {
      auto result = body();
      comm.max(int64_t{0});
      return result;
    }
  });
}

}  // namespace manymeans
