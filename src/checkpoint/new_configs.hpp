// SPDX-License-Identifier: Apache-2.0
// What config.json and its company say of a checkpoint that has been rounded to NVFP4.
//
// A checkpoint may have been quantised in part, FP8 attention beside experts in bf16, or NVFP4 in
// some layers. What its maker's files say of that stays true where the new matrices are written in
// the same maker's format: they are added by name, and go from the lists of what was left out.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/rounding_plan.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State;

constexpr const char* kConfigName = "config.json";
constexpr const char* kQuantConfigName = "hf_quant_config.json";

// The texts of the new files by name, made of those in the folder. Throws Error where they say of
// matrices that are quantised already what the new files cannot say in `format`.
std::map<std::string, std::string> new_configs(const State& state, const RoundingPlan& plan,
                                               CheckpointFormat format,
                                               const std::filesystem::path& folder);

}  // namespace thresher::checkpoint
