// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/gpu_arm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "assert.hpp"
#include "cpu/side_by_side.hpp"
#include "referee/stage/outputs.hpp"
#include "referee/timing/referee_gpu.hpp"

namespace thresher::referee {
namespace {

// Batches take turns, so that a late write of one does not look like an early one of the next.
constexpr std::int64_t kTurnCount = 2;
constexpr std::size_t kNoOutputBytes = 4096;
constexpr int kGatePlaceCount = 3;
// So long the device waits before its clock runs, while the host queues the first calls: the
// latency of a launch is then as little part of the time as in the middle of a batch.
constexpr std::int64_t kHeadStartNs = 50'000;

std::size_t output_bytes_for(std::span<const GpuEntry> entries) {
  std::int64_t bytes = 0;
  for (const GpuEntry& entry : entries) {
    bytes = std::max(bytes, kTurnCount * entry.rotation.call_count * slot_bytes_for(entry.problem));
  }
  return whole_blocks(bytes);
}

DeviceHandle handle_of(const gpu::DeviceBuffer& buffer) {
  const gpu::cuda::IpcMemoryHandle handle = buffer.share();
  DeviceHandle bytes;
  static_assert(sizeof handle == sizeof bytes);
  std::memcpy(bytes.data(), handle.bytes, sizeof handle);
  return bytes;
}

// The first `bytes` of memory that only ever grows.
std::span<std::byte> room_in(std::vector<std::byte>& memory, std::size_t bytes) {
  if (memory.size() < bytes) memory.resize(bytes);
  return std::span(memory).first(bytes);
}

}  // namespace

GpuArm::GpuArm(const Job& job, GpuStage& stage, std::span<const GpuEntry> entries,
               const ArmOptions& options, std::uint64_t seed)
    : clock_(options.clock),
      stage_(stage),
      random_(Random::secret(seed)),
      scratch_(FolderOwner::kContestant, options.scratch),
      output_(stage.device(), output_bytes_for(entries)),
      no_output_(ChildAccess::kReadWrite, kNoOutputBytes),
      process_({.program = options.program,
                .order = {.job = job,
                          .limits = {},
                          .scratch = scratch_.path(),
                          .confinement = options.confinement},
                .input_fd = stage.arena().child_fd(),
                .output_fd = no_output_.child_fd(),
                .cores = options.cores},
               options),
      device_index_(job.cuda.device_index) {}

std::optional<Fault> GpuArm::start() {
  std::optional<Fault> fault =
      process_.start(static_cast<std::int64_t>(stage_.arena().bytes()), kNoOutputBytes);
  if (fault) return fault;
  const gpu::DeviceBuffer& input = stage_.device_memory();
  Exchange exchange = process_.ask({.kind = RequestKind::kDevice,
                                    .input_bytes = static_cast<std::int64_t>(input.bytes()),
                                    .output_bytes = static_cast<std::int64_t>(output_.bytes()),
                                    .device_index = device_index_,
                                    .input_handle = handle_of(input),
                                    .output_handle = handle_of(output_),
                                    .token = random_.next()});
  return std::move(exchange.fault);
}

std::optional<Fault> GpuArm::prepare(const StagedProblem& staged) {
  Exchange exchange = process_.ask(prepare_request(staged, random_.next()));
  prepare_seconds_ += exchange.ns * 1e-9;
  return std::move(exchange.fault);
}

void GpuArm::release(const StagedProblem& staged) {
  templates_.erase(staged.id);
  process_.tell({.kind = RequestKind::kRelease, .id = staged.id});
}

CallResult GpuArm::call(const StagedProblem& staged, const CallOptions& options) {
  BatchResult batch = play({&staged}, {.shape = options.shape, .same_place = options.same_place},
                           [](std::size_t, Random&) { return InputFamily::kNatural; });
  CallResult result{.fault = std::move(batch.fault), .ns = batch.ns};
  if (!batch.inspected.empty()) result.outputs = std::move(batch.inspected.front().outputs);
  return result;
}

BatchResult GpuArm::batch(std::span<StagedProblem> copies, const BatchOptions& options) {
  Copies pointers;
  for (const StagedProblem& copy : copies) pointers.push_back(&copy);
  // What is natural is kept while something exact stands in its place.
  std::vector<std::optional<Inputs>> natural(copies.size());
  const auto restore = [&](std::size_t copy_index) {
    if (!natural[copy_index]) return;
    put_activations(std::move(*natural[copy_index]), copies[copy_index].inputs);
    natural[copy_index].reset();
  };
  BatchResult result = play(pointers, options, [&](std::size_t copy_index, Random& random) {
    StagedProblem& copy = copies[copy_index];
    restore(copy_index);
    redraw_activations(copy.problem, copy.inputs, random);
    if (!toss_exact(copy.problem, random)) return InputFamily::kNatural;
    natural[copy_index] = activations_of(copy.inputs);
    draw_exact_activations(copy.problem, copy.inputs, random);
    return InputFamily::kExact;
  });
  for (std::size_t i = 0; i < copies.size(); ++i) restore(i);
  return result;
}

BatchResult GpuArm::play(const Copies& copies, const BatchOptions& options, const Redraw& redraw) {
  BatchResult result{.fault = find_late_write()};
  const Problem& problem = copies.front()->problem;
  const Template& blank = template_for(*copies.front(), options.shape);
  if (!options.same_place) draw_places(problem, options.call_count);
  if (!result.fault) result.fault = bind(copies, *blank.region);
  if (result.fault) return result;

  const std::vector<int> inspected =
      draw_inspected(options.call_count, options.inspected_count, random_);
  result.inspected = put_values(copies, blank, inspected, redraw);
  Exchange exchange = go(copies.front()->id, options);
  result.fault = std::move(exchange.fault);
  if (result.fault) return result;
  copy_aside(inspected, blank.region->bytes());
  result.report = exchange.report;
  result.ns = exchange.ns / options.call_count;
  result.fault = inspect(problem, *blank.region, inspected, result.inspected);
  return result;
}

const GpuArm::Template& GpuArm::template_for(const StagedProblem& staged, OutputShape shape) {
  Template& found = templates_[staged.id];
  if (found.region != nullptr && found.shape == shape) return found;
  found.region = std::make_unique<GuardedRegion>(staged.problem, shape);
  found.shape = shape;
  found.poison = gpu::DeviceBuffer(stage_.device(), found.region->bytes());
  found.poison.copy_in(found.region->draw_poison(random_));
  return found;
}

void GpuArm::draw_places(const Problem& problem, int call_count) {
  const std::int64_t slot_bytes = slot_bytes_for(problem);
  const auto slot_count = static_cast<std::int64_t>(output_.bytes()) / slot_bytes;
  THRESHER_ASSERT(slot_count >= kTurnCount * call_count);
  std::vector<std::int64_t> regions;
  for (std::int64_t i = 0; i < call_count; ++i) {
    const std::int64_t slot = (next_slot_ + i) % slot_count;
    const auto jitter = static_cast<std::int64_t>(random_.below(kRegionJitterCount));
    regions.push_back(slot * slot_bytes + jitter * kAlignmentBytes);
  }
  next_slot_ = (next_slot_ + call_count) % slot_count;
  const std::vector<std::int64_t> activations = stage_.draw_places(problem, call_count, random_);
  places_.clear();
  for (std::size_t i = 0; i < regions.size(); ++i) {
    places_.push_back({.activations = activations[i], .region = regions[i]});
  }
}

// Only addresses so far. Copies share everything that the tables hold.
std::optional<Fault> GpuArm::bind(const Copies& copies, const GuardedRegion& region) {
  const Problem& problem = copies.front()->problem;
  std::vector<UnboundCall> calls;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    calls.push_back({.id = copies[i % copies.size()]->id,
                     .activations_offset = places_[i].activations,
                     .outputs = places_in(region, problem, places_[i].region)});
  }
  Exchange exchange = process_.ask({.kind = RequestKind::kBatch,
                                    .table_offset = stage_.put_batch(*copies.front(), calls),
                                    .call_count = static_cast<std::int64_t>(calls.size()),
                                    .token = random_.next()});
  return std::move(exchange.fault);
}

