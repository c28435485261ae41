// SPDX-License-Identifier: Apache-2.0
// What config.json and its company say of a checkpoint that has been rounded to NVFP4.
#pragma once

#include <filesystem>

#include "checkpoint/rounding_plan.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::checkpoint {

class State;

constexpr const char* kConfigName = "config.json";
constexpr const char* kQuantConfigName = "hf_quant_config.json";

// Throws Error if the files of a folder say that something in it is quantised already. One file
// cannot say it in two ways, and readers would take FP8 matrices for plain ones.
void refuse_quantised(const std::filesystem::path& folder);

// Copies config.json from one folder to the other, with what has become of its matrices in it.
void write_configs(const State& state, const RoundingPlan& plan, CheckpointFormat format,
                   const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace thresher::checkpoint
