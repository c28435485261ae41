// SPDX-License-Identifier: Apache-2.0
// A contestant's process as a match sees it: greeted, asked one thing at a time with a clock in
// hand, its answers judged.
//
// The process is stopped except while it has a request to answer: it can neither burn its
// opponent's time nor work ahead, and whatever it does after its answer happens too late.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "referee/fault.hpp"
#include "referee/sandbox/child.hpp"
#include "referee/stage/arena.hpp"
#include "thresher/engine.hpp"

namespace thresher::referee {

class RefereeGpu;

// Whose word a timed sample is.
enum class SampleClock : std::uint8_t {
  kReferee,  // the referee's, around the request
  kDevice,   // events that our own worker records on the device
};

struct ArmOptions {
  std::filesystem::path program;  // the thresher binary; empty means the running one
  std::filesystem::path scratch;  // folder for the folders of arms; empty means the system's
  int thread_count = 1;
  std::vector<int> cores;  // all arms stay on these; empty: where the kernel puts them
  double call_timeout_seconds = 20;
  SampleClock clock = SampleClock::kReferee;
  const RefereeGpu* gpu = nullptr;  // the referee's hold of it, for arms on one
  const Engine* engine = nullptr;   // the referee's own, which knows what is right
};

struct Exchange {
  std::optional<Fault> fault;
  double ns = 0;  // from before the request was written until the answer could be read
  std::optional<BatchReport> report;
};

class ContestantProcess {
 public:
  ContestantProcess(ChildOptions child, const ArmOptions& options);

  // Waits for the sandbox and exchanges greetings.
  std::optional<Fault> start(std::int64_t input_bytes, std::int64_t output_bytes);
  // With `slowed_share` the referee idles away that share of the time, on the clock.
  Exchange ask(const Request& request, double slowed_share = 0);
  // For what is not answered. Should nobody read it, the next request will find out.
  void tell(const Request& request);
  // Lets the process end by itself, or kills it.
  void finish();

  // Layers of the sandbox that the kernel refused, the seal of the inputs among them.
  std::vector<std::string> refusals(const Arena& input) const;

 private:
  std::optional<Fault> fault_of(const Answer& answer, const Request& request,
                                std::optional<BatchReport>& report) const;
  std::optional<Fault> fault_of(const Reply& reply, const Request& request) const;

  const double call_timeout_seconds_;
  const int thread_count_;
  Child child_;
};

}  // namespace thresher::referee
