// SPDX-License-Identifier: Apache-2.0
// The gates before timing: a smoke run, then correctness on fresh secret inputs, on the suite's
// problems and on hidden ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gemm/suite.hpp"
#include "referee/timing/contestant_process.hpp"

namespace thresher::referee {

enum class Scope : std::uint8_t { kSmoke, kAll };

struct GateOptions {
  Scope scope = Scope::kAll;
  ArmOptions arm;
  std::uint64_t seed = 0;
  Clock::time_point deadline = Clock::time_point::max();
  std::function<void(const std::string&)> log;
};

struct GateResult {
  std::optional<Fault> fault;
  std::vector<std::string> refusals;  // of the sandbox
};

GateResult pass_gates(const Job& job, const Suite& suite, const GateOptions& options);

}  // namespace thresher::referee