std::vector<InspectedCall> GpuArm::put_values(const Copies& copies, const Template& blank,
                                              std::span<const int> inspected,
                                              const Redraw& redraw) {
  const std::size_t region_bytes = blank.region->bytes();
  // Now, not when every microsecond counts.
  if (aside_.bytes() < inspected.size() * region_bytes) {
    aside_ = gpu::DeviceBuffer(stage_.device(), inspected.size() * region_bytes);
  }
  for (const Place& place : places_) {
    copy_on_device(output_.address() + static_cast<std::size_t>(place.region),
                   blank.poison.address(), region_bytes);
  }
  std::vector<InspectedCall> kept(inspected.size());
  const std::uint64_t seed = random_.next();
  // The calls of one copy come one after the other: each redraws what the one before has left.
  cpu::side_by_side(std::min(copies.size(), places_.size()), [&](std::size_t copy) {
    Random random = Random::secret(seed, copy);
    const StagedProblem& staged = *copies[copy];
    for (std::size_t call = copy; call < places_.size(); call += copies.size()) {
      const InputFamily family = redraw(copy, random);
      stage_.put_activations(staged.problem, staged.inputs, places_[call].activations);
      const auto found = std::find(inspected.begin(), inspected.end(), static_cast<int>(call));
      if (found == inspected.end()) continue;
      kept[static_cast<std::size_t>(found - inspected.begin())] = {
          .copy_index = copy, .activations = activations_of(staged.inputs), .family = family};
    }
  });
  stage_.sync();
  return kept;
}

