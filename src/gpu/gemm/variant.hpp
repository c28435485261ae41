// SPDX-License-Identifier: Apache-2.0
// A variant of the GPU backend: a complete setting of its knobs, and its name: a head that says
// what multiplies, "gpu_sm90", "gpu_sm80" or "gpu_sm100", followed by the knobs that differ from
// the head's defaults, as in "gpu_sm90:tokens=64,store=staged".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/knob_table.hpp"
#include "gpu/gemm/gemm_plan.hpp"
#include "thresher/engine.hpp"

namespace thresher::gpu {

struct Variant {
  GemmKnobs knobs;
  bool graph = false;  // a call is one launch of a CUDA graph

  bool operator==(const Variant&) const = default;
};

// "gpu_sm90", "gpu_sm80", "gpu_sm100"
std::string_view head_of(Mma mma);
constexpr Variant default_variant(Mma mma) { return {.knobs = default_knobs(mma)}; }

std::string name(const Variant& variant);
// Throws Error naming the knob, its value and what is allowed.
Variant variant_from_name(std::string_view text);

// Every knob under its name, with its value as it would stand in a variant's name.
std::map<std::string, std::string> knobs_of(const Variant& variant);
// `variant` with one knob turned. Throws Error naming the knob, its value and what is allowed.
Variant with_knob(Variant variant, std::string_view knob_name, std::string_view value);

// The knobs for people, with the defaults of a head.
std::vector<KnobText> knob_texts(Mma mma);

}  // namespace thresher::gpu
