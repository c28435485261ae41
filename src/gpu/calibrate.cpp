// SPDX-License-Identifier: Apache-2.0
#include "gpu/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "assert.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"
#include "gpu/runtime/stream.hpp"
#include "gpu/sm100/kernels/ceilings_args.hpp"
#include "gpu/sm80/kernels/ceilings_args.hpp"
#include "gpu/sm90/kernels/ceilings_args.hpp"
#include "middle.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu {
namespace {

// The kernels that only multiply 16-bit numbers: Hopper's, and that of every other GPU (gpu/sm80/).
struct MultiplyKernels {
  std::string_view headers;
  std::string_view function;
  u64 operations = 0;  // of a block and pass
  u32 shared_bytes = 0;
};

constexpr MultiplyKernels kForWarpgroups{.headers = "#include \"gpu/sm90/kernels/ceilings.cuh\"\n",
                                         .function = "thresher::gpu::sm90::multiply_ceiling_kernel",
                                         .operations = sm90::kMultiplyOperations,
                                         .shared_bytes = sm90::kMultiplySharedBytes};
constexpr MultiplyKernels kForWarps{
    .headers = "#define THRESHER_PTX_ARCH 800\n#include \"gpu/sm80/kernels/ceilings.cuh\"\n",
    .function = "thresher::gpu::sm80::multiply_ceiling_kernel",
    .operations = sm80::kMultiplyOperations};

constexpr std::string_view kSource = R"({}using namespace thresher::gpu;
extern "C" __global__ void __launch_bounds__(kReadThreads, 4)
read(const __grid_constant__ ReadCeilingArgs args) {{
  read_ceiling_kernel(args);
}}
extern "C" __global__ void __launch_bounds__(kMultiplyThreads, 1)
multiply_fp16(const __grid_constant__ MultiplyCeilingArgs args) {{
  {}<thresher::gpu::hw::Operand::kFp16>(args);
}}
extern "C" __global__ void __launch_bounds__(kMultiplyThreads, 1)
multiply_bf16(const __grid_constant__ MultiplyCeilingArgs args) {{
  {}<thresher::gpu::hw::Operand::kBf16>(args);
}}
)";

// NVFP4 as it is, where there is tensor memory.
constexpr MultiplyKernels kForBlockScaled{.headers = {},
                                          .function = {},
                                          .operations = sm100::kMultiplyOperations,
                                          .shared_bytes = sm100::kMultiplySharedBytes};
constexpr std::string_view kBlockScaledSource =
    R"(#include "gpu/sm100/kernels/ceilings.cuh"
extern "C" __global__ void __launch_bounds__(thresher::gpu::kMultiplyThreads, 1)
multiply_nvfp4(const __grid_constant__ thresher::gpu::MultiplyCeilingArgs args) {
  thresher::gpu::sm100::multiply_ceiling_kernel(args);
}
)";

constexpr int kTrialCount = 12;
// So many that what an earlier launch left in the cache is little beside what is read.
constexpr std::size_t kL2Multiple = 32;
// From too few to keep the memory busy to more than fit at a time, which evens out slow SMs.
constexpr int kReadBlocksPerSm[] = {1, 2, 4, 8, 16, 32};
constexpr std::byte kReadByte{0x5a};
constexpr u32 kReadWord = 0x5a5a5a5a;
// A few milliseconds: making the operands then counts for nothing.
constexpr u32 kPassCount = 2048;

// Where everything here runs.
struct Lane {
  const Device& device;
  Stream stream;

  explicit Lane(const Device& on) : device(on), stream(on) {}
  unsigned block_count(int blocks_per_sm) const {
    return static_cast<unsigned>(device.properties().sm_count * blocks_per_sm);
  }
};

// Microseconds per launch in each of `trial_count` trials, all queued at once: a GPU that waits for
// the host between them would cool down and clock up.
std::vector<double> time_trials(const Lane& lane, int trial_count, int launch_count,
                                const std::function<void()>& launch) {
  std::vector<Event> marks;
  marks.emplace_back(lane.device).record(lane.stream);
  for (int trial = 0; trial < trial_count; ++trial) {
    for (int i = 0; i < launch_count; ++i) launch();
    marks.emplace_back(lane.device).record(lane.stream);
  }
  lane.stream.synchronize();
  std::vector<double> us;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    us.push_back(microseconds_between(marks[i - 1], marks[i]) / launch_count);
  }
  return us;
}

