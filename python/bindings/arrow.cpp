#include "arrow.h"

#include <manymeans/error.h>

#include <cstring>
#include <memory>
#include <string>

namespace manymeans::python {
namespace nb = nanobind;
namespace {

Error bad(const std::string& what) {
  return {ErrorCode::kBadData, "Arrow data", what};
}

// Moves a struct out of its capsule, as the interface has it: a capsule can be used once.
template <class T>
T take(nb::handle capsule, const char* name) {
  auto* from = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (from == nullptr) {
    PyErr_Clear();
    throw bad(std::string("a capsule '") + name + "' is needed, something else was given");
  }
  if (from->release == nullptr) {
    throw bad(std::string("the capsule '") + name + "' was used before; each call must give a new one");
  }
  T result = *from;
  from->release = nullptr;
  return result;
}

void read_stream(nb::handle object, ArrowTable& table) {
  auto stream = take<ArrowArrayStream>(object.attr("__arrow_c_stream__")(), "arrow_array_stream");
  const auto release = [](ArrowArrayStream* taken) { taken->release(taken); };
  const std::unique_ptr<ArrowArrayStream, decltype(release)> releasing(&stream, release);
  const auto check = [&](int code) {
    if (code == 0) return;
    const char* message = stream.get_last_error(&stream);
    throw bad(message != nullptr ? message : std::strerror(code));
  };
  check(stream.get_schema(&stream, &table.schema));
  for (;;) {
    ArrowArray chunk{};
    check(stream.get_next(&stream, &chunk));
    if (chunk.release == nullptr) return;
    table.chunks.push_back(chunk);
  }
}

void read_array(nb::handle object, ArrowTable& table) {
  const nb::object pair = object.attr("__arrow_c_array__")();
  table.schema = take<ArrowSchema>(nb::object(pair[0]), "arrow_schema");
  table.chunks.push_back(take<ArrowArray>(nb::object(pair[1]), "arrow_array"));
}

}  // namespace

ArrowPoints arrow_points(nb::handle object) {
  const auto table = std::make_shared<ArrowTable>();
  if (nb::hasattr(object, "__arrow_c_stream__")) {
    read_stream(object, *table);
  } else {
    read_array(object, *table);
  }
  return points_of(table);
}

}  // namespace manymeans::python
