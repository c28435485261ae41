// SPDX-License-Identifier: Apache-2.0
// A contestant's process as a match sees it: greeted, asked one thing at a time with a clock in
// hand, its answers judged.
//
// The process is stopped except while it has a request to answer: it can neither burn its
// opponent's time nor work ahead, and whatever it does after its answer happens too late. That it
// has stopped is waited for before anybody else's turn; that it has stayed so is proved by its CPU
// time when its own turn comes again.
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
  bool counts_threads = true;       // those that work; a driver has some of its own
  const Engine* engine = nullptr;   // the referee's own, which knows what is right
  Confinement confinement;
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
  // Whether it has done anything since it was stopped.
  std::optional<Fault> find_sleepwalk();
  // Lets the process end by itself, or kills it.
  void finish();

  // Layers of the sandbox that the kernel refused, the seal of the inputs among them.
  std::vector<std::string> refusals(const Arena& input) const;

 private:
  std::optional<Fault> fault_of(const Answer& answer, const Request& request,
                                std::optional<BatchReport>& report) const;
  std::optional<Fault> fault_of(const Reply& reply, const Request& request) const;

  // Waits until nothing of it runs, and counts what the request has cost.
  std::optional<Fault> settle(Clock::time_point begin);
  // Of one that has stopped, when the kernel has booked all of it.
  ChildUse settled_use() const;
  std::optional<Fault> excess_of(const ChildUse& use) const;

  const double call_timeout_seconds_;
  const int thread_count_;
  const bool counts_threads_;         // its cores are given, and it computes there
  std::optional<ChildUse> asleep_;    // what it had used when it was stopped
  std::int64_t collapsed_bytes_ = 0;  // that the kernel had put together then
  std::int64_t slept_cpu_ns_ = 0;     // what it has used after that, over all sleeps
  std::int64_t sleep_count_ = 0;
  double granted_cpu_ns_ = 0;  // threads times time, over all requests
  double used_cpu_ns_ = 0;
  Child child_;
};

}  // namespace thresher::referee
