// SPDX-License-Identifier: Apache-2.0
// One arm of a match on a GPU: a contestant's process with its output memory on the device, given
// batches of calls.
//
// A batch is bound with addresses alone; then, while the process is stopped, values and poison are
// put there, and then it goes. Right after its answer the outputs to be looked at are copied aside
// on the device: what is written later does not count. Poison comes from a template that is drawn
// once per problem and copied on the device, and of a timed batch a few calls are looked at: the
// host could not keep up with all of them.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/guarded_region.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/stage/gpu_stage.hpp"
#include "referee/timing/arm.hpp"
#include "referee/timing/contestant_process.hpp"

namespace thresher::referee {

struct BatchOptions {
  int call_count = 1;
  int inspected_count = 1;  // of them, looked at completely
  OutputShape shape;
  bool same_place = false;  // where the buffers of the batch before were
  double slowed_share = 0;  // the device, or the referee, idles away this share of the time
};

// A call that was looked at: all but its values, which are the caller's to ask the oracle about.
struct InspectedCall {
  std::size_t copy_index = 0;  // whose weights it had
  Inputs activations;          // put_activations() makes them those of the copy
  InputFamily family = InputFamily::kNatural;
  std::vector<OutputView> outputs;  // as they were at the answer; valid until the arm's next batch
};

struct BatchResult {
  std::optional<Fault> fault;
  double ns = 0;                      // per call
  std::optional<BatchReport> report;  // of our own worker
  std::vector<InspectedCall> inspected;
};

// What something usually takes, from the last few times: the known delay of the controls is a share
// of that.
class RecentTimes {
 public:
  void add(double ns) { ns_[count_++ % ns_.size()] = ns; }

  // The median, the lower one of two: the first time is often a long one. 0 before the first.
  double usual() const {
    std::array<double, 5> sorted = ns_;
    const std::size_t count = std::min(count_, sorted.size());
    if (count == 0) return 0;
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count));
    return sorted[(count - 1) / 2];
  }

 private:
  std::array<double, 5> ns_ = {};
  std::size_t count_ = 0;
};

class GpuArm : public Arm {
 public:
  // `entries` are those that will be prepared. The stage must outlive the arm.
  GpuArm(const Job& job, GpuStage& stage, std::span<const GpuEntry> entries,
         const ArmOptions& options, std::uint64_t seed);

  std::optional<Fault> start() override;
  std::optional<Fault> prepare(const StagedProblem& staged) override;
  void release(const StagedProblem& staged) override;
  // A batch of one, looked at completely.
  CallResult call(const StagedProblem& staged, const CallOptions& options) override;
  // `copies` are of one problem and differ in their weights alone; call i takes copy i modulo their
  // number, with activations that are drawn anew for every call: natural ones, and now and then
  // exact ones.
  BatchResult batch(std::span<StagedProblem> copies, const BatchOptions& options);
  std::optional<Fault> find_late_write() override;
  void finish() override { process_.finish(); }

  double prepare_seconds() const override { return prepare_seconds_; }
  std::vector<std::string> refusals() const override { return process_.refusals(stage_.arena()); }
  const gpu::DeviceBuffer& output() const { return output_; }

 private:
  // What outputs of a problem look like before a call, on the host and on the device.
  struct Template {
    std::unique_ptr<GuardedRegion> region;
    OutputShape shape;
    gpu::DeviceBuffer poison;
  };
  struct Place {
    std::int64_t activations = 0;
    std::int64_t region = 0;
  };
  // Outputs that must stay as they are until the next batch.
  struct Written {
    std::int64_t region_offset = 0;
    std::span<const std::byte> memory;  // the referee's own copy
  };

  using Copies = std::vector<const StagedProblem*>;
  // Called with the index of a copy before its activations are taken, for several copies at a time.
  using Redraw = std::function<InputFamily(std::size_t copy_index, Random& random)>;
  BatchResult play(const Copies& copies, const BatchOptions& options, const Redraw& redraw);
  const Template& template_for(const StagedProblem& staged, OutputShape shape);
  void draw_places(const Problem& problem, int call_count);
  std::optional<Fault> bind(const Copies& copies, const GuardedRegion& region);
  // Poison and activations; keeps the activations of the calls to be looked at.
  std::vector<InspectedCall> put_values(const Copies& copies, const Template& blank,
                                        std::span<const int> inspected, const Redraw& redraw);
  Exchange go(std::int64_t problem_id, const BatchOptions& options);
  std::optional<Fault> clock_fault(const Exchange& exchange) const;
  // The regions of these calls as they are now, one after the other.
  void copy_aside(std::span<const int> calls, std::size_t region_bytes);
  std::optional<Fault> inspect(const Problem& problem, const GuardedRegion& region,
                               std::span<const int> calls, std::vector<InspectedCall>& inspected);
  void copy_on_device(gpu::cuda::DevicePointer to, gpu::cuda::DevicePointer from,
                      std::size_t bytes) const;

  const SampleClock clock_;
  GpuStage& stage_;
  Random random_;
  ScratchFolder scratch_;
  gpu::DeviceBuffer output_;
  gpu::DeviceBuffer aside_;  // for the regions of the calls to be looked at
  Arena no_output_;          // what every contestant inherits, of no use here
  std::map<std::int64_t, Template> templates_;
  std::map<std::int64_t, RecentTimes> batch_ns_;  // by problem, without a delay
  std::vector<Place> places_;
  // Read from the device, in memory that is kept: fresh pages cost more than copying.
  std::vector<std::vector<std::byte>> inspected_memory_;
  std::vector<std::byte> late_memory_;
  std::optional<Written> last_;
  std::int64_t next_slot_ = 0;
  double prepare_seconds_ = 0;
  ContestantProcess process_;
  const int device_index_;
};

StagedArm make_staged_gpu_arm(const Job& job, std::span<const Problem> problems,
                              const ArmOptions& options, std::uint64_t seed);

}  // namespace thresher::referee
