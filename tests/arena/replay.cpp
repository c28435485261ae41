// SPDX-License-Identifier: Apache-2.0
// The emulator in place of CUDA's driver: what an arena entry launches, with the argument bytes,
// grids and addresses that its Python makes, on host memory that it says is the device's. A shared
// library for entry_check.py.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "arena/kernels/prepare.cuh"
#include "emulated/device_call.hpp"
#include "emulated/instantiate.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/global_history.hpp"
#include "emulator/launch.hpp"
#include "gpu/gemm/variant.hpp"
#include "thresher/error.hpp"

namespace thresher::arena {
namespace {

using gpu::ActivationType;
using gpu::GemmKnobs;
using gpu::OutputType;

constexpr GemmKnobs tiles_of(int tokens, int stages) {
  GemmKnobs knobs = gpu::default_knobs(gpu::Mma::kBlockScaled);
  knobs.tokens = tokens;
  knobs.stages = stages;
  return knobs;
}

// What `thresher export arena` takes if nobody names a variant.
const emulated::KernelSet& kernels() {
  static const emulated::KernelSet set = [] {
    emulated::KernelSet all;
    constexpr auto kNvfp4 = ActivationType::kNvfp4;
    emulated::add_kernels<tiles_of(128, 6), Op::kGemm, kNvfp4, OutputType::kFp16>(all);
    emulated::add_kernels<tiles_of(128, 4), Op::kDual, kNvfp4, OutputType::kFp16>(all);
    return all;
  }();
  return set;
}

gpu::GemmConfig config_of(const std::string& variant, bool dual) {
  const gpu::Variant read = gpu::variant_from_name(variant);
  const Problem problem{
      .name = "p", .op = dual ? Op::kDual : Op::kGemm, .groups = {{.m = 1, .n = 128, .k = 256}}};
  return gpu::config_of(read.knobs, problem, gpu::products_of(read.knobs, problem.op).front());
}

// A launch as the driver is told of it.
struct DriverLaunch {
  std::string_view kernel;
  int block_count = 0;
  int thread_count = 0;
  std::uint32_t shared_bytes = 0;
  std::string_view argument;
};

template <typename Args>
Args args_of(const DriverLaunch& launch) {
  if (launch.argument.size() != sizeof(Args)) {
    throw Error(fmt::format("'{}' takes {} bytes and got {}", launch.kernel, sizeof(Args),
                            launch.argument.size()));
  }
  Args args;
  std::memcpy(&args, launch.argument.data(), sizeof args);
  return args;
}

class Call {
 public:
  Call(const std::string& variant, bool dual, std::uint64_t seed)
      : config_(config_of(variant, dual)),
        gemm_(kernels().gemm(gpu::GemmKind::kPipelined, config_)),
        seed_(seed) {}

  void add(void* address, std::size_t bytes, const char* name, bool writable) {
    if (writable) {
      memory_.add(address, bytes, name);
    } else {
      memory_.add_read_only(address, bytes, name);
    }
  }

  void launch(const DriverLaunch& launch) {
    emulator::LaunchOptions options{.block_count = launch.block_count,
                                    .thread_count = launch.thread_count,
                                    .shared_bytes = launch.shared_bytes,
                                    .seed = seed_++,
                                    .memory = &memory_,
                                    .tensor_sums = emulator::TensorSums::kAligned,
                                    .types = emulated::types_of(config_),
                                    .history = &history_};
    if (launch.kernel == "prepare") {
      const PrepareArgs args = args_of<PrepareArgs>(launch);
      emulator::launch(options, [&] { prepare_kernel(args); });
    } else {
      check_gemm(launch);
      const gpu::GemmArgs args = args_of<gpu::GemmArgs>(launch);
      emulator::launch(options, [&] { gemm_(args); });
    }
  }

 private:
  void check_gemm(const DriverLaunch& launch) const {
    const std::uint32_t bytes = gpu::shared_bytes_of(gpu::GemmKind::kPipelined, config_);
    if (launch.shared_bytes == bytes && launch.thread_count == thread_count(config_)) return;
    throw Error(fmt::format("the GEMM needs {} threads and {} bytes, and got {} and {}",
                            thread_count(config_), bytes, launch.thread_count,
                            launch.shared_bytes));
  }

  gpu::GemmConfig config_;
  emulated::KernelSet::Gemm gemm_;
  std::uint64_t seed_;
  emulator::DeviceMemory memory_;
  emulator::GlobalHistory history_;
};

thread_local std::string fault;

// 0, or 1 with replay_fault() saying why.
template <typename Body>
int guarded(const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    fault = error.what();
    return 1;
  }
}

}  // namespace
}  // namespace thresher::arena

extern "C" {
const char* replay_fault();
thresher::arena::Call* replay_begin(const char* variant, int dual, std::uint64_t seed);
int replay_add(thresher::arena::Call* call, void* address, std::size_t bytes, const char* name,
               int writable);
int replay_launch(thresher::arena::Call* call, const char* kernel, int blocks, int threads,
                  std::uint32_t shared_bytes, const char* argument, std::size_t argument_bytes);
void replay_end(thresher::arena::Call* call);
}

using thresher::arena::Call;
using thresher::arena::guarded;

const char* replay_fault() { return thresher::arena::fault.c_str(); }

Call* replay_begin(const char* variant, int dual, std::uint64_t seed) {
  std::unique_ptr<Call> call;
  guarded([&] { call = std::make_unique<Call>(variant, dual != 0, seed); });
  return call.release();
}

int replay_add(Call* call, void* address, std::size_t bytes, const char* name, int writable) {
  return guarded([&] { call->add(address, bytes, name, writable != 0); });
}

int replay_launch(Call* call, const char* kernel, int blocks, int threads,
                  std::uint32_t shared_bytes, const char* argument, std::size_t argument_bytes) {
  return guarded([&] {
    call->launch({.kernel = kernel,
                  .block_count = blocks,
                  .thread_count = threads,
                  .shared_bytes = shared_bytes,
                  .argument = {argument, argument_bytes}});
  });
}

void replay_end(Call* call) { delete call; }
