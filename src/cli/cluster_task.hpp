// SPDX-License-Identifier: Apache-2.0
// What a node does, one order at a time: for a season a match, the survey of the machine that it
// begins with, or a look at where the champion's time goes; the tuning of a problem; a greeting.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "thresher/error.hpp"

namespace thresher::cli {

inline constexpr const char* kMatchOrder = "match";
inline constexpr const char* kSurveyOrder = "survey";
inline constexpr const char* kFindingsOrder = "findings";
inline constexpr const char* kGreetingOrder = "greeting";
inline constexpr const char* kTuneOrder = "tune";

// What verdicts of this machine hold for. Throws Error if it has no such device.
std::string machine_class(const std::string& backend);

// This machine is of none of the classes that an order may be carried out on.
struct OtherClass : Error {
  using Error::Error;
};

// Throws OtherClass.
void check_class(const std::vector<std::string>& classes, const std::string& machine_class);
// The first of a machine's usable backends that is of one of the classes: a node with GPUs has the
// class of its processor as well. Throws OtherClass.
const Backend& backend_of_class(const std::vector<std::string>& classes,
                                const std::vector<const Backend*>& usable);

// Carries an order out, here. Throws Error when it cannot be.
nlohmann::json carried_out(const nlohmann::json& order);

}  // namespace thresher::cli
