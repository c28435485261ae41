// SPDX-License-Identifier: Apache-2.0
// A match as an order that another machine can carry out, and its record on the way back. What is
// written reads back equal; reading throws Error where something is missing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tank/season/season.hpp"

namespace thresher::cluster {

nlohmann::json suite_to_json(const Suite& suite);
Suite suite_from_json(const nlohmann::json& json);

// Without what belongs to the machine: the program, the GPU's options, progress.
nlohmann::json order_to_json(const MatchOrder& order);
MatchOrder order_from_json(const nlohmann::json& json);

nlohmann::json record_to_json(const MatchRecord& record);
MatchRecord record_from_json(const nlohmann::json& json);

}  // namespace thresher::cluster
