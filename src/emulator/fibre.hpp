// SPDX-License-Identifier: Apache-2.0
// A fibre: a function with a stack of its own that can be left in the middle and resumed. One
// emulated CUDA thread is one fibre; all fibres of a launch share one thread of the operating
// system, so nothing here is concurrent and a seed repeats a run exactly.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace thresher::emulator {

// Memory for one fibre's frames, with an unmapped page below it. Stacks are kept and reused.
class FibreStack {
 public:
  FibreStack();
  ~FibreStack();
  FibreStack(FibreStack&& other) noexcept;
  FibreStack& operator=(FibreStack&& other) noexcept;
  FibreStack(const FibreStack&) = delete;
  FibreStack& operator=(const FibreStack&) = delete;

  std::byte* bottom() const { return bottom_; }
  static std::size_t bytes();

 private:
  std::byte* bottom_ = nullptr;
};

class Fibre {
 public:
  explicit Fibre(std::function<void()> body);
  ~Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // Runs the body until it suspends or ends; what it throws comes out here. A fibre destroyed
  // before its end is not unwound: what its frames own is lost, so they must own nothing.
  void resume();
  // Called by the body: back to resume().
  void suspend();
  bool ended() const { return ended_; }

 private:
  struct Context;
  static void enter();
  void run();
  void leave(bool for_good);

  std::function<void()> body_;
  FibreStack stack_;
  std::unique_ptr<Context> context_;
  std::exception_ptr failure_;
  bool ended_ = false;
};

}  // namespace thresher::emulator
