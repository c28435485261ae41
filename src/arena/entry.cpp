// SPDX-License-Identifier: Apache-2.0
#include "arena/entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>

#include "arena/flat_source.hpp"
#include "arena/kernels/prepare.cuh"
#include "assert.hpp"
#include "gpu/gemm/entry_source.hpp"
#include "gpu/gemm/model.hpp"
#include "gpu/sm100/choose.hpp"
#include "gpu/sm100/gemm_support.hpp"
#include "gpu/sm100/kernels/tensor_layout.hpp"
#include "gpu/sm100/model.hpp"
#include "spelling.hpp"
#include "thresher/error.hpp"

namespace thresher::arena {
namespace {

using gpu::GemmLaunch;
using gpu::GemmPlan;
using gpu::Variant;

constexpr SmLimits kB200{.compute_capability = 100, .sm_count = 148};

Problem dual_problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.name = fmt::format("m{}_n{}_k{}", m, n, k),
          .op = Op::kDual,
          .groups = {{.m = m, .n = n, .k = k}}};
}

// entry.py brings a table of addresses and nothing else, and launches single blocks.
void check_entry_brings(const GemmPlan& plan, const std::string& name) {
  if (plan.workspace.bytes > 0) {
    throw Error(fmt::format(
        "variant '{}': an entry has no memory for parts of tiles: take schedule = tiles and "
        "split_k = 1",
        name));
  }
  if (plan.launches.front().cluster_blocks > 1) {
    throw Error(fmt::format(
        "variant '{}': an entry launches no clusters: take rows = 128 and loads = copies", name));
  }
  if (weights_by_map(plan)) {
    throw Error(
        fmt::format("variant '{}': an entry makes no tensor maps: take loads = copies", name));
  }
}

// The launch on a B200 for as many tokens as there can be. Throws Error where there is none.
GemmLaunch launch_of(const ArenaProblem& problem, const Variant& variant) {
  const std::string name = gpu::name(variant);
  if (variant.knobs.mma != gpu::Mma::kBlockScaled) {
    throw Error(fmt::format(
        "variant '{}' is not for a B200, which the arena runs on: take one of gpu_sm100", name));
  }
  if (variant.graph || variant.knobs.launches != gpu::Launches::kGrouped) {
    throw Error(
        fmt::format("variant '{}': an entry launches one GEMM on the arena's stream: take launches "
                    "= grouped and no graph",
                    name));
  }
  if (variant.knobs.dual != gpu::Dual::kFused) {
    throw Error(fmt::format(
        "variant '{}': an entry multiplies gate and up in one launch: take dual = fused", name));
  }
  for (const Problem& one : problem.benchmarks) {
    const std::string why = gpu::sm100::why_not(variant.knobs, {one, token_count(one), kB200});
    if (!why.empty()) {
      throw Error(fmt::format("variant '{}' cannot run {}: {}", name, problem.name, why));
    }
  }
  const Problem& any = problem.benchmarks.front();
  const GemmPlan plan = make_plan(variant.knobs, {any, token_count(any), kB200});
  check_entry_brings(plan, name);
  return plan.launches.front();
}

double log_mean_ns(const ArenaProblem& problem, const Variant& variant) {
  double sum = 0;
  for (const Problem& one : problem.benchmarks) {
    const gpu::Tiling tiling(one.groups, variant.knobs.kind, launch_of(problem, variant).config,
                             kB200, gpu::sm100::tile_times());
    sum += std::log(tiling.span_ns());
  }
  return sum / static_cast<double>(problem.benchmarks.size());
}

std::string prepare_source() {
  return fmt::format(
      "#include \"arena/kernels/prepare.cuh\"\n"
      "extern \"C\" __global__ void __launch_bounds__({})\n"
      "prepare(const __grid_constant__ thresher::arena::PrepareArgs args) {{\n"
      "  thresher::arena::prepare_kernel(args);\n"
      "}}\n",
      kPrepareThreads);
}

// NVRTC says it of itself; nvcc reads the same text.
constexpr std::string_view kDeviceCodeAlone =
    "#ifndef __CUDACC_RTC__\n"
    "#define __CUDACC_RTC__\n"
    "#endif\n";

// What entry.py packs as bytes.
static_assert(sizeof(gpu::GemmArgs) == 112);

