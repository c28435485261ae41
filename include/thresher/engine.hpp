// SPDX-License-Identifier: Apache-2.0
// The engine: pack weights once, plan a problem, run it as often as you like, on any device.
//
//   Engine engine({.device = "gpu"});  // "cpu" if nobody says
//   const Weights weights = engine.pack({.b = b.view()});
//   const Plan plan = engine.plan(problem);
//   Workspace workspace = engine.workspace(plan);
//   engine.run(plan, operands, workspace);
//
// One Engine may be used from many threads: planning and checking run concurrently; on the CPU
// packing and run() take turns on the engine's thread pool. A Workspace belongs to one call at a
// time. Nothing here prints or reads the environment.
//
// On a GPU kernels are compiled for the device by plan(), which takes a while the first time and
// milliseconds when the cache has them; the CUDA driver and its run-time compiler are opened by the
// first engine that needs them, and nothing of CUDA is needed to build. Streams are CUstream (or
// cudaStream_t) handles as void pointers, null is the default stream; other devices have no
// streams and compute at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thresher/error.hpp"
#include "thresher/nvfp4.hpp"
#include "thresher/problem.hpp"

namespace thresher {

// What stands behind the handles, on each device something else.
struct PlanFile;
namespace backend {
class Buffer;
class Call;
class Device;
struct Plan;
struct Weights;
}  // namespace backend

// Weights to pack, in host memory. The bits of what is packed for bf16 activations lie otherwise on
// a GPU; on the CPU, `activations` does not matter.
struct WeightMatrices {
  Op op = Op::kGemm;
  Nvfp4View b = {};   // gemm's weights, dual's gate
  Nvfp4View up = {};  // dual only
  Activations activations = Activations::kNvfp4;
};

// Weights in the layout and in the memory of a device, immutable and shared by copies: 0.5625 bytes
// per weight on the CPU, 0.57 on a GPU, but for padding. One packed copy serves every variant.
class Weights {
 public:
  // Moving copies too, so that no handle is ever empty.
  Weights(const Weights&) = default;
  Weights& operator=(const Weights&) = default;

  Op op() const;
  std::int64_t n() const;
  std::int64_t k_elements() const;
  std::size_t bytes() const;

  // The very bytes that were packed. `unpack_up` is for dual weights: the second matrix.
  Nvfp4Matrix unpack() const;
  Nvfp4Matrix unpack_up() const;

  const backend::Weights& state() const { return *state_; }

 private:
  friend class Engine;
  explicit Weights(std::shared_ptr<const backend::Weights> state) : state_(std::move(state)) {}
  std::shared_ptr<const backend::Weights> state_;
};

// What the compiler and the driver say of one kernel of a plan.
struct KernelReport {
  std::string name;
  int register_count = 0;
  std::size_t spill_bytes = 0;   // stores and loads together
  std::size_t shared_bytes = 0;  // as launched
  int block_count = 0;
  int thread_count = 0;
};

// A problem bound to a variant: which code runs which group, and how much scratch it needs. Any
// engine of the same device (on the CPU, with as many threads) can run it. Immutable and shared by
// copies.
class Plan {
 public:
  Plan(const Plan&) = default;  // no move, as for Weights
  Plan& operator=(const Plan&) = default;

  const Problem& problem() const;
  const std::string& variant() const;
  std::size_t workspace_bytes() const;
  // The most tokens that all groups together may have in a call.
  std::int64_t tokens_max() const;
  // What the device launches for one call: kernels, or one graph of them. The CPU launches nothing.
  std::int64_t kernel_launch_count() const;
  std::int64_t graph_launch_count() const;
  // One per distinct kernel; none on the CPU.
  const std::vector<KernelReport>& kernels() const;
  const backend::Plan& state() const { return *state_; }

 private:
  friend class Engine;
  explicit Plan(std::shared_ptr<const backend::Plan> state) : state_(std::move(state)) {}
  std::shared_ptr<const backend::Plan> state_;
};

// Memory of a device, for those who have no other way to get it. On the CPU and the emulator it is
// host memory, and any other host memory serves as well.
class Buffer {
 public:
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;
  ~Buffer();

  void* data() const;  // the device's address, a multiple of 64
  std::size_t bytes() const;
  // Done when they return, after all work queued so far. Throw Error if the range is too long.
  void copy_in(std::span<const std::byte> from, std::size_t offset_bytes = 0) const;
  void copy_out(std::span<std::byte> to, std::size_t offset_bytes = 0) const;

 private:
  friend class Engine;
  explicit Buffer(std::unique_ptr<backend::Buffer> state);
  std::unique_ptr<backend::Buffer> state_;
};

// Scratch memory of a call. Make it once per plan, reuse it for calls that cannot overlap in time.
class Workspace {
 public:
  std::size_t bytes() const;

