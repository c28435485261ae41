// SPDX-License-Identifier: Apache-2.0
// What a failed driver call tells the user: the call and the arguments that matter, the driver's
// name for the failure and its text, and what to do next where that is known.
#pragma once

#include <string>
#include <string_view>

#include "gpu/runtime/driver.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu {

// An Error that keeps the driver's number, for callers who can go on after some of them.
struct DriverError : Error {
  DriverError(const std::string& message, cuda::Result result_code)
      : Error(message), code(result_code) {}
  cuda::Result code;
};

// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
std::string result_text(const Driver& driver, cuda::Result result);

// Whether the context is lost: every later call fails with the same result until the process ends.
bool is_sticky(cuda::Result result);

// "<call> failed: <result>; <advice>". An empty advice takes what is known for the result.
std::string driver_error_text(const Driver& driver, cuda::Result result, std::string_view call,
                              std::string_view advice = {});

// Throws DriverError unless `result` is success. A call with arguments worth telling is described
// by a function, which runs only then: successful calls pay for one comparison.
inline void check(const Driver& driver, cuda::Result result, const char* call) {
  if (result == cuda::kSuccess) [[likely]]
    return;
  throw DriverError(driver_error_text(driver, result, call), result);
}
template <typename Describe>
void check(const Driver& driver, cuda::Result result, const Describe& describe) {
  if (result == cuda::kSuccess) [[likely]]
    return;
  throw DriverError(driver_error_text(driver, result, describe()), result);
}

}  // namespace thresher::gpu
