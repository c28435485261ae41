// SPDX-License-Identifier: Apache-2.0
// One arm of a match: a contestant's process with its output arena, called by the referee.
//
// The process is stopped except while it has a request to answer: it can neither burn its
// opponent's time nor work ahead, and whatever it does after its answer happens too late. Inputs
// and poison are put in place while it is stopped. Every call is checked for what can be checked
// without the oracle; what the values should be is for the caller to ask.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "referee/child.hpp"
#include "referee/fault.hpp"
#include "referee/guarded_region.hpp"
#include "referee/scratch.hpp"
#include "referee/stage.hpp"

namespace thresher::referee {

struct ArmOptions {
  std::filesystem::path program;  // the thresher binary; empty means the running one
  std::filesystem::path scratch;  // folder for the folders of arms; empty means the system's
  int thread_count = 1;
  double call_timeout_seconds = 20;
};

struct CallOptions {
  OutputShape shape;
  bool same_place = false;  // where the buffers of the call before were
  double slowed_share = 0;  // the referee idles away this share of the time, on the clock
  void (*before_window)() = nullptr;
};

struct CallResult {
  std::optional<Fault> fault;
  double ns = 0;
  std::vector<OutputView> outputs;  // valid until the arm's next call
};

class Arm {
 public:
  // `problems` are those that will be prepared. The stage must outlive the arm.
  Arm(const Job& job, Stage& stage, std::span<const Problem> problems, const ArmOptions& options,
      std::uint64_t seed);

  // Starts the process and exchanges greetings.
  std::optional<Fault> start();
  // A contestant may decline, with the check kDeclined.
  std::optional<Fault> prepare(const StagedProblem& staged);
  void release(const StagedProblem& staged);
  CallResult call(const StagedProblem& staged, const CallOptions& options = {});
  // Whether outputs have changed since the calls that made them.
  std::optional<Fault> find_late_write();
  // Lets the process end by itself, or kills it.
  void finish();

  double prepare_seconds() const { return prepare_seconds_; }
  std::vector<std::string> refusals() const;

 private:
  // A place for outputs. Calls take turns at them, so that what a call has written can be looked at
  // again after the calls that followed.
  struct Slot {
    std::int64_t offset = 0;       // where it begins in the output arena
    std::int64_t problem_id = -1;  // of its last call
    OutputShape shape;
    std::unique_ptr<GuardedRegion> region;
    std::int64_t region_offset = 0;
    std::uint64_t fingerprint = 0;
  };
  struct Exchange {
    std::optional<Fault> fault;
    double ns = 0;
  };

  Exchange ask(const Request& request, double slowed_share = 0);
  std::optional<Fault> fault_of(const Answer& answer, const Request& request) const;
  std::optional<Fault> fault_of(const Reply& reply, const Request& request) const;
  void move_to_next_slot();
  std::int64_t lay_out(Slot& slot, const StagedProblem& staged, OutputShape shape);
  std::optional<Fault> inspect(const StagedProblem& staged, Slot& slot) const;
  std::optional<Fault> late_write_in(const Slot& slot) const;
  std::span<const std::byte> bytes_of(const Slot& slot) const;

  const ArmOptions options_;
  Stage& stage_;
  Random random_;
  const std::uint64_t fingerprint_key_;
  ScratchFolder scratch_;
  const std::int64_t slot_bytes_;
  Arena output_;
  std::vector<Slot> slots_;
  std::size_t slot_index_ = 0;
  std::int64_t input_place_ = 0;
  std::int64_t next_region_offset_ = 0;
  double prepare_seconds_ = 0;
  Child child_;
};

}  // namespace thresher::referee
