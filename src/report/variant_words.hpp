// SPDX-License-Identifier: Apache-2.0
// A variant's name in words: "gpu_sm90:tokens=64,graph=on" as "Hopper kernel: tiles of up to 64
// tokens, replayed as a CUDA graph". A knob without words here is shown as it stands.
#pragma once

#include <string>
#include <string_view>

#include "report/page.hpp"

namespace thresher::report {

// Empty for what is no variant of ours: a program's name.
std::string variant_words(std::string_view name);

// The words, which open to show the name itself; of anything else the name.
Html variant_html(const std::string& name);

}  // namespace thresher::report
