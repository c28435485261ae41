// SPDX-License-Identifier: Apache-2.0
#include "gpu/gemm/entry_source.hpp"

#include <fmt/format.h>

#include <string_view>

namespace thresher::gpu {
namespace {

std::string config_text(const GemmConfig& config) {
  return fmt::format(
      "GemmConfig{{.product = {}, .output = {}, .tokens = {}, "
      ".widths = {}, .weight_rows = {}, "
      ".consumer_warpgroups = {}, .stages = {}, .fragment_steps = {}, "
      ".specialised = {}, "
      ".store = {}, .schedule = {}, .split_k = {}, .blocks_per_sm = {}, "
      ".arrive = {}, .prologue = {}, .loads = {}, .activations = {}, .mma = {}}}",
      enumerator("Product", config.product), enumerator("OutputType", config.output), config.tokens,
      enumerator("Widths", config.widths), config.weight_rows, config.consumer_warpgroups,
      config.stages, config.fragment_steps, config.specialised, enumerator("Store", config.store),
      enumerator("Schedule", config.schedule), config.split_k, config.blocks_per_sm,
      enumerator("Arrive", config.arrive), enumerator("Prologue", config.prologue),
      enumerator("Loads", config.loads), enumerator("ActivationType", config.activations),
      enumerator("Mma", config.mma));
}

std::string config_text(const ImageConfig& config) {
  return fmt::format("ImageConfig{{.activations = {}, .cut = {{.tokens = {}, .widths = {}}}}}",
                     enumerator("ActivationType", config.activations), config.cut.tokens,
                     enumerator("Widths", config.cut.widths));
}

// Kernels for warps use no instruction that Ampere does not have, whatever they are compiled for:
// what was proved of them on one GPU then holds on all.
constexpr std::string_view kAsOnAmpere = "#define THRESHER_PTX_ARCH 800\n";

}  // namespace

std::string entry_source(const Entry& entry) {
  return fmt::format(
      "{}#include \"gpu/{}\"\n"
      "using namespace thresher::gpu;\n"
      "extern \"C\" __global__ void __launch_bounds__({}, {})\n"
      "{}(const __grid_constant__ {} args) {{\n"
      "  {}<{}>(args);\n"
      "}}\n",
      entry.before, entry.header, entry.thread_count, entry.blocks_per_sm, kEntryName, entry.args,
      entry.function, entry.config);
}

std::string entry_source(const ImageLaunch& launch) {
  return entry_source(Entry{.before = launch.mma == Mma::kWarp ? kAsOnAmpere : std::string_view(),
                            .header = "gemm/kernels/activation_images.cuh",
                            .function = "image_kernel",
                            .args = "ImageArgs",
                            .config = config_text(launch.config),
                            .thread_count = launch.thread_count,
                            .blocks_per_sm = kImageBlocksPerSm});
}

std::string entry_source(const GemmLaunch& launch) {
  if (launch.config.mma == Mma::kWarp) {
    return entry_source(Entry{.before = kAsOnAmpere,
                              .header = "sm80/kernels/gemm.cuh",
                              .function = "thresher::gpu::sm80::gemm_kernel",
                              .args = "GemmArgs",
                              .config = config_text(launch.config),
                              .thread_count = launch.thread_count,
                              .blocks_per_sm = launch.config.blocks_per_sm});
  }
  if (launch.config.mma == Mma::kBlockScaled) {
    return entry_source(Entry{.header = "sm100/kernels/gemm.cuh",
                              .function = "thresher::gpu::sm100::gemm_kernel",
                              .args = "GemmArgs",
                              .config = config_text(launch.config),
                              .thread_count = launch.thread_count,
                              .blocks_per_sm = launch.config.blocks_per_sm});
  }
  const bool plain = launch.kind == GemmKind::kPlain;
  return entry_source(
      Entry{.header = plain ? "sm90/kernels/plain_gemm.cuh" : "sm90/kernels/gemm.cuh",
            .function = plain ? "thresher::gpu::sm90::plain_gemm_kernel"
                              : "thresher::gpu::sm90::gemm_kernel",
            .args = "GemmArgs",
            .config = config_text(launch.config),
            .thread_count = plain ? launch.thread_count : thread_bound(launch.config),
            .blocks_per_sm = launch.config.blocks_per_sm});
}

}  // namespace thresher::gpu
