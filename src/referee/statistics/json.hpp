// SPDX-License-Identifier: Apache-2.0
// Samples, verdicts and deal terms as JSON, as the ledger keeps them: nlohmann's hooks, so that
// `json["verdict"] = verdict` and `json.at("verdict").get<Verdict>()` work.
//
// Keys are the names of the members, but that heats are called rounds (json.cpp says why). A number
// that JSON cannot write, such as the open end of an interval, becomes the text "inf", "-inf" or
// "nan". What was written reads back equal. Reading ignores keys it does not know and throws Error
// for everything else that is not as written, naming the field:
// "verdict.estimate.problems[2].speedup.low: expected a number, found true".
#pragma once

#include <nlohmann/json.hpp>

#include "referee/statistics/verdict.hpp"

namespace thresher {

void to_json(nlohmann::json& json, const MatchSamples& samples);
void to_json(nlohmann::json& json, const DealTerms& terms);
void to_json(nlohmann::json& json, const Estimate& estimate);
void to_json(nlohmann::json& json, const ProblemEstimate& estimate);
void to_json(nlohmann::json& json, const Controls& controls);
void to_json(nlohmann::json& json, const MatchEstimate& estimate);
void to_json(nlohmann::json& json, const Verdict& verdict);

void from_json(const nlohmann::json& json, MatchSamples& out);
void from_json(const nlohmann::json& json, DealTerms& out);
void from_json(const nlohmann::json& json, Estimate& out);
void from_json(const nlohmann::json& json, ProblemEstimate& out);
void from_json(const nlohmann::json& json, Controls& out);
void from_json(const nlohmann::json& json, MatchEstimate& out);
void from_json(const nlohmann::json& json, Verdict& out);

}  // namespace thresher