std::string replaced(std::string text, const std::string& mark, const std::string& by) {
  const std::string marked = "@" + mark + "@";
  std::size_t at = text.find(marked);
  THRESHER_ASSERT(at != std::string::npos);
  for (; at != std::string::npos; at = text.find(marked, at + by.size())) {
    text.replace(at, marked.size(), by);
  }
  return text;
}

}  // namespace

std::vector<ArenaProblem> arena_problems() {
  return {{.name = "nvfp4_group_gemm", .op = Op::kGemm, .benchmarks = load_suite("seeds").problems},
          {.name = "nvfp4_dual_gemm",
           .op = Op::kDual,
           .benchmarks = {dual_problem(256, 4096, 7168), dual_problem(512, 4096, 7168),
                          dual_problem(256, 3072, 4096), dual_problem(512, 3072, 7168)}}};
}

ArenaProblem arena_problem(std::string_view name) {
  std::vector<std::string_view> names;
  for (ArenaProblem& problem : arena_problems()) {
    if (problem.name == name) return std::move(problem);
    names.push_back(problem.name);
  }
  throw Error(
      fmt::format("the arena's problem '{}' is not one we have an entry for; there are: {}{}", name,
                  fmt::join(names, ", "), did_you_mean(name, names)));
}

std::string variant_for(const ArenaProblem& problem) {
  std::pair<double, std::string> best{INFINITY, ""};
  for (const Variant& variant : gpu::sm100::choices()) {
    const Problem& any = problem.benchmarks.front();
    if (!gpu::sm100::why_not(variant.knobs, {any, token_count(any), kB200}).empty()) continue;
    const double log_ns = log_mean_ns(problem, variant);
    if (log_ns < best.first) best = {log_ns, gpu::name(variant)};
  }
  return best.second;
}

std::string entry_kernels(const ArenaProblem& problem, std::string_view variant) {
  const GemmLaunch launch = launch_of(problem, gpu::variant_from_name(variant));
  const std::vector<EmbeddedFiles> tables{kKernelSources, kArenaFiles};
  std::set<std::string> seen;
  std::string source(kDeviceCodeAlone);
  source += flat_source(prepare_source(), tables, seen);
  source += flat_source(entry_source(launch), tables, seen);
  THRESHER_ASSERT(source.find("'''") == std::string::npos);  // it stands in such quotes
  return source;
}

std::string entry_file(const ArenaProblem& problem, std::string_view variant) {
  const Variant read = gpu::variant_from_name(variant);
  const GemmLaunch launch = launch_of(problem, read);
  const std::string_view kernel =
      problem.op == Op::kDual ? "arena/dual_gemm.py" : "arena/group_gemm.py";
  const std::string name = gpu::name(read);
  std::string custom(embedded_text(kArenaFiles, kernel));
  while (custom.ends_with('\n')) custom.pop_back();
  std::string text(embedded_text(kArenaFiles, "arena/entry.py"));
  const std::pair<const char*, std::string> marks[] = {
      {"PROBLEM", std::string(problem.name)},
      {"VERSION", THRESHER_VERSION},
      {"COMMAND", fmt::format("thresher export arena {} --variant {}", problem.name, name)},
      {"VARIANT", name},
      {"MATRICES", fmt::format("{}", problem.op == Op::kDual ? 2 : 1)},
      {"TOKENS", fmt::format("{}", launch.config.tokens)},
      {"BLOCKS_PER_SM", fmt::format("{}", launch.config.blocks_per_sm)},
      {"THREADS", fmt::format("{}", launch.thread_count)},
      {"SHARED_BYTES", fmt::format("{}", launch.shared_bytes)},
      {"TILE_BYTES", fmt::format("{}", gpu::sm100::kTileBytes)},
      {"PREPARE_THREADS", fmt::format("{}", kPrepareThreads)},
      {"GROUPS_MAX", fmt::format("{}", kGroupsMax)},
      {"ENTRY_BYTES", fmt::format("{}", sizeof(gpu::GroupEntry))},
      {"CUSTOM_KERNEL", custom},
      {"SOURCE", entry_kernels(problem, variant)}};
  for (const auto& [mark, by] : marks) text = replaced(std::move(text), mark, by);
  return text;
}

}  // namespace thresher::arena
