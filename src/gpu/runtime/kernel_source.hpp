// SPDX-License-Identifier: Apache-2.0
// Which of the device sources that travel inside the binary a kernel needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded_file.hpp"

namespace thresher::gpu {

// A header under the name that an #include gives it.
struct NamedSource {
  std::string name;
  std::string text;

  bool operator==(const NamedSource&) const = default;
};

// Every file of `table` that `source` includes in quotes, directly or through others, in the order
// they are met. Conditions are not looked at, and names that `table` does not have are left out: a
// compiler that really needs one says so itself. Handing over no more than this keeps the cached
// kernels valid when an unrelated file changes.
std::vector<NamedSource> headers_of(std::string_view source, EmbeddedFiles table);

}  // namespace thresher::gpu
