// SPDX-License-Identifier: Apache-2.0
#include "bench/program.hpp"

#include <algorithm>
#include <cstring>

#include "assert.hpp"
#include "gemm/oracle.hpp"
#include "gemm/random.hpp"
#include "measure/clock.hpp"
#include "nvfp4/half.hpp"
#include "referee/stage/stage_layout.hpp"

namespace thresher::bench {
namespace {

using measure::GuardedRegion;
using referee::aligned;
using referee::BatchRecord;
using referee::CallRecord;
using referee::GroupRecord;
using referee::Request;
using referee::RequestKind;

constexpr std::int64_t kPeerShift = 16;
// Of what is no problem.
constexpr std::int64_t kForeignId = std::int64_t{1} << 32;
constexpr std::size_t kListRecordsMax = 4096;
constexpr std::int64_t kProcessesMax = 1 << 16;

Problem in_16_bits(Problem problem) {
  if (problem.activations == Activations::kNvfp4) problem.activations = Activations::kBf16;
  return problem;
}

// The activations and factors of a problem as the program gets them, without its weights.
Inputs activations_in_16_bits(const Problem& problem, const Inputs& inputs) {
  Inputs converted;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const GroupInputs& from = inputs.groups[g];
    GroupInputs& to = converted.groups.emplace_back();
    to.alpha = from.alpha;
    to.alpha_up = from.alpha_up;
    if (problem.activations != Activations::kNvfp4) {
      to.a16 = from.a16;
      continue;
    }
    to.alpha *= from.a.global_scale;
    to.alpha_up *= from.a.global_scale;
    std::vector<float> row(static_cast<std::size_t>(problem.groups[g].k));
    for (std::int64_t i = 0; i < problem.groups[g].m; ++i) {
      decode_row(from.a, i, row);
      for (const float value : row) to.a16.push_back(nvfp4::float_to_bf16(value));
    }
  }
  return converted;
}

std::size_t output_bytes_of(Problem problem) {
  problem.output = Output::kFp32;
  return static_cast<std::size_t>(
      aligned(static_cast<std::int64_t>(GuardedRegion(problem, {}).bytes())));
}

referee::ArmOptions arm_options_of(const ProgramOptions& options) {
  return {.thread_count = options.thread_count,
          .call_timeout_seconds = options.timeout_seconds,
          .counts_threads = false};
}

referee::ChildOptions child_of(const ProgramOptions& options, const ProgramMemory& memory) {
  return {.program = options.thresher,
          .order = {.job = {.kind = referee::JobKind::kCommand,
                            .command = options.command,
                            .folder = options.folder,
                            .backend = options.backend},
                    .limits = {.processes = kProcessesMax},
                    .scratch = options.folder,
                    .confinement = {.is_operators = true}},
          .input_fd = memory.inputs().child_fd(),
          .output_fd = memory.shared_outputs().child_fd()};
}

void check_fault(const std::optional<referee::Fault>& fault) {
  if (fault) throw ProgramFault(fault->reason);
}

}  // namespace

ProgramRoom Program::room_for(std::span<const Problem> problems, std::size_t peer_count) {
  ProgramRoom room;
  for (const Problem& problem : problems) {
    const auto tables = static_cast<std::int64_t>(peer_count) *
                        referee::table_bytes<CallRecord>(problem.groups.size());
    const std::int64_t inputs = referee::weights_bytes(problem) + tables +
                                referee::activation_bytes(in_16_bits(problem)) +
                                referee::table_bytes<BatchRecord>(kListRecordsMax);
    room.input_bytes = std::max(room.input_bytes, static_cast<std::size_t>(inputs));
    room.output_bytes = std::max(room.output_bytes, peer_count * output_bytes_of(problem));
  }
  return room;
}

Program::Program(const ProgramOptions& options, std::unique_ptr<ProgramMemory> memory)
    : memory_(std::move(memory)), process_(child_of(options, *memory_), arm_options_of(options)) {
  check_fault(process_.start(static_cast<std::int64_t>(memory_->inputs().bytes()),
                             static_cast<std::int64_t>(memory_->shared_outputs().bytes())));
  if (const std::optional<Request> request = memory_->introduction()) ask(*request);
}

Program::~Program() { process_.finish(); }

void Program::put(const Problem& problem, const Inputs& inputs,
                  const std::vector<ProgramCall>& calls) {
  release_all();
  places_.clear();
  std::int64_t outputs_offset = 0;
  for (const ProgramCall& call : calls) {
    Place& place = places_.emplace_back(Place{.call = call, .problem = in_16_bits(problem)});
    place.problem.output = call.output;
    lay_out(place, outputs_offset);
    outputs_offset = aligned(outputs_offset + static_cast<std::int64_t>(place.bytes));
    THRESHER_ASSERT(outputs_offset <= static_cast<std::int64_t>(memory_->outputs().size()));
  }
  put_inputs(problem, inputs);
  for (std::size_t peer = 0; peer < places_.size(); ++peer) {
    for (std::size_t copy = 0; copy < places_[peer].call.copy_count; ++copy) {
      prepare(places_[peer],
              static_cast<std::int64_t>(peer << kPeerShift) + static_cast<std::int64_t>(copy));
    }
  }
  Place nothing{.problem = places_.front().problem};
  nothing.problem.groups.clear();
  prepare(nothing, kForeignId);
}

void Program::release_all() {
  for (const std::int64_t id : prepared_) process_.tell({.kind = RequestKind::kRelease, .id = id});
  prepared_.clear();
  bound_.clear();
}