// The median over the second half of about `seconds`: by then the clocks have settled.
double settled_us(const Lane& lane, double seconds, const std::function<void()>& launch) {
  launch();  // a first launch pays for loading the kernel
  const double once_us = time_trials(lane, 1, 1, launch).front();
  const double trial_us = seconds * 1e6 / kTrialCount;
  const int launch_count = std::max(1, static_cast<int>(trial_us / once_us));
  const std::vector<double> us = time_trials(lane, kTrialCount, launch_count, launch);
  return upper_median({us.begin() + kTrialCount / 2, us.end()});
}

void check_words_read(u32 sum, u64 word_count) {
  const u32 right = static_cast<u32>(word_count) * kReadWord;
  if (sum == right) return;
  throw Error(
      fmt::format("the kernel that measures read bandwidth left the sum {:#x} and not {:#x}: the "
                  "GPU or its memory is faulty, or the kernel was miscompiled",
                  sum, right));
}

double measure_read_gb_per_s(const Lane& lane, const Kernel& kernel, double seconds) {
  const u64 chunk_count = kL2Multiple * lane.device.properties().l2_bytes / kReadChunkBytes;
  const DeviceBuffer data(lane.device, chunk_count * kReadChunkBytes);
  const DeviceBuffer sum(lane.device, sizeof(u32));
  data.fill(kReadByte);
  sum.fill(std::byte{0});
  const ReadCeilingArgs args{
      .data = data.pointer<const U32x4>(), .chunk_count = chunk_count, .sum = sum.pointer<u32>()};
  double best_us = HUGE_VAL;
  u64 launch_count = 0;
  for (const int blocks_per_sm : kReadBlocksPerSm) {
    const double us = settled_us(lane, seconds / std::size(kReadBlocksPerSm), [&] {
      kernel.launch(lane.stream,
                    {.grid = {lane.block_count(blocks_per_sm)}, .block = {kReadThreads}}, args);
      ++launch_count;
    });
    best_us = std::min(best_us, us);
  }
  std::vector<u32> got(1);
  sum.copy_out(bytes_of(got));
  check_words_read(got.front(), launch_count * data.bytes() / sizeof(u32));
  return static_cast<double>(data.bytes()) / best_us / 1e3;
}

// All blocks multiply the same numbers.
void check_sums(const std::vector<float>& sums) {
  const auto block_end = sums.begin() + kMultiplyThreads;
  const bool alike = std::equal(sums.begin() + kMultiplyThreads, sums.end(), sums.begin());
  const bool worked =
      std::all_of(sums.begin(), block_end, [](float sum) { return std::isfinite(sum); }) &&
      std::any_of(sums.begin(), block_end, [](float sum) { return sum != 0.0f; });
  if (alike && worked) return;
  throw Error(
      "the kernel that measures the tensor cores left sums that differ between blocks or are not "
      "numbers: the GPU is faulty, or the kernel was miscompiled");
}

double measure_gop_per_s(const Lane& lane, Kernel kernel, const MultiplyKernels& kernels,
                         double seconds) {
  const unsigned block_count = lane.block_count(1);
  std::vector<float> sums(std::size_t{block_count} * kMultiplyThreads);
  const DeviceBuffer buffer(lane.device, bytes_of(sums).size());
  buffer.fill(std::byte{0});
  if (kernels.shared_bytes > 0) kernel.allow_shared_bytes(kernels.shared_bytes);
  const MultiplyCeilingArgs args{.pass_count = kPassCount, .sums = buffer.pointer<float>()};
  const double us = settled_us(lane, seconds, [&] {
    kernel.launch(
        lane.stream,
        {.grid = {block_count}, .block = {kMultiplyThreads}, .shared_bytes = kernels.shared_bytes},
        args);
  });
  buffer.copy_out(bytes_of(sums));
  check_sums(sums);
  return static_cast<double>(kernels.operations) * kPassCount * block_count / us / 1e3;
}

