// SPDX-License-Identifier: Apache-2.0
// What a check found against a contestant, before it becomes a verdict. Every check has a name that
// goes into Verdict.check; docs/contestants.md explains each to the contestant's author.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "referee/statistics/verdict.hpp"

namespace thresher::referee {

namespace check {
inline constexpr const char* kBuild = "build";                 // does not compile or load
inline constexpr const char* kStart = "start";                 // cannot be started, or no greeting
inline constexpr const char* kProtocol = "protocol";           // says what nobody asked for
inline constexpr const char* kExit = "exit";                   // ended in the middle of a match
inline constexpr const char* kTimeout = "timeout";             // did not answer in time
inline constexpr const char* kError = "error";                 // said itself that it failed
inline constexpr const char* kDeclined = "declined";           // will not run what it must run
inline constexpr const char* kInputs = "inputs";               // inputs changed during a call
inline constexpr const char* kGuard = "guard";                 // wrote outside its outputs
inline constexpr const char* kPoison = "poison";               // left outputs unwritten
inline constexpr const char* kNumerics = "numerics";           // beyond the bound
inline constexpr const char* kHiddenShapes = "hidden_shapes";  // beyond it on shapes not told
inline constexpr const char* kPrecision = "precision";  // in all further off than FP32 sums are
inline constexpr const char* kReplay = "replay";        // right once, wrong when repeated
inline constexpr const char* kTimedOutput = "timed_output";  // right when checked, wrong when timed
inline constexpr const char* kLateWrite = "late_write";      // outputs changed after the answer
inline constexpr const char* kLaunches = "launches";         // more or other launches than planned
inline constexpr const char* kClock = "clock";               // a time that cannot be
inline constexpr const char* kSpeedOfLight = "speed_of_light";  // faster than the machine can be
inline constexpr const char* kStopped = "stopped";              // ran when it should not
inline constexpr const char* kMeans = "means";  // more threads, cores or memory than granted
inline constexpr const char* kTime = "time";    // the match ran out of time
}  // namespace check

struct Fault {
  VerdictKind kind = VerdictKind::kInvalid;
  std::string check;
  std::string reason;  // one sentence
};

inline Fault invalid(const char* check_name, std::string reason) {
  return {VerdictKind::kInvalid, check_name, std::move(reason)};
}
inline Fault wrong(const char* check_name, std::string reason) {
  return {VerdictKind::kWrong, check_name, std::move(reason)};
}

// With the problem it happened on, where the reason does not name it yet.
inline std::optional<Fault> on_problem(const std::string& problem, std::optional<Fault> fault) {
  if (fault && fault->reason.find("problem '") == std::string::npos) {
    fault->reason = "problem '" + problem + "': " + fault->reason;
  }
  return fault;
}

// Of checks that were made side by side.
inline std::optional<Fault> first_of(std::vector<std::optional<Fault>> faults) {
  for (std::optional<Fault>& fault : faults) {
    if (fault) return std::move(fault);
  }
  return std::nullopt;
}

}  // namespace thresher::referee
