// SPDX-License-Identifier: Apache-2.0
#include "referee/timing/contestant_process.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <thread>

namespace thresher::referee {
namespace {

constexpr auto kStartTimeout = std::chrono::seconds(10);
constexpr std::size_t kQuotedMax = 80;
constexpr auto kQuitGrace = std::chrono::milliseconds(200);

// Who answers and is still inside the kernel after this has left work behind. On a crowded machine
// one that is stopped waits for a core to stop on; nobody is timed meanwhile.
constexpr auto kSettleTime = std::chrono::seconds(10);
// A task is called stopped a moment before it leaves its core, and its time is booked when it does.
constexpr auto kBooksTime = std::chrono::microseconds(20);
// What may come into the books of one that is stopped: the interrupts that met it on its way off
// the core. Once that may be long, but not every time.
constexpr std::int64_t kSleepCpuNs = 1'000'000;
constexpr std::int64_t kSleepCpuNsEach = 20'000;
constexpr std::int64_t kSleepBytes = std::int64_t{1} << 20;
// Clocks of cores and ours differ by less; the time to notice an answer is granted too.
constexpr double kGrantedShare = 1.05;
constexpr double kGrantedNs = 2e6;

// The usual cause is a stray printf, and its author sees nothing wrong with it.
constexpr const char* kPrintElsewhere =
    "; standard output belongs to the protocol, print to standard error";

std::string verb_of(const Request& request) {
  const std::string line = to_line(request);
  return line.substr(0, line.find_first_of(" \n"));
}

double ns_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// What the kernel has put together to huge pages so far, of all processes. It does so with stopped
// ones too, and what was untouched of such a page is theirs from then on.
std::int64_t collapsed_bytes() {
  const auto number = [](const char* name) {
    std::int64_t value = 0;
    std::ifstream(std::string("/sys/kernel/mm/transparent_hugepage/") + name) >> value;
    return value;
  };
  return number("khugepaged/pages_collapsed") * number("hpage_pmd_size");
}

// It counts a page after it has put it in its place.
constexpr auto kCollapseTime = std::chrono::milliseconds(20);

// The slowed arm of the controls: time passes, and nobody computes.
void idle_until(Clock::time_point end) {
  while (Clock::now() < end) {
  }
}

}  // namespace

ContestantProcess::ContestantProcess(ChildOptions child, const ArmOptions& options)
    : call_timeout_seconds_(options.call_timeout_seconds),
      thread_count_(options.thread_count),
      counts_threads_(!options.cores.empty() && options.counts_threads),
      child_(std::move(child)) {}

std::optional<Fault> ContestantProcess::start(std::int64_t input_bytes, std::int64_t output_bytes) {
  if (!child_.wait_until_started(Clock::now() + kStartTimeout)) {
    return invalid(check::kStart, fmt::format("could not be started: {}", child_.describe_end()));
  }
  Exchange exchange = ask({.kind = RequestKind::kHello,
                           .input_bytes = input_bytes,
                           .output_bytes = output_bytes,
                           .thread_count = thread_count_});
  return std::move(exchange.fault);
}

void ContestantProcess::tell(const Request& request) { child_.send(to_line(request)); }

void ContestantProcess::finish() {
  child_.resume();
  child_.send(to_line(Request{.kind = RequestKind::kQuit}));
  child_.wait_for_end(Clock::now() + kQuitGrace);
  child_.kill();
}

std::vector<std::string> ContestantProcess::refusals(const Arena& input) const {
  std::vector<std::string> texts = child_.refusals();
  if (!input.sealed()) {
    texts.push_back(fmt::format("{}: this kernel has no such seal", layer::kSealedInputs));
  }
  if (!counts_threads_) {
    texts.push_back(
        fmt::format("{}: it is held against --threads on a CPU, of arms that are bound to cores",
                    layer::kCountedThreads));
  }
  return texts;
}

Exchange ContestantProcess::ask(const Request& request, double slowed_share) {
  if (child_.has_spoken()) {
    return {invalid(check::kProtocol,
                    fmt::format("wrote '{}' to stdout when nobody had asked{}",
                                printable(child_.unasked(), kQuotedMax), kPrintElsewhere))};
  }
  if (std::optional<Fault> fault = find_sleepwalk()) return {std::move(fault)};
  const std::string line = to_line(request);
  const auto timeout = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(call_timeout_seconds_));

  // Asked before it is let go, and the clock before both: whoever ran without a request would have
  // the inputs of one that nobody has timed yet.
  const Clock::time_point begin = Clock::now();
  child_.send(line);
  child_.resume();
  const Answer answer = child_.await_line(begin + timeout);
  // Before any delay: whoever ran on meanwhile would know that it is the one delayed.
  child_.stop();
  Exchange exchange{.ns = ns_between(begin, answer.when)};
  if (slowed_share > 0) {
    // From here on: stopping takes longer than the delay of a short call, and is no part of it.
    const Clock::time_point stopped = Clock::now();
    idle_until(stopped + std::chrono::nanoseconds(std::llround(exchange.ns * slowed_share)));
    exchange.ns += ns_between(stopped, Clock::now());
  }

  exchange.fault = fault_of(answer, request, exchange.report);
  if (child_.went_over_memory()) {
    exchange.fault =
        invalid(check::kMeans,
                fmt::format("its processes together went over the {} MiB of memory they may have",
                            child_.memory_bytes_max() >> 20));
  }
  if (!exchange.fault) exchange.fault = settle(begin);
  return exchange;
}