// The time in the exchange becomes that of the clock that counts. With the device's the delay must
// be said beforehand: a share of what is usual.
Exchange GpuArm::go(std::int64_t problem_id, const BatchOptions& options) {
  const bool on_device = clock_ == SampleClock::kDevice;
  RecentTimes& batch_ns = batch_ns_[problem_id];
  Exchange exchange = process_.ask(
      {.kind = RequestKind::kGo,
       .head_start_ns = on_device ? kHeadStartNs : 0,
       .delay_ns = on_device ? std::llround(options.slowed_share * batch_ns.usual()) : 0,
       .token = random_.next()},
      on_device ? 0 : options.slowed_share);
  if (!exchange.fault && on_device) exchange.fault = clock_fault(exchange);
  if (exchange.fault) return exchange;
  if (on_device) exchange.ns = static_cast<double>(exchange.report->ns);
  if (options.slowed_share == 0) batch_ns.add(exchange.ns);
  return exchange;
}

// Our worker's events are believed within what the referee's own clock can tell.
std::optional<Fault> GpuArm::clock_fault(const Exchange& exchange) const {
  if (!exchange.report || exchange.report->ns <= 0) {
    return invalid(check::kProtocol, "answered 'go' without the time on the device");
  }
  const auto device_ns = static_cast<double>(exchange.report->ns);
  if (device_ns <= exchange.ns) return std::nullopt;
  return invalid(check::kClock,
                 fmt::format("a batch took {:.1f} us on the device but only {:.1f} us from request "
                             "to answer",
                             device_ns / 1e3, exchange.ns / 1e3));
}

void GpuArm::copy_aside(std::span<const int> calls, std::size_t region_bytes) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Place& place = places_[static_cast<std::size_t>(calls[i])];
    copy_on_device(aside_.address() + i * region_bytes,
                   output_.address() + static_cast<std::size_t>(place.region), region_bytes);
  }
  stage_.sync();
}

std::optional<Fault> GpuArm::inspect(const Problem& problem, const GuardedRegion& region,
                                     std::span<const int> calls,
                                     std::vector<InspectedCall>& inspected) {
  std::vector<std::optional<Fault>> faults(calls.size());
  inspected_memory_.resize(std::max(inspected_memory_.size(), calls.size()));
  cpu::side_by_side(calls.size(), [&](std::size_t i) {
    const Place& place = places_[static_cast<std::size_t>(calls[i])];
    const std::span<std::byte> memory = room_in(inspected_memory_[i], region.bytes());
    aside_.copy_out(memory, i * region.bytes());
    inspected[i].outputs = region.views(memory.data());
    faults[i] = stage_.call_intact(problem, inspected[i].activations, place.activations)
                    ? find_output_fault(region, memory.data(), problem)
                    : changed_activations(problem);
  });
  last_ = Written{.region_offset = places_[static_cast<std::size_t>(calls.back())].region,
                  .memory = std::span(inspected_memory_[calls.size() - 1]).first(region.bytes())};
  return first_of(std::move(faults));
}

std::optional<Fault> GpuArm::find_late_write() {
  if (std::optional<Fault> fault = process_.find_sleepwalk()) return fault;
  if (!last_) return std::nullopt;
  const std::span<std::byte> now = room_in(late_memory_, last_->memory.size());
  output_.copy_out(now, static_cast<std::size_t>(last_->region_offset));
  if (std::memcmp(now.data(), last_->memory.data(), now.size()) == 0) return std::nullopt;
  return late_write();
}

void GpuArm::copy_on_device(gpu::cuda::DevicePointer to, gpu::cuda::DevicePointer from,
                            std::size_t bytes) const {
  const gpu::Context& context = *stage_.device().context();
  context.make_current();
  context.check(context.driver().cuMemcpyDtoDAsync(to, from, bytes, stage_.stream().handle()),
                "cuMemcpyDtoDAsync");
}

StagedArm make_staged_gpu_arm(const Job& job, std::span<const Problem> problems,
                              const ArmOptions& options, std::uint64_t seed) {
  // Calls are made one at a time, at one of several places.
  std::vector<GpuEntry> entries;
  for (const Problem& problem : problems) {
    entries.push_back({problem, {.copy_count = 1, .call_count = kGatePlaceCount}});
  }
  auto stage = std::make_unique<GpuStage>(options.gpu->device(), entries, Room::kForOneByOne);
  auto arm = std::make_unique<GpuArm>(job, *stage, entries, options, seed);
  return {std::move(stage), std::move(arm)};
}

}  // namespace thresher::referee
