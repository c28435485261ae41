// SPDX-License-Identifier: Apache-2.0
// Reasons why a setting of the knobs cannot run a problem that do not depend on what multiplies.
// Empty: it can.
#pragma once

#include <initializer_list>
#include <string>

#include "gpu/gemm/gemm_plan.hpp"

namespace thresher::gpu {

// The first reason that is not empty.
std::string first_of(std::initializer_list<std::string> reasons);
// A reason, unless there is none.
inline std::string unless(bool holds, const char* reason) { return holds ? std::string() : reason; }

std::string why_not_one_of(const char* name, int value, std::initializer_list<int> allowed);
std::string why_not_between(const char* name, int value, int min, int max);

// Of a kernel that copies weights in one way only.
std::string why_not_loads(const GemmKnobs& knobs);
std::string why_not_rows(const GemmConfig& config);
std::string why_not_schedule(const GemmConfig& config);
std::string why_not_shared(GemmKind kind, const GemmConfig& config, const SmLimits& limits);
std::string why_not_size(const GemmConfig& config, const PlanRequest& request);

}  // namespace thresher::gpu
