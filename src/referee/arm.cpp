// SPDX-License-Identifier: Apache-2.0
#include "referee/arm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace thresher::referee {
namespace {

constexpr std::size_t kSlotCount = 3;
constexpr std::int64_t kJitterCount = 64;
constexpr auto kStartTimeout = std::chrono::seconds(10);
constexpr std::size_t kQuotedMax = 80;
constexpr auto kQuitGrace = std::chrono::milliseconds(200);

// The most a region of any shape the gates use can take.
constexpr OutputShape kWidestShape{.row_gap_elements = 16, .misalignment_elements = 16};

std::int64_t slot_bytes_for(std::span<const Problem> problems) {
  std::size_t bytes = 0;
  for (const Problem& problem : problems) {
    bytes = std::max(bytes, GuardedRegion(problem, kWidestShape).bytes());
  }
  const auto whole = (static_cast<std::int64_t>(bytes) / kAlignmentBytes + 1) * kAlignmentBytes;
  return whole + kJitterCount * kAlignmentBytes;
}

WorkOrder order_for(const Job& job, const ScratchFolder& scratch, const Stage& stage,
                    const Arena& output) {
  WorkOrder order{.job = job, .limits = {}, .scratch = scratch.path()};
  // Both arenas, and packed weights that may be eight times as large as NVFP4.
  order.limits.address_space_bytes +=
      static_cast<std::int64_t>(16 * stage.arena().bytes() + 2 * output.bytes());
  return order;
}

std::string verb_of(const Request& request) {
  const std::string line = to_line(request);
  return line.substr(0, line.find_first_of(" \n"));
}

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// The slowed arm of the controls: time passes, and nobody computes.
void idle_until(Clock::time_point end) {
  while (Clock::now() < end) {
  }
}

}  // namespace

Arm::Arm(const Job& job, Stage& stage, std::span<const Problem> problems, const ArmOptions& options,
         std::uint64_t seed)
    : options_(options),
      stage_(stage),
      random_(seed),
      fingerprint_key_(random_.next()),
      scratch_(FolderOwner::kContestant, options.scratch),
      slot_bytes_(slot_bytes_for(problems)),
      output_(ChildAccess::kReadWrite, kSlotCount * static_cast<std::size_t>(slot_bytes_)),
      child_({.program = options.program,
              .order = order_for(job, scratch_, stage, output_),
              .input_fd = stage.arena().child_fd(),
              .output_fd = output_.child_fd()}) {
  for (std::size_t i = 0; i < kSlotCount; ++i) {
    slots_.push_back({.offset = static_cast<std::int64_t>(i) * slot_bytes_});
  }
}

std::optional<Fault> Arm::start() {
  if (!child_.wait_until_started(Clock::now() + kStartTimeout)) {
    return invalid(check::kStart, fmt::format("could not be started: {}", child_.describe_end()));
  }
  Exchange exchange = ask({.kind = RequestKind::kHello,
                           .input_bytes = static_cast<std::int64_t>(stage_.arena().bytes()),
                           .output_bytes = static_cast<std::int64_t>(output_.bytes()),
                           .thread_count = options_.thread_count});
  return std::move(exchange.fault);
}

std::optional<Fault> Arm::prepare(const StagedProblem& staged) {
  Exchange exchange = ask({.kind = RequestKind::kPrepare,
                           .id = staged.id,
                           .op = staged.problem.op,
                           .activations = staged.problem.activations,
                           .output = staged.problem.output,
                           .group_count = static_cast<std::int64_t>(staged.problem.groups.size()),
                           .table_offset = staged.table_offset,
                           .token = random_.next()});
  prepare_seconds_ += exchange.ns * 1e-9;
  return std::move(exchange.fault);
}

void Arm::release(const StagedProblem& staged) {
  // Should nobody read it, the next request will find out.
  child_.send(to_line(Request{.kind = RequestKind::kRelease, .id = staged.id}));
}

CallResult Arm::call(const StagedProblem& staged, const CallOptions& options) {
  if (!options.same_place) move_to_next_slot();
  Slot& slot = slots_[slot_index_];
  CallResult result{.fault = late_write_in(slot)};
  if (result.fault) return result;

  const std::int64_t table = lay_out(slot, staged, options.shape);
  if (options.before_window != nullptr) options.before_window();
  Exchange exchange = ask(
      {.kind = RequestKind::kRun, .id = staged.id, .table_offset = table, .token = random_.next()},
      options.slowed_share);
  result.ns = exchange.ns;
  result.fault = exchange.fault ? std::move(exchange.fault) : inspect(staged, slot);
  result.outputs = slot.region->views(output_.data() + slot.region_offset);
  return result;
}

void Arm::move_to_next_slot() {
  slot_index_ = (slot_index_ + 1) % kSlotCount;
  Slot& slot = slots_[slot_index_];
  const auto jitter = static_cast<std::int64_t>(random_.below(kJitterCount));
  next_region_offset_ = slot.offset + jitter * kAlignmentBytes;
  input_place_ = stage_.draw_place(random_);
}

// Poison in the outputs, activations and table in the inputs. Returns where the table is.
std::int64_t Arm::lay_out(Slot& slot, const StagedProblem& staged, OutputShape shape) {
  if (slot.problem_id != staged.id || slot.shape != shape) {
    slot.region = std::make_unique<GuardedRegion>(staged.problem, shape);
    slot.problem_id = staged.id;
    slot.shape = shape;
  }
  slot.region_offset = next_region_offset_;
  slot.region->poison(output_.data() + slot.region_offset, random_);
  std::vector<OutputPlace> places;
  for (std::size_t g = 0; g < staged.problem.groups.size(); ++g) {
    places.push_back({.c = slot.region_offset + slot.region->offset(g),
                      .c_stride = slot.region->stride_elements(g)});
  }
  return stage_.put_call(staged, places, input_place_);
}