 private:
  friend class Engine;
  explicit Workspace(Buffer buffer) : buffer_(std::move(buffer)) {}
  Buffer buffer_;
};

// Rows of activations and of C, in the memory of the device.
struct Rows {
  // NVFP4: codes, k / 2 bytes per row; fp16 and bf16: k values per row. Row-major without padding.
  const void* a = nullptr;
  const void* a_scales = nullptr;  // NVFP4 only: k / 16 bytes per row
  // The problem's output type, row-major, rows `c_stride_elements` apart (0 means n).
  void* c = nullptr;
  std::int64_t c_stride_elements = 0;
};

// What a group brings. The factors are finite, and at most 2^96 when the global scales are
// multiplied in.
struct GroupOperands {
  const Weights* weights = nullptr;
  float a_global_scale = 1.0f;  // NVFP4 activations only
  float alpha = 1.0f;           // gemm's factor, dual's factor of the gate product
  float alpha_up = 1.0f;        // dual's factor of the up product
  Rows rows = {};  // the group's own, where those of all groups do not follow each other
};

// The number of tokens of each group may stand in the memory of the device, read when the call
// runs: on a GPU written by earlier work of the same stream. Groups then need no m: the plan's
// `tokens_max` bounds all of them together, and a group's own rows have room for as many as it may
// get. What does not fit it is not computed.
struct DeviceCounts {
  const std::uint32_t* counts = nullptr;  // one per group
  std::int64_t tokens_max = 0;            // 0: the plan's
};

// What a call reads and writes. Nobody looks at the operands of a group that can have no tokens. A
// GPU wants NVFP4 codes aligned to 8 bytes and 16-bit activations to 16; C is aligned to its
// element everywhere.
struct Operands {
  std::span<const GroupOperands> groups;
  // The rows of all groups, one group after the other, as a router hands them over: groups then
  // agree in n and k. Left empty, every group has rows of its own.
  Rows rows = {};
  DeviceCounts counts = {};
};

// A plan bound to operands. It must not outlive its engine, its workspace, nor the memory it names.
class Call {
 public:
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;
  ~Call();

  // Queues one call. Allocates nothing, waits for nothing, and may be captured in a graph.
  void enqueue(void* stream = nullptr) const;
  // The same on other rows, which travel with the launches: only where the operands had the rows of
  // all groups together.
  void enqueue(const Rows& rows, void* stream = nullptr) const;

  const backend::Call& state() const { return *state_; }

 private:
  friend class Engine;
  explicit Call(std::unique_ptr<backend::Call> state);
  std::unique_ptr<backend::Call> state_;
};

struct Support {
  bool ok = true;
  std::string why_not;
};

struct EngineOptions {
  // "cpu", "gpu" (the first), "gpu:1", or "emulator": the GPU's kernels on the CPU, where deadlocks
  // and races are Errors that say how. ":sm80" behind it: any GPU's; "emulator:sm100": Blackwell's.
  std::string device = "cpu";
  int thread_count = 0;  // of the CPU; 0: one per core this process may use
  // Where a GPU's compiled kernels are kept; nothing: nowhere.
  std::optional<std::filesystem::path> cache_folder = {};
  // Folders to look for NVRTC in before the system's own places.
  std::vector<std::string> compiler_folders = {};
  std::uint64_t emulator_seed = 1;  // chooses the order of events, and repeats it
  // What `thresher tune` wrote: its variants take the place of the engine's own choice where the
  // problem is of their class and they were measured on a machine like this one. A file that is
  // malformed is an Error; what is of another machine or program is left out (Engine::plan_note).
  std::optional<std::filesystem::path> plan_file = {};
};

class Engine {
 public:
  // Throws Error where there is no such device.
  explicit Engine(const EngineOptions& options = {});
  // On a device that somebody else has opened, as tests do.
  explicit Engine(std::unique_ptr<backend::Device> device);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const std::string& device() const;  // "cpu", "gpu:0", "emulator"
  std::string description() const;    // "NVIDIA H200 (sm_90a), 132 SMs"
  int thread_count() const;           // that compute; 0 on a GPU
  // Whether the plan file is used, or why not; empty where there is none.
  const std::string& plan_note() const { return plan_note_; }

  Buffer allocate(std::size_t bytes) const;
  // Waits for all work on the device, and throws what went wrong there.
  void synchronize() const;

  Weights pack(const WeightMatrices& matrices) const;
  // Another copy: calls that take turns at copies find nothing of them in a cache.
  Weights duplicate(const Weights& weights) const;

  // Named variants that this device can run, the default first. A variant is "cpu_<instruction
  // set>" or "gpu_<architecture>" followed by its non-default knobs, as in "cpu_avx2:stages=4"; any
  // such text is accepted where a variant is asked for.
  std::vector<std::string> variants() const;
  Support supports(const Problem& problem, std::string_view variant) const;

  // An empty variant lets the engine choose by shape and machine. With `tokens_max` the plan serves
  // any distribution of so many tokens over the groups (DeviceCounts). Throws Error if the problem
  // is malformed, the variant unknown, or the variant cannot run the problem.
  Plan plan(const Problem& problem, std::string_view variant = {},
            std::int64_t tokens_max = 0) const;
  // The variant that plan() takes where none is named.
  std::string choose(const Problem& problem, std::int64_t tokens_max = 0) const;
  Workspace workspace(const Plan& plan) const;

  // What run() and bind() check, and that no output overlaps another buffer of the call. A buffer
  // reaches from its first element to its last, so outputs interleaved by stride overlap.
  void check(const Plan& plan, const Operands& operands) const;

  // Computes every group, and is done when it returns. Throws Error on null pointers, misaligned
  // buffers, operands or a workspace that do not fit the plan; on the CPU also on a NaN activation
  // scale (naming group, row and block), and outputs are then unspecified. On the CPU it allocates
  // nothing unless it throws; elsewhere it binds, queues and waits.
  void run(const Plan& plan, const Operands& operands, const Workspace& workspace) const;

  // On a GPU it copies a small table to the device, and waits for that.
  Call bind(const Plan& plan, const Operands& operands, const Workspace& workspace) const;

  const backend::Device& state() const;  // throws Error once the engine has been moved from

 private:
  void use_plan_file(const std::filesystem::path& path);

  std::unique_ptr<backend::Device> state_;
  std::shared_ptr<const PlanFile> plan_file_;  // null: none, or none of this machine
  std::string plan_note_;
};

// Empty: an Engine can be made with these options. Otherwise one sentence that says what is missing
// and what to do.
std::string why_no_device(const EngineOptions& options);

}  // namespace thresher