const MultiplyKernels& kernels_for(std::string_view architecture) {
  return architecture == "sm_90a" ? kForWarpgroups : kForWarps;
}

bool has_tensor_memory(std::string_view architecture) {
  return architecture == "sm_100a" || architecture == "sm_103a";
}

CompileRequest request_of(std::string name, const std::string& source,
                          const std::string& architecture) {
  return {.name = std::move(name),
          .source = source,
          .headers = headers_of(source, kKernelSources),
          .architecture = architecture};
}

}  // namespace

CompileRequest ceilings_request(const std::string& architecture) {
  const MultiplyKernels& kernels = kernels_for(architecture);
  const std::string source =
      fmt::format(kSource, kernels.headers, kernels.function, kernels.function);
  return request_of("ceilings.cu", source, architecture);
}

std::optional<CompileRequest> nvfp4_ceiling_request(const std::string& architecture) {
  if (!has_tensor_memory(architecture)) return {};
  return request_of("nvfp4_ceiling.cu", std::string(kBlockScaledSource), architecture);
}

GpuCeilings measure_ceilings(const Device& device, const Compiler& compiler,
                             const CubinCache& cache, double seconds) {
  THRESHER_ASSERT(seconds > 0);
  const std::string architecture = device.properties().architecture();
  const MultiplyKernels& kernels = kernels_for(architecture);
  const auto compiled = [&](const CompileRequest& request) {
    return cache.get(compiler, request, driver_version(device.context()->driver())).cubin;
  };
  const Module module(device, compiled(ceilings_request(architecture)), "ceilings");
  const Lane lane(device);
  const auto gop_per_s = [&](const char* name) {
    return measure_gop_per_s(lane, module.kernel(name), kernels, seconds / 3);
  };
  GpuCeilings found{
      .compute_major = device.properties().compute_major,
      .read_gb_per_s = measure_read_gb_per_s(lane, module.kernel("read"), seconds / 3),
      .fp16_gop_per_s = gop_per_s("multiply_fp16"),
      .bf16_gop_per_s = gop_per_s("multiply_bf16")};
  if (const std::optional<CompileRequest> nvfp4 = nvfp4_ceiling_request(architecture)) {
    const Module block_scaled(device, compiled(*nvfp4), "nvfp4_ceiling");
    found.nvfp4_gop_per_s = measure_gop_per_s(lane, block_scaled.kernel("multiply_nvfp4"),
                                              kForBlockScaled, seconds / 3);
  }
  return found;
}

// A ceiling that is too low accuses whoever passes it, so what no kernel here reaches counts as
// NVIDIA has published it. FP4 is four times fp16 on a B200 (9 and 2.25 PFLOP/s, dense), and the
// warps' own MMA is not all of its fp16. Where warps multiply FP4, FP4 is eight times fp16 with
// FP32 sums (RTX PRO 5000: 1.18 PFLOP/s and 147.4 TFLOP/s).
MachineRates machine_rates(const GpuCeilings& ceilings) {
  constexpr double kFp4PerFp16 = 4;
  constexpr double kFp4PerFp16OfWarps = 8;
  constexpr int kBlackwellMajor = 10;
  MachineRates rates{.read_gb_per_s = ceilings.read_gb_per_s,
                     .nvfp4_gop_per_s = ceilings.nvfp4_gop_per_s,
                     .fp16_gop_per_s = ceilings.fp16_gop_per_s,
                     .bf16_gop_per_s = ceilings.bf16_gop_per_s};
  if (rates.nvfp4_gop_per_s > 0) {
    const double least = rates.nvfp4_gop_per_s / kFp4PerFp16;
    rates.fp16_gop_per_s = std::max(rates.fp16_gop_per_s, least);
    rates.bf16_gop_per_s = std::max(rates.bf16_gop_per_s, least);
  } else if (ceilings.compute_major >= kBlackwellMajor) {
    rates.nvfp4_gop_per_s = kFp4PerFp16OfWarps * rates.fp16_gop_per_s;
  } else {
    // NVFP4 operands are multiplied as fp16, which holds them exactly.
    rates.nvfp4_gop_per_s = rates.fp16_gop_per_s;
  }
  return rates;
}

}  // namespace thresher::gpu
