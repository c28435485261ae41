// SPDX-License-Identifier: Apache-2.0
// The one exception of the library. Its message names the place, the value and the limit, so that
// the caller can mend the call without reading our source. Bugs of our own assert instead.
#pragma once

#include <stdexcept>

namespace thresher {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// There is no memory for what was asked, on the host or on a device.
class NoMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace thresher