// Where nobody else writes, groups follow each other, as in any tensor of rows: one kernel can then
// write all of them.
void Program::lay_out(Place& place, std::int64_t outputs_offset) const {
  place.outputs_offset = outputs_offset;
  if (!memory_->takes_batches()) {
    place.region = std::make_unique<GuardedRegion>(place.problem, measure::OutputShape{});
    place.bytes = place.region->bytes();
    for (std::size_t g = 0; g < place.problem.groups.size(); ++g) {
      place.group_offsets.push_back(place.region->offset(g));
    }
    return;
  }
  for (const Group& group : place.problem.groups) {
    place.group_offsets.push_back(static_cast<std::int64_t>(place.bytes));
    place.bytes +=
        static_cast<std::size_t>(group.m * group.n * bytes_per_element(place.problem.output));
  }
}

void Program::put_inputs(const Problem& problem, const Inputs& inputs) {
  const std::span<std::byte> memory = referee::bytes_of(memory_->inputs());
  weights_table_ = 0;
  referee::Cursor cursor(memory, referee::table_bytes<GroupRecord>(problem.groups.size()));
  const auto copy = [&](const void* data, std::size_t bytes) { return cursor.copy(data, bytes); };
  referee::put_table(memory, weights_table_, referee::walk_weights(problem, inputs, copy));
  put_calls(activations_in_16_bits(problem, inputs), cursor.offset());
}

// The tables of all peers, then the activations that they share, then room for lists.
void Program::put_calls(const Inputs& activations, std::int64_t offset) {
  const std::span<std::byte> memory = referee::bytes_of(memory_->inputs());
  const std::int64_t table_bytes = referee::table_bytes<CallRecord>(activations.groups.size());
  referee::Cursor cursor(memory, offset + static_cast<std::int64_t>(places_.size()) * table_bytes);
  std::vector<CallRecord> records = referee::walk_call(
      places_.front().problem, activations,
      [&](const void* data, std::size_t bytes) { return cursor.copy(data, bytes); });
  for (Place& place : places_) {
    for (std::size_t g = 0; g < records.size(); ++g) {
      records[g].c = place.outputs_offset + place.group_offsets[g];
      records[g].c_stride = place.problem.groups[g].n;
    }
    place.table_offset = offset;
    referee::put_table(memory, offset, records);
    offset += table_bytes;
  }
  list_offset_ = cursor.offset();
  memory_->send_inputs(static_cast<std::size_t>(list_offset_));
}

void Program::prepare(const Place& place, std::int64_t id) {
  ask({.kind = RequestKind::kPrepare,
       .id = id,
       .op = place.problem.op,
       .activations = place.problem.activations,
       .output = place.problem.output,
       .group_count = static_cast<std::int64_t>(place.problem.groups.size()),
       .table_offset = weights_table_});
  prepared_.push_back(id);
}

double Program::ask_us(std::size_t peer, const std::vector<std::size_t>& copies) {
  Place& place = places_[peer];
  std::vector<BatchRecord> list;
  for (const std::size_t copy : copies) {
    std::int64_t id = kForeignId;
    if (copy != measure::kForeignCall) {
      const std::size_t turn = memory_->takes_batches() ? copy : place.next_copy++;
      id = static_cast<std::int64_t>((peer << kPeerShift) + turn % place.call.copy_count);
    }
    list.push_back({.id = id, .table_offset = place.table_offset});
  }
  if (memory_->takes_batches()) return batch_us(list);
  double us = 0;
  for (const BatchRecord& record : list) {
    us += ask({.kind = RequestKind::kRun, .id = record.id, .table_offset = record.table_offset});
  }
  return us;
}

// Bound once for as long as the list stays the same: what is timed is running it.
double Program::batch_us(const std::vector<BatchRecord>& list) {
  THRESHER_ASSERT(list.size() <= kListRecordsMax);
  const auto same = [](const BatchRecord& a, const BatchRecord& b) {
    return a.id == b.id && a.table_offset == b.table_offset;
  };
  if (!std::equal(list.begin(), list.end(), bound_.begin(), bound_.end(), same)) {
    referee::put_table(referee::bytes_of(memory_->inputs()), list_offset_, list);
    ask({.kind = RequestKind::kBatch,
         .table_offset = list_offset_,
         .call_count = static_cast<std::int64_t>(list.size())});
    bound_ = list;
  }
  return ask({.kind = RequestKind::kGo});
}

double Program::ask(Request request) {
  request.token = ++token_;
  const referee::Exchange exchange = process_.ask(request);
  check_fault(exchange.fault);
  return exchange.ns * 1e-3;
}

std::span<std::byte> Program::outputs_of(const Place& place) {
  return memory_->outputs().subspan(static_cast<std::size_t>(place.outputs_offset), place.bytes);
}

void Program::poison(std::size_t peer, std::uint64_t seed) {
  const Place& place = places_[peer];
  const std::span<std::byte> outputs = outputs_of(place);
  if (place.region) {
    Random random(seed);
    place.region->poison(outputs.data(), random);
  } else {
    std::fill(outputs.begin(), outputs.end(), std::byte{0xff});  // NaN in every output type
  }
  memory_->send_outputs();
}

std::vector<OutputView> Program::fetch(std::size_t peer) {
  memory_->fetch_outputs();
  const Place& place = places_[peer];
  const std::byte* outputs = outputs_of(place).data();
  std::vector<OutputView> views;
  for (std::size_t g = 0; g < place.group_offsets.size(); ++g) {
    const Group& group = place.problem.groups[g];
    views.push_back({.c = group.m == 0 ? nullptr : outputs + place.group_offsets[g],
                     .stride_elements = group.n});
  }
  return views;
}

std::string Program::find_trespass(std::size_t peer) {
  const Place& place = places_[peer];
  return place.region ? place.region->find_trespass(outputs_of(place).data()) : std::string();
}

}  // namespace thresher::bench
