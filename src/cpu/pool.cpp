// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "thresher/error.hpp"

namespace thresher::cpu {
namespace {

// Calls often follow each other within microseconds, where a spin beats a wake-up by the kernel;
// after about 50 us of nothing a thread goes to sleep.
constexpr int kSpinCount = 2000;

// Returns once value != old.
void wait_while_equal(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int spin = 0; spin < kSpinCount; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    spin_pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

std::uint32_t epoch_of(std::uint64_t door) { return static_cast<std::uint32_t>(door >> 32); }
std::uint64_t open_door(std::uint32_t epoch) { return std::uint64_t{epoch} << 32; }

// How many forks lie between this process and the one that first asked. A counter, because asking
// the system for the process's number is a system call, and this is asked in every call.
std::uint32_t count_forks() {
  static std::atomic<std::uint32_t> fork_count{0};
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return fork_count.load(std::memory_order_relaxed);
}

}  // namespace

Pool::Pool(int thread_count)
    : fork_count_(count_forks()), stretches_(static_cast<std::size_t>(std::max(1, thread_count))) {
  workers_.reserve(static_cast<std::size_t>(std::max(0, thread_count - 1)));
  try {
    for (int index = 1; index < thread_count; ++index) {
      workers_.emplace_back([this, index] { work(index); });
    }
  } catch (const std::exception& error) {
    stop();  // destroying a std::thread that has not been joined would end the process
    throw Error(fmt::format("only {} of {} threads could be started: {}", workers_.size() + 1,
                            thread_count, error.what()));
  }
}

Pool::~Pool() { stop(); }

bool Pool::is_of_parent() const { return !workers_.empty() && fork_count_ != count_forks(); }

void Pool::check_process() const {
  if (!is_of_parent()) return;
  throw Error(
      "this engine was made before fork(), and its threads stayed with the parent: make another "
      "engine in "
      "this process, or start the process without fork (Python: multiprocessing's \"spawn\")");
}

void Pool::stop() {
  if (is_of_parent()) {
    // There is nobody to join, and no other way to be rid of a std::thread without that.
    static_cast<void>(new std::vector<std::thread>(std::move(workers_)));
    return;
  }
  stop_.store(true, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Pool::work(int thread_index) {
  for (std::uint32_t seen = 0;;) {
    wait_while_equal(epoch_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    const std::uint64_t door = enter();
    seen = epoch_of(door);
    if ((door & kClosed) != 0) continue;
    function_(context_, thread_index);
    left_count_.fetch_add(1, std::memory_order_acq_rel);
    left_count_.notify_one();
  }
}

// The door as it was when this thread went through it, or found it closed.
std::uint64_t Pool::enter() {
  std::uint64_t door = door_.load(std::memory_order_acquire);
  while ((door & kClosed) == 0 &&
         !door_.compare_exchange_weak(door, door + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
  }
  return door;
}

void Pool::dispatch(Function function, const void* context, Late late) {
  check_process();
  placement_.make_room(workers_);
  function_ = function;
  context_ = context;
  left_count_.store(0, std::memory_order_relaxed);
  // The epoch first: who has gone through a door must find its epoch, or it would enter again.
  const std::uint32_t epoch = epoch_.fetch_add(1, std::memory_order_release) + 1;
  door_.store(open_door(epoch), std::memory_order_release);
  epoch_.notify_all();
  function(context, 0);
  const bool awaited = late == Late::kAwaited;
  const std::uint32_t count = awaited ? static_cast<std::uint32_t>(workers_.size()) : close_door();
  for (std::uint32_t left; (left = left_count_.load(std::memory_order_acquire)) != count;) {
    wait_while_equal(left_count_, left);
  }
  // Or the next epoch would lead through this run's door.
  if (awaited) close_door();
}

// Returns how many workers are through it.
std::uint32_t Pool::close_door() {
  const std::uint64_t door = door_.fetch_or(kClosed, std::memory_order_acq_rel);
  return static_cast<std::uint32_t>(door & (kClosed - 1));
}

}  // namespace thresher::cpu
