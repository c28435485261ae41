// SPDX-License-Identifier: Apache-2.0
// The device's primary context, retained once per Device and shared by everything made on it, and
// Owned, the one place where handles of the driver are given back.
//
// Buffers, streams, graphs and modules hold the context, so they may outlive their Device: the
// context is released after the last of them. Every call that needs it makes the context current
// for its thread, so all of this may be used from any thread.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "assert.hpp"
#include "gpu/runtime/driver.hpp"
#include "gpu/runtime/driver_error.hpp"

namespace thresher::gpu {

class Context {
 public:
  Context(const Driver& driver, int device_index);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  const Driver& driver() const { return *driver_; }
  cuda::DeviceHandle device() const { return device_; }
  cuda::Context handle() const { return context_; }
  void make_current() const;
  // Whether a fork() lies between. CUDA does not follow it: the driver's calls fail there, and
  // those that give something back have been seen to crash.
  bool is_of_parent() const { return getpid() != process_; }

  // Throws DriverError, or NoMemory, unless `result` is success, naming this device besides the
  // call. A call with arguments worth telling is described by a function, which runs only then.
  void check(cuda::Result result, const char* call) const {
    if (result != cuda::kSuccess) [[unlikely]]
      fail(result, call);
  }
  template <typename Describe>
  void check(cuda::Result result, const Describe& describe) const {
    if (result != cuda::kSuccess) [[unlikely]]
      fail(result, describe());
  }
  [[noreturn]] void fail(cuda::Result result, const std::string& call,
                         std::string_view advice = {}) const;

  // Calls by the host, counted so that nobody can hide a launch.
  std::atomic<std::int64_t> kernel_launches{0};
  std::atomic<std::int64_t> graph_launches{0};

 private:
  const Driver* driver_;
  int device_index_;
  pid_t process_ = getpid();
  cuda::DeviceHandle device_ = 0;
  cuda::Context context_ = nullptr;
};

// A handle and the driver's function that gives it back, called exactly once. A failure to give
// back is not reported: a destructor cannot, and the driver reports the cause elsewhere. A child of
// fork() gives nothing back: it is the parent's.
template <typename Handle, auto kGiveBack>
class Owned {
 public:
  Owned() = default;
  Owned(std::shared_ptr<Context> context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    context_ = std::move(other.context_);
    handle_ = std::exchange(other.handle_, Handle{});
    return *this;
  }
  ~Owned() { give_back(); }

  Handle handle() const { return handle_; }
  const std::shared_ptr<Context>& context() const {
    THRESHER_ASSERT(context_ != nullptr);  // not after a move
    return context_;
  }
  const Driver& driver() const { return context()->driver(); }

 private:
  void give_back() noexcept {
    if (handle_ == Handle{}) return;
    if (!context_->is_of_parent()) {
      // Not make_current(), which throws.
      context_->driver().cuCtxSetCurrent(context_->handle());
      (context_->driver().*kGiveBack)(handle_);
    }
    handle_ = Handle{};
  }

  std::shared_ptr<Context> context_;
  Handle handle_ = {};
};

}  // namespace thresher::gpu
