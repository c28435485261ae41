// SPDX-License-Identifier: Apache-2.0
// What `verify --plan` proves: the variants that a plan file puts in the place of the engine's
// choice on this machine, on small problems of their own classes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "engine/plan_file.hpp"

namespace thresher::cli {

struct PlanToVerify {
  std::vector<std::string> variants;  // empty: nothing is better than the engine's choice
  std::vector<Problem> problems;
  std::vector<std::string> left_out;  // what of the file, and why
};

// The backend of a part of the file that is of this machine; nobody's: null.
const Backend* backend_of_plan(const PlanFile& file);

// Of the parts of this machine, with however many threads: arithmetic does not depend on them.
PlanToVerify plan_to_verify(const PlanFile& file, const backend::Device& device);

}  // namespace thresher::cli
