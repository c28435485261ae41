// SPDX-License-Identifier: Apache-2.0
// A variant's name in words: "gpu_sm90:tokens=64,graph=on" as "Hopper kernel: tiles of up to 64
// tokens, replayed as a CUDA graph". A knob without words here is shown as it stands.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/page.hpp"

namespace thresher::report {

// Empty for what is no variant of ours: a program's name.
std::string variant_words(std::string_view name);

// What distinguishes it from the baseline, by all knobs of both, as a ledger has them: also what is
// not in the name because the kernel's default says it. Of what has no recorded knobs
// variant_words.
std::string turned_words(std::string_view name, const nlohmann::json& baseline_knobs,
                         const nlohmann::json& knobs);

// The words, which open to show the name itself; of anything else the name.
Html variant_html(const std::string& name);
Html variant_html(const std::string& name, const std::string& words);

}  // namespace thresher::report
