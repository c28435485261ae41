// SPDX-License-Identifier: Apache-2.0
// What a node does for a season, one order at a time: a match, the survey of the machine that a
// season begins with, a look at where the champion's time goes, or a greeting.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace thresher::cli {

inline constexpr const char* kMatchOrder = "match";
inline constexpr const char* kSurveyOrder = "survey";
inline constexpr const char* kFindingsOrder = "findings";
inline constexpr const char* kGreetingOrder = "greeting";

// What verdicts of this machine hold for: its processor or GPU with its clocks, and how many cores
// there are.
std::string machine_class(const std::string& backend);

// Carries an order out, here. Throws Error when it cannot be.
nlohmann::json carried_out(const nlohmann::json& order);

}  // namespace thresher::cli
