// SPDX-License-Identifier: Apache-2.0
// The GPU engine's promises that `thresher verify` does not look at, on a real GPU: bad operands
// are refused with a sentence, packing is lossless, a plan tells its kernels. Exit code 0: all
// kept; 1: one was not; 77: no GPU here.
#include <fmt/format.h>

#include <functional>

#include "gemm/inputs.hpp"
#include "thresher/gpu.hpp"

namespace thresher {
namespace {

int broken_count = 0;

void report(bool kept, const std::string& what) {
  fmt::print("{} {}\n", kept ? "ok   " : "WRONG", what);
  broken_count += kept ? 0 : 1;
}

struct Scene {
  GpuEngine engine;
  Problem problem{.name = "small",
                  .groups = {{.m = 5, .n = 40, .k = 64}, {.m = 0, .n = 8, .k = 16}}};
  Inputs inputs = make_inputs(problem, InputFamily::kExact, 1);
  GpuWeights weights = engine.pack(inputs.groups[0].b.view());
  GpuPlan plan = engine.plan(problem);
  GpuWorkspace workspace = engine.workspace(plan);
  GpuBuffer memory = engine.allocate(1 << 16);

  std::vector<GpuGroupOperands> operands() const {
    const auto at = [&](std::size_t offset) {
      return static_cast<void*>(static_cast<std::byte*>(memory.data()) + offset);
    };
    return {{.a_codes = at(0), .a_scales = at(4096), .weights = &weights, .c = at(8192)}, {}};
  }
};

// Binding operands that `spoil` has changed must fail with a message that contains `expected`.
void expect_refusal(const Scene& scene, const std::string& expected,
                    const std::function<void(std::vector<GpuGroupOperands>&)>& spoil) {
  std::vector<GpuGroupOperands> operands = scene.operands();
  spoil(operands);
  try {
    scene.engine.bind(scene.plan, operands, scene.workspace);
    report(false, "refuses: " + expected);
  } catch (const Error& error) {
    report(std::string(error.what()).find(expected) != std::string::npos,
           fmt::format("refuses: {}", error.what()));
  }
}

void check_refusals(const Scene& scene) {
  using Operands = std::vector<GpuGroupOperands>;
  const GpuWeights dual =
      scene.engine.pack_dual(scene.inputs.groups[0].b.view(), scene.inputs.groups[0].b.view());
  const GpuWeights other = scene.engine.pack(scene.inputs.groups[1].b.view());
  const GpuWeights bf16 = scene.engine.pack(scene.inputs.groups[0].b.view(), Activations::kBf16);
  const auto moved = [](const void* address, std::size_t bytes) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(address) + bytes);
  };
  expect_refusal(scene, "1 groups of operands", [](Operands& o) { o.pop_back(); });
  expect_refusal(scene, "group 0: weights is null", [](Operands& o) { o[0].weights = nullptr; });
  expect_refusal(scene, "packed for dual", [&](Operands& o) { o[0].weights = &dual; });
  expect_refusal(scene, "packed for bf16 activations but the problem has nvfp4",
                 [&](Operands& o) { o[0].weights = &bf16; });
  expect_refusal(scene, "weights are n = 8", [&](Operands& o) { o[0].weights = &other; });
  expect_refusal(scene, "a_codes is null", [](Operands& o) { o[0].a_codes = nullptr; });
  expect_refusal(scene, "a_codes is not aligned to 8",
                 [&](Operands& o) { o[0].a_codes = moved(o[0].a_codes, 4); });
  expect_refusal(scene, "c is null", [](Operands& o) { o[0].c = nullptr; });
  expect_refusal(scene, "c is not aligned", [&](Operands& o) { o[0].c = moved(o[0].c, 1); });
  expect_refusal(scene, "c_stride_elements = 39", [](Operands& o) { o[0].c_stride_elements = 39; });
  expect_refusal(scene, "alpha = inf", [](Operands& o) { o[0].alpha = HUGE_VALF; });
  expect_refusal(scene, "beyond 2^96", [](Operands& o) { o[0].alpha = 1e38f; });
}

void check_plan(const Scene& scene) {
  report(scene.plan.kernel_count() == 2, "a grouped plan has two kernels");
  bool all_told = true;
  for (const GpuKernelReport& kernel : scene.plan.kernels()) {
    fmt::print("      {}: {} registers, {} bytes spilled, {} bytes of shared memory\n", kernel.name,
               kernel.register_count, kernel.spill_bytes, kernel.shared_bytes);
    all_told = all_told && kernel.register_count > 0 && kernel.spill_bytes == 0;
  }
  report(all_told, "every kernel tells its registers and spills none");
  // Once more, from the caches of whoever has one.
  const GpuPlan again = scene.engine.plan(scene.problem);
  report(again.kernels().front().register_count > 0, "and does so when planned again");
}

void check_weights(const Scene& scene) {
  const Nvfp4Matrix& packed = scene.inputs.groups[0].b;
  const Nvfp4Matrix unpacked = scene.engine.duplicate(scene.weights).unpack();
  report(unpacked.codes == packed.codes && unpacked.scales == packed.scales &&
             unpacked.global_scale == packed.global_scale,
         "weights come back as they were packed");
}

int run() {
  if (const std::string why = why_no_gpu(); !why.empty()) return fmt::print("{}\n", why), 77;
  const Scene scene;
  fmt::print("{}\n", scene.engine.description());
  check_refusals(scene);
  check_plan(scene);
  check_weights(scene);
  return broken_count == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thresher

int main() {
  try {
    return thresher::run();
  } catch (const thresher::Error& error) {
    fmt::print(stderr, "gpu_engine: {}\n", error.what());
    return 1;
  }
}
