// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "thresher/error.hpp"

namespace thresher::nvfp4 {

// What `call` complains about, or "no error".
template <typename Call>
std::string error_message(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace thresher::nvfp4
