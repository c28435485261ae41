// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/arm.hpp"

#include <algorithm>

#include "referee/sandbox/scratch.hpp"
#include "referee/stage/eviction.hpp"
#include "referee/stage/outputs.hpp"

namespace thresher::referee {
namespace {

constexpr std::size_t kSlotCount = 3;

std::int64_t slot_bytes_for_all(std::span<const Problem> problems) {
  std::int64_t bytes = 0;
  for (const Problem& problem : problems) bytes = std::max(bytes, slot_bytes_for(problem));
  return bytes;
}

WorkOrder order_for(const Job& job, const ScratchFolder& scratch, const CpuStage& stage,
                    const Arena& output, const ArmOptions& options) {
  WorkOrder order{
      .job = job, .limits = {}, .scratch = scratch.path(), .confinement = options.confinement};
  // Both arenas, and packed weights that may be eight times as large as NVFP4.
  order.limits.memory_bytes +=
      static_cast<std::int64_t>(16 * stage.arena().bytes() + 2 * output.bytes());
  return order;
}

class CpuArm final : public Arm {
 public:
  CpuArm(const Job& job, CpuStage& stage, std::span<const Problem> problems,
         const ArmOptions& options, std::uint64_t seed);

  std::optional<Fault> start() override;
  std::optional<Fault> prepare(const StagedProblem& staged) override;
  void release(const StagedProblem& staged) override;
  CallResult call(const StagedProblem& staged, const CallOptions& options) override;
  std::optional<Fault> find_late_write() override;
  void finish() override { process_.finish(); }

  double prepare_seconds() const override { return prepare_seconds_; }
  std::vector<std::string> refusals() const override { return process_.refusals(stage_.arena()); }

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

  CpuStage& stage_;
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

CpuArm::CpuArm(const Job& job, CpuStage& stage, std::span<const Problem> problems,
               const ArmOptions& options, std::uint64_t seed)
    : stage_(stage),
      random_(Random::secret(seed)),
      fingerprint_key_(random_.next()),
      scratch_(FolderOwner::kContestant, options.scratch),
      slot_bytes_(slot_bytes_for_all(problems)),
      output_(ChildAccess::kReadWrite, kSlotCount * static_cast<std::size_t>(slot_bytes_)),
      process_({.program = options.program,
                .order = order_for(job, scratch_, stage, output_, options),
                .input_fd = stage.arena().child_fd(),
                .output_fd = output_.child_fd(),
                .cores = options.cores},
               options) {
  for (std::size_t i = 0; i < kSlotCount; ++i) {
    slots_.push_back({.offset = static_cast<std::int64_t>(i) * slot_bytes_});
  }
}

std::optional<Fault> CpuArm::start() {
  return process_.start(static_cast<std::int64_t>(stage_.arena().bytes()),
                        static_cast<std::int64_t>(output_.bytes()));
}

std::optional<Fault> CpuArm::prepare(const StagedProblem& staged) {
  Exchange exchange = process_.ask(prepare_request(staged, random_.next()));
  prepare_seconds_ += exchange.ns * 1e-9;
  return std::move(exchange.fault);
}

void CpuArm::release(const StagedProblem& staged) {
  process_.tell({.kind = RequestKind::kRelease, .id = staged.id});
}

CallResult CpuArm::call(const StagedProblem& staged, const CallOptions& options) {
  if (!options.same_place) move_to_next_slot();
  Slot& slot = slots_[slot_index_];
  CallResult result{.fault = late_write_in(slot)};
  if (result.fault) return result;

  const std::int64_t table = lay_out(slot, staged, options.shape);
  if (options.flushed) {
    flush_lines(bytes_of(slot));
    stage_.flush_call(staged, input_place_, options.weights_flushed);
  }
  Exchange exchange = process_.ask(
      {.kind = RequestKind::kRun, .id = staged.id, .table_offset = table, .token = random_.next()},
      options.slowed_share);
  result.ns = exchange.ns;
  result.fault = exchange.fault ? std::move(exchange.fault) : inspect(staged, slot);
  result.outputs = slot.region->views(output_.data() + slot.region_offset);
  return result;
}

void CpuArm::move_to_next_slot() {
  slot_index_ = (slot_index_ + 1) % kSlotCount;
  Slot& slot = slots_[slot_index_];
  const auto jitter = static_cast<std::int64_t>(random_.below(kRegionJitterCount));
  next_region_offset_ = slot.offset + jitter * kAlignmentBytes;
  input_place_ = stage_.draw_place(random_);
}

// Poison in the outputs, activations and table in the inputs. Returns where the table is.
std::int64_t CpuArm::lay_out(Slot& slot, const StagedProblem& staged, OutputShape shape) {
  if (slot.problem_id != staged.id || slot.shape != shape) {
    slot.region = std::make_unique<GuardedRegion>(staged.problem, shape);
    slot.problem_id = staged.id;
    slot.shape = shape;
  }
  slot.region_offset = next_region_offset_;
  slot.region->poison(output_.data() + slot.region_offset, random_);
  return stage_.put_call(staged, places_in(*slot.region, staged.problem, slot.region_offset),
                         input_place_);
}

std::optional<Fault> CpuArm::inspect(const StagedProblem& staged, Slot& slot) const {
  slot.fingerprint = fingerprint(bytes_of(slot), fingerprint_key_);
  if (!stage_.call_intact(staged, input_place_)) return changed_activations(staged.problem);
  return find_output_fault(*slot.region, bytes_of(slot).data(), staged.problem);
}

std::span<const std::byte> CpuArm::bytes_of(const Slot& slot) const {
  return {output_.data() + slot.region_offset, slot.region->bytes()};
}

std::optional<Fault> CpuArm::late_write_in(const Slot& slot) const {
  if (slot.region == nullptr) return std::nullopt;
  if (fingerprint(bytes_of(slot), fingerprint_key_) == slot.fingerprint) return std::nullopt;
  return late_write();
}

std::optional<Fault> CpuArm::find_late_write() {
  if (std::optional<Fault> fault = process_.find_sleepwalk()) return fault;
  for (const Slot& slot : slots_) {
    if (std::optional<Fault> fault = late_write_in(slot)) return fault;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Arm> make_cpu_arm(const Job& job, CpuStage& stage,
                                  std::span<const Problem> problems, const ArmOptions& options,
                                  std::uint64_t seed) {
  return std::make_unique<CpuArm>(job, stage, problems, options, seed);
}

StagedArm make_staged_cpu_arm(const Job& job, std::span<const Problem> problems,
                              const ArmOptions& options, std::uint64_t seed) {
  auto stage = std::make_unique<CpuStage>(problems, Room::kForOneByOne);
  auto arm = make_cpu_arm(job, *stage, problems, options, seed);
  return {std::move(stage), std::move(arm)};
}

}  // namespace thresher::referee
