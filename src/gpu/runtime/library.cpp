// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/library.hpp"

namespace thresher::gpu {

Library::Library(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (is_open()) return;
  const char* message = dlerror();
  why_not_ = message != nullptr ? message : file + ": the loader does not say why it does not open";
}

}  // namespace thresher::gpu
