// SPDX-License-Identifier: Apache-2.0
// One arm of a match: a contestant's process with memory for its outputs, called by the referee.
//
// Inputs and poison are put in place while the process is stopped. Every call is checked for what
// can be checked without the oracle; what the values should be is for the caller to ask.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/guarded_region.hpp"
#include "referee/stage/stage.hpp"
#include "referee/timing/contestant_process.hpp"

namespace thresher::referee {

using measure::GuardedRegion;
using measure::OutputShape;

struct CallOptions {
  OutputShape shape;
  bool same_place = false;  // where the buffers of the call before were
  double slowed_share = 0;  // the referee idles away this share of the time, on the clock
  // What arms share of a call, and its outputs, are in no cache when it begins.
  bool flushed = false;
  bool weights_flushed = false;  // the weights as they were put, too
};

struct CallResult {
  std::optional<Fault> fault;
  double ns = 0;
  std::vector<OutputView> outputs;  // valid until the arm's next call
};

class Arm {
 public:
  virtual ~Arm() = default;

  virtual std::optional<Fault> start() = 0;
  // A contestant may decline, with the check kDeclined.
  virtual std::optional<Fault> prepare(const StagedProblem& staged) = 0;
  virtual void release(const StagedProblem& staged) = 0;
  virtual CallResult call(const StagedProblem& staged, const CallOptions& options) = 0;
  // Whether outputs have changed since the calls that made them.
  virtual std::optional<Fault> find_late_write() = 0;
  virtual void finish() = 0;

  virtual double prepare_seconds() const = 0;
  // Layers of the sandbox that the kernel refused.
  virtual std::vector<std::string> refusals() const = 0;
};

// `problems` are those that will be prepared. The stage must outlive the arm.
std::unique_ptr<Arm> make_cpu_arm(const Job& job, CpuStage& stage,
                                  std::span<const Problem> problems, const ArmOptions& options,
                                  std::uint64_t seed);

// An arm with a stage of its own, for problems that come one by one, as the gates ask them.
struct StagedArm {
  std::unique_ptr<Stage> stage;
  std::unique_ptr<Arm> arm;
};

StagedArm make_staged_cpu_arm(const Job& job, std::span<const Problem> problems,
                              const ArmOptions& options, std::uint64_t seed);

}  // namespace thresher::referee
