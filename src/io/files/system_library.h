// A library of the system, opened when it is needed: a program that may go where the library is missing links none.
#pragma once

#include <string>

namespace manymeans {

/// Its functions. The library stays open: who has asked for it once asks again.
class SystemLibrary {
 public:
  /// `names` are tried in their order, as the dynamic linker finds them.
  template <class... Names>
  explicit SystemLibrary(Names... names) {
    (void)(open(names) || ...);
  }
  /// Takes the function `name`; where the library or the function is missing, why() says so.
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find_address(name));
  }
  bool complete() const { return handle_ != nullptr && why_.empty(); }
  const std::string& why() const { return why_; }

 private:
  bool open(const char* name);
  void* find_address(const char* name);

  void* handle_ = nullptr;
  std::string why_;
};

}  // namespace manymeans
