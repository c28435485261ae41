// SPDX-License-Identifier: Apache-2.0
// What `thresher tune` tunes: the problems of suites, or the products of mixture-of-experts layers,
// of known models or of a checkpoint.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gemm/suite.hpp"

namespace thresher::cli {

struct TuneSelection {
  std::vector<std::string> suites;
  std::vector<std::string> problems;  // of these, by name; empty: all
  std::vector<std::string> models;    // names, shapes or "all", as bench --layer takes them
  std::filesystem::path checkpoint;   // empty: none
  std::vector<int> tokens;            // empty: the suite's, or a few for layers
  std::string activations;            // empty: the suite's, or bf16 for layers
};

// Each class and number of tokens once, since a plan has one entry for it. Throws UsageError where
// nothing or too much is selected, or where a problem has no class.
std::vector<Problem> problems_to_tune(const TuneSelection& selection);

}  // namespace thresher::cli
