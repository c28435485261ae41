// SPDX-License-Identifier: Apache-2.0
// One arm of a match: a contestant's process with its output arena, called by the referee.
//
// Inputs and poison are put in place while the process is stopped. Every call is checked for what
// can be checked without the oracle; what the values should be is for the caller to ask.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "referee/sandbox/scratch.hpp"
#include "measure/guarded_region.hpp"
#include "referee/stage/stage.hpp"
#include "referee/timing/contestant_process.hpp"

namespace thresher::referee {

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

  std::optional<Fault> start();
  // A contestant may decline, with the check kDeclined.
  std::optional<Fault> prepare(const StagedProblem& staged);
  void release(const StagedProblem& staged);
  CallResult call(const StagedProblem& staged, const CallOptions& options = {});
  // Whether outputs have changed since the calls that made them.
  std::optional<Fault> find_late_write();
  void finish() { process_.finish(); }

  double prepare_seconds() const { return prepare_seconds_; }
  std::vector<std::string> refusals() const { return process_.refusals(stage_.arena()); }

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
  void move_to_next_slot();
  std::int64_t lay_out(Slot& slot, const StagedProblem& staged, OutputShape shape);
  std::optional<Fault> inspect(const StagedProblem& staged, Slot& slot) const;
  std::optional<Fault> late_write_in(const Slot& slot) const;
  std::span<const std::byte> bytes_of(const Slot& slot) const;

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
  ContestantProcess process_;
};

}  // namespace thresher::referee
