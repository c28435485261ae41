// SPDX-License-Identifier: Apache-2.0
// Switching stacks: a few instructions on x86-64, ucontext elsewhere. An emulated block switches
// hundreds of thousands of times, and ucontext asks the kernel to save the signal mask every time.
//
// The address sanitizer must be told of every switch, and a reused stack still carries the marks of
// frames that were never left.
#include "emulator/fibre.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <utility>
#include <vector>

#include "assert.hpp"

#ifndef __x86_64__
#include <ucontext.h>
#endif

#ifdef THRESHER_SANITIZES_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifdef __x86_64__
// Saves the registers a call preserves, changes stacks, restores those saved there.
asm(R"(
.text
.p2align 4
.globl thresher_switch_stack
.hidden thresher_switch_stack
.type thresher_switch_stack, @function
thresher_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size thresher_switch_stack, .-thresher_switch_stack
)");
extern "C" void thresher_switch_stack(void** save, void* load);
#endif

namespace thresher::emulator {
namespace {

#ifdef THRESHER_SANITIZES_ADDRESS
constexpr std::size_t kStackBytes = 512 << 10;
#else
constexpr std::size_t kStackBytes = 128 << 10;
#endif

thread_local Fibre* fibre_entering = nullptr;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::byte* map_stack() {
  void* const memory = mmap(nullptr, kStackBytes + page_bytes(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, page_bytes(), PROT_NONE);
  return static_cast<std::byte*>(memory) + page_bytes();
}

// Stacks not in use. A launch of 384 threads would otherwise map and unmap as many for each block.
struct FreeStacks {
  std::vector<std::byte*> bottoms;
  ~FreeStacks() {
    for (std::byte* const bottom : bottoms) {
      munmap(bottom - page_bytes(), kStackBytes + page_bytes());
    }
  }
};
thread_local FreeStacks free_stacks;

}  // namespace

FibreStack::FibreStack() {
  if (free_stacks.bottoms.empty()) {
    bottom_ = map_stack();
    return;
  }
  bottom_ = free_stacks.bottoms.back();
  free_stacks.bottoms.pop_back();
#ifdef THRESHER_SANITIZES_ADDRESS
  __asan_unpoison_memory_region(bottom_, kStackBytes);
#endif
}

FibreStack::~FibreStack() {
  if (bottom_ != nullptr) free_stacks.bottoms.push_back(bottom_);
}

FibreStack::FibreStack(FibreStack&& other) noexcept : bottom_(std::exchange(other.bottom_, {})) {}

FibreStack& FibreStack::operator=(FibreStack&& other) noexcept {
  std::swap(bottom_, other.bottom_);
  return *this;
}

std::size_t FibreStack::bytes() { return kStackBytes; }

// Where each side of a switch stands, and what the address sanitizer wants to know about it.
struct Fibre::Context {
#ifdef __x86_64__
  void* inside = nullptr;
  void* outside = nullptr;
  void enter() { thresher_switch_stack(&outside, inside); }
  void leave() { thresher_switch_stack(&inside, outside); }
#else
  ucontext_t inside{};
  ucontext_t outside{};
  void enter() { swapcontext(&outside, &inside); }
  void leave() { swapcontext(&inside, &outside); }
#endif
  void* fake_stack_inside = nullptr;
  void* fake_stack_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_bytes = 0;
};

Fibre::Fibre(std::function<void()> body)
    : body_(std::move(body)), context_(std::make_unique<Context>()) {
#ifdef __x86_64__
  // As if enter() had been called from nowhere and had switched away at once: six saved registers,
  // its address, and a return address of null, which also ends a debugger's walk.
  auto* const top = reinterpret_cast<void**>(stack_.bottom() + kStackBytes);
  void** const start = top - 8;
  for (int i = 0; i < 6; ++i) start[i] = nullptr;
  start[6] = reinterpret_cast<void*>(&Fibre::enter);
  start[7] = nullptr;
  context_->inside = start;
#else
  getcontext(&context_->inside);
  context_->inside.uc_stack.ss_sp = stack_.bottom();
  context_->inside.uc_stack.ss_size = kStackBytes;
  makecontext(&context_->inside, &Fibre::enter, 0);
#endif
}

Fibre::~Fibre() = default;

void Fibre::enter() { fibre_entering->run(); }

void Fibre::run() {
#ifdef THRESHER_SANITIZES_ADDRESS
  __sanitizer_finish_switch_fiber(nullptr, &context_->outside_bottom, &context_->outside_bytes);
#endif
  try {
    body_();
  } catch (...) {
    failure_ = std::current_exception();
  }
  ended_ = true;
  leave(/*for_good=*/true);
}

void Fibre::resume() {
  THRESHER_ASSERT(!ended_);
  fibre_entering = this;
#ifdef THRESHER_SANITIZES_ADDRESS
  __sanitizer_start_switch_fiber(&context_->fake_stack_outside, stack_.bottom(), kStackBytes);
#endif
  context_->enter();
#ifdef THRESHER_SANITIZES_ADDRESS
  __sanitizer_finish_switch_fiber(context_->fake_stack_outside, nullptr, nullptr);
#endif
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Fibre::suspend() { leave(/*for_good=*/false); }

void Fibre::leave([[maybe_unused]] bool for_good) {
#ifdef THRESHER_SANITIZES_ADDRESS
  __sanitizer_start_switch_fiber(for_good ? nullptr : &context_->fake_stack_inside,
                                 context_->outside_bottom, context_->outside_bytes);
#endif
  context_->leave();
#ifdef THRESHER_SANITIZES_ADDRESS
  __sanitizer_finish_switch_fiber(context_->fake_stack_inside, &context_->outside_bottom,
                                  &context_->outside_bytes);
#endif
}

}  // namespace thresher::emulator