std::optional<Fault> ContestantProcess::settle(Clock::time_point begin) {
  const Clock::time_point answered = Clock::now();
  if (!child_.settle(answered + kSettleTime)) {
    return invalid(check::kStopped,
                   fmt::format("still ran {:.0f} s after its answer, when it should have stopped",
                               ns_between(answered, Clock::now()) * 1e-9));
  }
  // Not until its books are read: for a short call that takes longer, and a second core would be
  // granted with it.
  const double wall_ns = ns_between(begin, Clock::now());
  const ChildUse use = settled_use();
  if (asleep_) {
    used_cpu_ns_ += static_cast<double>(use.cpu_ns - asleep_->cpu_ns);
    granted_cpu_ns_ += thread_count_ * wall_ns;
  }
  asleep_ = use;
  collapsed_bytes_ = collapsed_bytes();
  return excess_of(use);
}

ChildUse ContestantProcess::settled_use() const {
  const Clock::time_point deadline = Clock::now() + kSettleTime;
  ChildUse before = child_.use();
  while (true) {
    idle_until(Clock::now() + kBooksTime);
    const ChildUse use = child_.use();
    if (use.cpu_ns == before.cpu_ns || Clock::now() > deadline) return use;
    before = use;
  }
}

std::optional<Fault> ContestantProcess::excess_of(const ChildUse& use) const {
  if (child_.memory_bytes_max() > 0 && use.memory_bytes > child_.memory_bytes_max()) {
    return invalid(check::kMeans,
                   fmt::format("its processes together took {} MiB of memory, and may have {}",
                               use.memory_bytes >> 20, child_.memory_bytes_max() >> 20));
  }
  if (!use.bound) {
    return invalid(check::kMeans, "left the cores that all arms are bound to");
  }
  if (counts_threads_ && used_cpu_ns_ > kGrantedShare * granted_cpu_ns_ + kGrantedNs) {
    return invalid(
        check::kMeans,
        fmt::format("took {:.1f} ms of CPU time, and --threads {} grants {:.1f} ms of it",
                    used_cpu_ns_ * 1e-6, thread_count_, granted_cpu_ns_ * 1e-6));
  }
  return std::nullopt;
}

std::optional<Fault> ContestantProcess::find_sleepwalk() {
  if (!asleep_) return std::nullopt;
  const ChildUse now = child_.use();
  slept_cpu_ns_ += now.cpu_ns - asleep_->cpu_ns;
  asleep_->cpu_ns = now.cpu_ns;
  ++sleep_count_;
  if (slept_cpu_ns_ > kSleepCpuNs + sleep_count_ * kSleepCpuNsEach) {
    return invalid(check::kStopped,
                   fmt::format("used {:.1f} ms of CPU time while it was stopped, {} times in all",
                               static_cast<double>(slept_cpu_ns_) * 1e-6, sleep_count_));
  }
  std::int64_t grown = now.memory_bytes - asleep_->memory_bytes;
  if (grown > kSleepBytes) {
    std::this_thread::sleep_for(kCollapseTime);
    grown -= collapsed_bytes() - collapsed_bytes_;
  }
  const std::int64_t written = now.written_bytes - asleep_->written_bytes;
  if (grown > kSleepBytes || written > kSleepBytes) {
    return invalid(
        check::kStopped,
        fmt::format("took {} bytes of memory and wrote {} while it was stopped", grown, written));
  }
  return std::nullopt;
}

std::optional<Fault> ContestantProcess::fault_of(const Answer& answer, const Request& request,
                                                 std::optional<BatchReport>& report) const {
  switch (answer.heard) {
    case Heard::kTimeout:
      return invalid(check::kTimeout,
                     fmt::format("no answer to '{}' within the {} s of --call-seconds",
                                 verb_of(request), call_timeout_seconds_));
    case Heard::kEnded:
      return invalid(request.kind == RequestKind::kHello ? check::kStart : check::kExit,
                     fmt::format("ended during '{}': {}", verb_of(request), child_.describe_end()));
    case Heard::kOverlong:
      return invalid(check::kProtocol, fmt::format("wrote endlessly to stdout{}", kPrintElsewhere));
    case Heard::kFlood:
      return invalid(check::kProtocol,
                     fmt::format("wrote more than {} bytes to stderr", kErrorBytesMax));
    case Heard::kLine:
      break;
  }
  const std::optional<Reply> reply = parse_reply(answer.line);
  if (!reply) {
    return invalid(check::kProtocol,
                   fmt::format("answered '{}' with '{}'{}", verb_of(request),
                               printable(answer.line, kQuotedMax), kPrintElsewhere));
  }
  report = reply->report;
  return fault_of(*reply, request);
}

std::optional<Fault> ContestantProcess::fault_of(const Reply& reply, const Request& request) const {
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
  const bool may_report = request.kind == RequestKind::kGo;
  // The token is drawn for this request: nobody can have answered before reading it.
  if (!greets && reply.kind == ReplyKind::kDone && reply.token == request.token &&
      (may_report || !reply.report)) {
    return std::nullopt;
  }
  return invalid(check::kProtocol,
                 fmt::format("answered '{}' with what answers something else", verb_of(request)));
}

}  // namespace thresher::referee