std::optional<Fault> Arm::inspect(const StagedProblem& staged, Slot& slot) const {
  slot.fingerprint = fingerprint(bytes_of(slot), fingerprint_key_);
  const std::byte* region = output_.data() + slot.region_offset;
  const std::string& name = staged.problem.name;
  if (!stage_.call_intact(staged, input_place_)) {
    return invalid(check::kInputs, fmt::format("problem '{}': activations were changed", name));
  }
  if (const std::string trespass = slot.region->find_trespass(region); !trespass.empty()) {
    return invalid(check::kGuard, fmt::format("problem '{}': {}", name, trespass));
  }
  if (const std::int64_t count = slot.region->unwritten_count(region); count > 0) {
    return wrong(check::kPoison,
                 fmt::format("problem '{}': {} elements were never written", name, count));
  }
  return std::nullopt;
}

std::span<const std::byte> Arm::bytes_of(const Slot& slot) const {
  return {output_.data() + slot.region_offset, slot.region->bytes()};
}

std::optional<Fault> Arm::late_write_in(const Slot& slot) const {
  if (slot.region == nullptr) return std::nullopt;
  if (fingerprint(bytes_of(slot), fingerprint_key_) == slot.fingerprint) return std::nullopt;
  return invalid(check::kLateWrite, "outputs changed after the answer that they were done");
}

std::optional<Fault> Arm::find_late_write() {
  for (const Slot& slot : slots_) {
    if (std::optional<Fault> fault = late_write_in(slot)) return fault;
  }
  return std::nullopt;
}

void Arm::finish() {
  child_.resume();
  child_.send(to_line(Request{.kind = RequestKind::kQuit}));
  child_.wait_for_end(Clock::now() + kQuitGrace);
  child_.kill();
}

std::vector<std::string> Arm::refusals() const {
  std::vector<std::string> texts = child_.refusals();
  if (!stage_.arena().sealed()) {
    texts.push_back(fmt::format("{}: this kernel has no such seal", layer::kSealedInputs));
  }
  return texts;
}

Arm::Exchange Arm::ask(const Request& request, double slowed_share) {
  if (child_.has_spoken()) {
    return {invalid(check::kProtocol, "wrote to stdout when nobody had asked")};
  }
  const std::string line = to_line(request);
  const auto timeout = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options_.call_timeout_seconds));

  child_.resume();
  const Clock::time_point begin = Clock::now();
  child_.send(line);
  const Answer answer = child_.await_line(begin + timeout);
  Exchange exchange{.ns = ns_between(begin, answer.when)};
  if (slowed_share > 0) {
    idle_until(answer.when + std::chrono::nanoseconds(std::llround(exchange.ns * slowed_share)));
    exchange.ns = ns_between(begin, Clock::now());
  }
  child_.stop();

  exchange.fault = fault_of(answer, request);
  return exchange;
}

std::optional<Fault> Arm::fault_of(const Answer& answer, const Request& request) const {
  switch (answer.heard) {
    case Heard::kTimeout:
      return invalid(check::kTimeout, fmt::format("no answer to '{}' within {} s", verb_of(request),
                                                  options_.call_timeout_seconds));
    case Heard::kEnded:
      return invalid(request.kind == RequestKind::kHello ? check::kStart : check::kExit,
                     fmt::format("ended during '{}': {}", verb_of(request), child_.describe_end()));
    case Heard::kOverlong:
      return invalid(check::kProtocol, "wrote endlessly to stdout");
    case Heard::kFlood:
      return invalid(check::kProtocol,
                     fmt::format("wrote more than {} bytes to stderr", kErrorBytesMax));
    case Heard::kLine:
      break;
  }
  const std::optional<Reply> reply = parse_reply(answer.line);
  if (!reply) {
    return invalid(check::kProtocol, fmt::format("answered '{}' with '{}'", verb_of(request),
                                                 printable(answer.line, kQuotedMax)));
  }
  return fault_of(*reply, request);
}

std::optional<Fault> Arm::fault_of(const Reply& reply, const Request& request) const {
  const bool greets = request.kind == RequestKind::kHello;
  if (reply.kind == ReplyKind::kError) {
    return invalid(greets ? check::kStart : check::kError,
                   fmt::format("said at '{}': {}", verb_of(request), reply.text));
  }
  if (reply.kind == ReplyKind::kUnsupported && request.kind == RequestKind::kPrepare) {
    return invalid(check::kDeclined, fmt::format("does not support it: {}", reply.text));
  }
  if (greets && reply.kind == ReplyKind::kHello) {
    if (reply.version == kProtocolVersion) return std::nullopt;
    return invalid(check::kStart,
                   fmt::format("speaks version {} of the protocol, the referee version {}",
                               reply.version, kProtocolVersion));
  }
  // The token is drawn for this request: nobody can have answered before reading it.
  if (!greets && reply.kind == ReplyKind::kDone && reply.token == request.token) {
    return std::nullopt;
  }
  return invalid(check::kProtocol,
                 fmt::format("answered '{}' with what answers something else", verb_of(request)));
}

}  // namespace thresher::referee
