// SPDX-License-Identifier: Apache-2.0
// A problem in the emulator's device memory: packed weights, activations, token counts, and outputs
// that start poisoned, lie between guard bands and have a row stride of their own. Runs a plan's
// launches there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "gemm/conformance.hpp"
#include "gemm/inputs.hpp"
#include "gpu/kernels/activation_images.cuh"
#include "gpu/kernels/gemm.cuh"
#include "gpu/kernels/gemm_plan.hpp"
#include "gpu/kernels/plain_gemm.cuh"

namespace thresher::gpu::testing {

// The kernels that a test has instantiated, found by their configs.
class KernelSet {
 public:
  using Gemm = void (*)(const GemmArgs& args);
  using Images = void (*)(const ImageArgs& args);

  template <GemmConfig kConfig>
  void add() {
    gemms_.push_back({GemmKind::kPipelined, kConfig, gemm_kernel<kConfig>});
  }
  template <GemmConfig kConfig>
  void add_plain() {
    gemms_.push_back({GemmKind::kPlain, kConfig, plain_gemm_kernel<kConfig>});
  }
  template <ImageConfig kConfig>
  void add_images() {
    images_.push_back({kConfig, image_kernel<kConfig>});
  }

  // Throw Error if the test has no such kernel.
  Gemm gemm(GemmKind kind, const GemmConfig& config) const;
  Images images(const ImageConfig& config) const;

 private:
  struct GemmEntry {
    GemmKind kind;
    GemmConfig config;
    Gemm kernel;
  };
  struct ImagesEntry {
    ImageConfig config;
    Images kernel;
  };
  std::vector<GemmEntry> gemms_;
  std::vector<ImagesEntry> images_;
};

// Adds what one setting of the knobs needs for one kind of problem.
template <GemmKnobs kKnobs, Op kOp, ActivationType kActivations, OutputType kOutput>
KernelSet kernels_for() {
  constexpr GemmConfig kConfig{.product = kOp == Op::kGemm              ? Product::kGemm
                                          : kKnobs.dual == Dual::kFused ? Product::kDual
                                                                        : Product::kGatePass,
                               .output = kOutput,
                               .operand = operand_of(kActivations),
                               .tokens = kKnobs.tokens,
                               .weight_rows = kKnobs.weight_rows,
                               .consumer_warpgroups = kKnobs.consumer_warpgroups,
                               .stages = kKnobs.stages,
                               .fragment_steps = kKnobs.fragment_steps,
                               .specialised = kKnobs.specialised,
                               .store = kKnobs.store,
                               .schedule = kKnobs.schedule,
                               .split_k = kKnobs.split_k,
                               .blocks_per_sm = kKnobs.blocks_per_sm};
  constexpr auto kSecondPass = [](GemmConfig config) {
    config.product = Product::kUpPass;
    return config;
  };
  KernelSet kernels;
  kernels.add_images<ImageConfig{.activations = kActivations, .tokens = kKnobs.tokens}>();
  if constexpr (kKnobs.kind == GemmKind::kPlain) {
    kernels.add_plain<plain_config(kConfig)>();
    if constexpr (is_pass(kConfig.product)) {
      kernels.add_plain<plain_config(kSecondPass(kConfig))>();
    }
  } else {
    kernels.add<kConfig>();
    if constexpr (is_pass(kConfig.product)) kernels.add<kSecondPass(kConfig)>();
  }
  return kernels;
}

// How a scene lays out what is the caller's choice.
struct SceneOptions {
  InputFamily family = InputFamily::kExact;
  std::uint64_t seed = 1;
  std::int64_t stride_padding = 3;  // elements between the rows of C
  bool rows_follow = false;         // all groups in one buffer of activations and one of C
  std::int64_t tokens_spare = 0;    // by which the token limit exceeds the tokens
};

class KernelScene {
 public:
  KernelScene(Problem problem, SceneOptions options);

  // Poisons the outputs and the workspace, plans, and runs all launches. `emulator_seed` chooses
  // the order of events.
  void run(const GemmKnobs& knobs, const KernelSet& kernels, std::uint64_t emulator_seed = 1);

  // Against the oracle, every element; bit for bit where the inputs are exact and the op is gemm.
  Conformance conformance() const;
  bool guards_intact() const;
  bool counters_zero() const { return counters_zero_; }  // after the last run
  // The written elements of all groups, in order.
  std::vector<std::uint8_t> output_bytes() const;

  const Problem& problem() const { return problem_; }
  const Inputs& inputs() const { return inputs_; }

 private:
  // Memory for C: of one group, or of all whose rows follow each other.
  struct OutputBuffer {
    std::uint8_t* first_element = nullptr;
    std::int64_t row_count = 0;
    std::int64_t n = 0;
    std::int64_t stride_elements = 0;
    std::vector<std::uint8_t> bytes;  // with the guard bands
  };
  using Storage = std::unique_ptr<std::uint8_t, void (*)(void*)>;

  template <typename T>
  const T* upload(std::span<const T> values, const char* name);
  void make_outputs();
  void upload_groups();
  void upload_activations(std::vector<GroupEntry>& entries);
  void poison();
  std::int64_t element_bytes() const { return bytes_per_element(problem_.output); }
  const std::uint8_t* row_of(std::size_t group, std::int64_t row) const;
  std::int64_t stride_of(std::size_t group) const;
  void launch(emulator::LaunchOptions options, const std::function<void()>& kernel);

  Problem problem_;
  SceneOptions options_;
  Inputs inputs_;
  std::vector<Storage> uploads_;
  std::vector<OutputBuffer> outputs_;
  emulator::DeviceMemory memory_;
  GroupTable table_;
  std::uint64_t emulator_seed_ = 0;
  bool counters_zero_ = true;
};

// A problem in one line: groups of m tokens, all with the same n and k.
Problem make_problem(std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Op op = Op::kGemm,
                     Activations activations = Activations::kNvfp4, Output output = Output::kFp32);

}  // namespace thresher::gpu::testing
