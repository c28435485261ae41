// SPDX-License-Identifier: Apache-2.0
// A shared library opened at run time: CUDA's, which nobody needs to build with. It stays open for
// the life of the process.
#pragma once

#include <dlfcn.h>

#include <string>

namespace thresher::gpu {

class Library {
 public:
  explicit Library(const std::string& file);

  bool is_open() const { return handle_ != nullptr; }
  const std::string& why_not() const { return why_not_; }  // in the loader's words

  // Points `function` at a symbol, or nowhere where there is none.
  template <typename Function>
  bool optional(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    return function != nullptr;
  }
  // The same, and remembers the first that is not there.
  template <typename Function>
  void required(Function& function, const char* symbol) {
    if (!optional(function, symbol) && missing_.empty()) missing_ = symbol;
  }
  const std::string& missing() const { return missing_; }

  // Where the library that holds a function lies; `otherwise` if the loader does not say.
  template <typename Function>
  static std::string file_of(Function function, const std::string& otherwise) {
    Dl_info info{};
    const bool known = dladdr(reinterpret_cast<const void*>(function), &info) != 0;
    return known && info.dli_fname != nullptr ? info.dli_fname : otherwise;
  }

 private:
  void* handle_;
  std::string why_not_;
  std::string missing_;
};

}  // namespace thresher::gpu
