// SPDX-License-Identifier: Apache-2.0
#include "emulated/mutations/cases.hpp"

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>

#include "emulated/backend.hpp"
#include "emulated/device_call.hpp"
#include "emulated/named_kernels.hpp"
#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "gpu/gemm/variant.hpp"
#include "gpu/hw/hw.cuh"
#include "gpu/sm100/choose.hpp"
#include "gpu/sm100/kernels/ceilings.cuh"
#include "gpu/sm80/choose.hpp"
#include "gpu/sm90/choose.hpp"
#include "gpu/sm90/kernels/ceilings.cuh"
#include "gpu/variants_row.hpp"
#include "moe/layer_scene.hpp"
#include "support/scene.hpp"

namespace thresher::emulated::testing {
namespace {

using thresher::testing::LayerCase;
using thresher::testing::LayerScene;
using thresher::testing::make_problem;
using thresher::testing::Scene;

// A kernel that writes, as those of a router before us do, what ours read. The values are already
// there.
void write_before(std::span<const std::span<std::uint8_t>> ranges,
                  emulator::GlobalHistory& history) {
  emulator::DeviceMemory memory;
  for (const auto& range : ranges) memory.add(range.data(), range.size(), "written before");
  emulator::launch({.thread_count = 128, .memory = &memory, .history = &history}, [&] {
    for (const auto& range : ranges) {
      for (std::size_t i = static_cast<std::size_t>(gpu::hw::thread_index()); i < range.size();
           i += 128) {
        gpu::hw::store_global(range.data() + i, range[i]);
      }
    }
  });
}

// What a call reads of the device: the sizes of groups and their activations, all in one place.
std::vector<std::span<std::uint8_t>> inputs_of(const Problem& problem, const Operands& operands) {
  const auto bytes = [](const void* first, std::int64_t count) {
    return std::span(static_cast<std::uint8_t*>(const_cast<void*>(first)),
                     static_cast<std::size_t>(count));
  };
  const std::int64_t elements = token_count(problem) * problem.groups.front().k;
  const bool nvfp4 = problem.activations == Activations::kNvfp4;
  std::vector<std::span<std::uint8_t>> inputs{
      bytes(operands.rows.a, nvfp4 ? elements / 2 : elements * 2)};
  if (operands.counts.counts != nullptr) {
    inputs.push_back(
        bytes(operands.counts.counts, static_cast<std::int64_t>(problem.groups.size()) * 4));
  }
  if (nvfp4) inputs.push_back(bytes(operands.rows.a_scales, elements / kBlockElements));
  return inputs;
}

// Two calls, one behind the other on one stream, after the kernel that wrote their inputs.
std::vector<std::uint8_t> run_gemm(const gpu::Variant& variant, const Problem& problem,
                                   const SmLimits& limits, std::uint64_t seed) {
  const Engine engine({.device = fmt::format("emulator:sm{}", limits.compute_capability)});
  Scene scene(engine, problem, InputFamily::kExact, /*seed=*/1,
              {.together = true, .stride_padding = 8});
  scene.poison();
  // Sizes of groups are the device's in one half of all cases, the host's in the other.
  const Operands operands = problem.op == Op::kGemm ? scene.counted_operands() : scene.operands();
  const std::int64_t tokens = token_count(problem);
  const gpu::GemmPlan plan = gpu::plan_of(variant, problem, tokens, limits);
  const CallMemory memory(plan);
  emulator::GlobalHistory history;
  const std::vector<std::span<std::uint8_t>> inputs = inputs_of(problem, operands);
  for (std::uint64_t call = 0; call < 2; ++call) {
    if (call == 0) write_before(inputs, history);
    DeviceCall(problem, operands, tokens, weights_by_map(plan))
        .run(plan, named_kernels(), memory,
             {.seed = 100 * seed + call, .launches = variant.knobs.launches, .history = &history});
  }
  return scene.output_bytes();
}

void add_gemms(const std::vector<gpu::Variant>& variants, const SmLimits& limits,
               std::vector<Case>& cases) {
  for (const gpu::Variant& variant : variants) {
    for (const Op op : {Op::kGemm, Op::kDual}) {
      for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
        // Only kernels that read the activations themselves differ in how they do it.
        const bool reads = variant.knobs.prologue != gpu::Prologue::kKernel;
        if (!reads && (op == Op::kGemm) == (activations == Activations::kBf16)) continue;
        const Output output = op == Op::kGemm ? Output::kBf16 : Output::kFp32;
        // Ragged groups; more tiles than blocks; n with edges; more k tiles than stages, or fewer.
        const std::int64_t k = op == Op::kDual && reads ? 80 : 464;
        const Problem problem = make_problem({3, 0, 10}, 136, k, op, activations, output);
        if (!gpu::supports(variant, problem, limits).ok) continue;
        cases.push_back(
            {.name = fmt::format("{} {} {}", name(variant), to_string(op), to_string(activations)),
             .run = [=](std::uint64_t seed) { return run_gemm(variant, problem, limits, seed); }});
      }
    }
  }
}

// Two calls of a layer, one behind the other, after the kernel that wrote what they read: x, and a
// router's choice.
std::vector<std::uint8_t> run_layer(const LayerCase& which, const std::string& device,
                                    std::uint64_t seed) {
  LayerScene scene(which);
  const Engine engine({.device = device, .emulator_seed = seed});
  const MoeLayer layer(engine, scene.matrices(), which.options);
  scene.poison();
  const MoeTokens& tokens = scene.tokens();
  const auto bytes = [](const void* first, std::int64_t count) {
    return std::span(static_cast<std::uint8_t*>(const_cast<void*>(first)),
                     static_cast<std::size_t>(count));
  };
  const std::int64_t slots = which.token_count * which.options.top_k;
  const std::span<std::uint8_t> inputs[] = {
      bytes(tokens.x, (which.token_count - 1) * tokens.x_stride_elements * 2 + which.hidden * 2),
      bytes(tokens.ids, slots * 4), bytes(tokens.weights, slots * 4)};
  timeline_of(engine.state()).run([&](emulator::GlobalHistory& history) {
    write_before(inputs, history);
  });
  layer.enqueue(tokens);
  layer.enqueue(tokens);
  engine.synchronize();
  std::vector<std::uint8_t> rows;
  for (std::int64_t token = 0; token < which.token_count; ++token) {
    const auto row = scene.row(token);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

// Few tokens for so many experts have kernels of their own.
const LayerCase kManyTokens{.name = "layer",
                            .shared_count = 1,
                            .token_count = 20,
                            .options = {.top_k = 2, .tokens_max = 20}};
const LayerCase kFewTokens{.name = "layer for few tokens",
                           .shared_count = 1,
                           .token_count = 8,
                           .options = {.top_k = 2, .tokens_max = 8, .router_experts = 64}};

void add_layers(const std::string& device, LayerCase which, std::vector<Case>& cases) {
  for (const bool biases : {false, true}) {
    which.biases = biases;
    cases.push_back(
        {.name = fmt::format("{} on {}{}", which.name, device, biases ? ", with biases" : ""),
         .run = [=](std::uint64_t seed) { return run_layer(which, device, seed); }});
  }
}

// The kernels that measure how fast memory and MMAs can be.
std::vector<std::uint8_t> run_read_ceiling(std::uint64_t seed) {
  constexpr gpu::u64 kChunks = 3;
  emulator::DeviceMemory memory;
  const void* data = memory.allocate(kChunks * gpu::kReadChunkBytes, "data");
  auto* sum = static_cast<gpu::u32*>(memory.allocate(sizeof(gpu::u32), "sum"));
  *sum = 0;
  const gpu::ReadCeilingArgs args{
      .data = static_cast<const gpu::U32x4*>(data), .chunk_count = kChunks, .sum = sum};
  emulator::launch(
      {.block_count = 2, .thread_count = gpu::kReadThreads, .seed = seed, .memory = &memory},
      [&] { gpu::read_ceiling_kernel(args); });
  const auto* first = reinterpret_cast<const std::uint8_t*>(sum);
  return {first, first + sizeof(gpu::u32)};
}

std::vector<std::uint8_t> run_ceiling(std::uint64_t seed) {
  constexpr std::size_t kBytes = 2 * gpu::kMultiplyThreads * sizeof(float);
  emulator::DeviceMemory memory;
  auto* sums = static_cast<float*>(memory.allocate(kBytes, "sums"));
  const gpu::MultiplyCeilingArgs args{.pass_count = 3, .sums = sums};
  emulator::launch({.block_count = 2,
                    .thread_count = gpu::kMultiplyThreads,
                    .shared_bytes = gpu::sm90::kMultiplySharedBytes,
                    .seed = seed,
                    .memory = &memory},
                   [&] { gpu::sm90::multiply_ceiling_kernel<gpu::hw::Operand::kFp16>(args); });
  const auto* first = reinterpret_cast<const std::uint8_t*>(sums);
  return {first, first + kBytes};
}

std::vector<std::uint8_t> run_nvfp4_ceiling(std::uint64_t seed) {
  constexpr std::size_t kBytes = gpu::kMultiplyThreads * sizeof(float);
  emulator::DeviceMemory memory;
  auto* sums = static_cast<float*>(memory.allocate(kBytes, "sums"));
  const gpu::MultiplyCeilingArgs args{.pass_count = 1, .sums = sums};
  emulator::launch({.thread_count = gpu::kMultiplyThreads,
                    .shared_bytes = gpu::sm100::kMultiplySharedBytes,
                    .seed = seed,
                    .memory = &memory},
                   [&] { gpu::sm100::multiply_ceiling_kernel(args); });
  const auto* first = reinterpret_cast<const std::uint8_t*>(sums);
  return {first, first + kBytes};
}

// By head: the variants of Hopper, of every other GPU, and of Blackwell.
struct VariantsToRun {
  std::vector<gpu::Variant> hopper;
  std::vector<gpu::Variant> others;
  std::vector<gpu::Variant> blackwell;
};

std::vector<Case> cases_of(const VariantsToRun& variants) {
  std::vector<Case> cases;
  const auto add = [&](const std::vector<gpu::Variant>& of_device, int compute_capability) {
    SmLimits limits = kFewSms;
    limits.compute_capability = compute_capability;
    add_gemms(of_device, limits, cases);
  };
  add(variants.hopper, 90);
  add(variants.others, 80);
  add(variants.blackwell, 100);
  add_layers("emulator", kManyTokens, cases);
  add_layers("emulator:sm80", kManyTokens, cases);
  add_layers("emulator", kFewTokens, cases);
  cases.push_back({.name = "ceiling of MMAs", .run = run_ceiling});
  cases.push_back({.name = "ceiling of NVFP4", .run = run_nvfp4_ceiling});
  cases.push_back({.name = "ceiling of memory", .run = run_read_ceiling});
  return cases;
}

std::vector<gpu::Variant> variants_of(std::initializer_list<const char*> names) {
  std::vector<gpu::Variant> variants;
  for (const char* const name : names) variants.push_back(gpu::variant_from_name(name));
  return variants;
}

}  // namespace

std::vector<Case> every_case() {
  VariantsToRun variants{.hopper = gpu::sm90::named_variants(),
                         .others = gpu::sm80::named_variants(),
                         .blackwell = gpu::sm100::named_variants()};
  variants.hopper.push_back(gpu::sm90::baseline());
  variants.others.push_back(gpu::sm80::baseline());
  variants.blackwell.push_back(gpu::sm100::baseline());
  std::vector<Case> cases = cases_of(variants);
  LayerCase nvfp4 = kManyTokens;
  nvfp4.name = "layer of NVFP4";
  nvfp4.options.activations = Activations::kNvfp4;
  add_layers("emulator:sm100", nvfp4, cases);
  add_layers("emulator", nvfp4, cases);
  return cases;
}

std::vector<Case> few_cases() {
  VariantsToRun variants{
      .hopper =
          variants_of({"gpu_sm90:tokens=16,stages=6", "gpu_sm90:tokens=16,stages=6,prologue=inside",
                       "gpu_sm90:rows=256,stages=6,steps=2,store=vectors,schedule=balanced,"
                       "prologue=inside",
                       "gpu_sm90:store=staged", "gpu_sm90:roles=same", "gpu_sm90:split_k=2",
                       "gpu_sm90:warpgroups=1,steps=2,dual=two_pass", "gpu_sm90:arrive=warp"}),
      .others = variants_of({"gpu_sm80:tokens=96,rows=256,warpgroups=2,stages=3,prologue=kernel",
                             "gpu_sm80:split_k=2", "gpu_sm80:tokens=16,stages=6"}),
      .blackwell = variants_of({"gpu_sm100:stages=2", "gpu_sm100:split_k=2", "gpu_sm100:rows=256",
                                "gpu_sm100:tokens=64,rows=256,store=staged,schedule=balanced",
                                "gpu_sm100:loads=multicast", "gpu_sm100:rows=256,loads=boxes"})};
  variants.hopper.push_back(gpu::sm90::baseline());
  return cases_of(variants);
}

}  // namespace thresher::emulated::testing
