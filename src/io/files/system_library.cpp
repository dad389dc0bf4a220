#include "io/files/system_library.h"

#include <dlfcn.h>

namespace manymeans {

bool SystemLibrary::open(const char* name) {
  handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) {
    why_.clear();
    return true;
  }
  if (why_.empty()) why_ = std::string("there is no library ") + name + " here";
  return false;
}

void* SystemLibrary::find_address(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const address = ::dlsym(handle_, name);
  if (address == nullptr && why_.empty()) why_ = std::string("its library here has no ") + name;
  return address;
}

}  // namespace manymeans
