// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_peer_kernels.hpp"

#include <fmt/format.h>

#include <vector>

#include "rounding.hpp"

namespace thresher::bench {
namespace {

std::string source_for(gpu::hw::Operand operand) {
  return fmt::format(
      "#include \"bench/gpu_peer_kernels.cuh\"\n"
      "using namespace thresher::bench;\n"
      "constexpr auto kOperand = static_cast<hw::Operand>({});\n"
      "extern \"C\" __global__ void __launch_bounds__(kExpandThreads)\n"
      "expand(const __grid_constant__ ExpandArgs args) {{\n"
      "  expand_kernel<kOperand>(args);\n"
      "}}\n"
      "extern \"C\" __global__ void __launch_bounds__(kGateThreads)\n"
      "gate(const __grid_constant__ GateArgs args) {{\n"
      "  gate_kernel<kOperand>(args);\n"
      "}}\n",
      static_cast<int>(operand));
}

// The peers' own files, and the hardware vocabulary.
std::vector<EmbeddedFile> source_table() {
  std::vector<EmbeddedFile> table(kKernelSources.begin(), kKernelSources.end());
  table.insert(table.end(), kPeerKernelSources.begin(), kPeerKernelSources.end());
  return table;
}

gpu::Module load(const GpuPeerSetup& setup) {
  const gpu::Compilation compilation = setup.cache.get(
      setup.compiler,
      peer_kernels_request(operand_of(setup.problem), setup.device.properties().architecture()),
      gpu::driver_version(setup.device.context()->driver()));
  return {setup.device, compilation.cubin, "gpu_peers"};
}

}  // namespace

gpu::hw::Operand operand_of(const Problem& problem) {
  return problem.activations == Activations::kFp16 ? gpu::hw::Operand::kFp16
                                                   : gpu::hw::Operand::kBf16;
}

gpu::CompileRequest peer_kernels_request(gpu::hw::Operand operand,
                                         const std::string& architecture) {
  const std::string source = source_for(operand);
  return {.name = "gpu_peers.cu",
          .source = source,
          .headers = gpu::headers_of(source, source_table()),
          .options = {"-std=c++20"},  // no emulator has to agree: the compiler may fuse
          .architecture = architecture};
}

PeerKernels::PeerKernels(const GpuPeerSetup& setup) : PeerKernels(load(setup)) {}

PeerKernels::PeerKernels(const gpu::Module& module)
    : expand_(module.kernel("expand")), gate_(module.kernel("gate")) {}

void PeerKernels::expand(const gpu::Stream& stream, const ExpandArgs& args) const {
  if (args.word_count == 0) return;
  const u64 block_count = divide_up(args.word_count, kExpandWordsPerBlock);
  expand_.launch(stream, {.grid = {static_cast<unsigned>(block_count)}, .block = {kExpandThreads}},
                 args);
}

void PeerKernels::gate(const gpu::Stream& stream, const GateArgs& args,
                       std::size_t row_count) const {
  if (row_count == 0) return;
  gate_.launch(stream, {.grid = {static_cast<unsigned>(row_count)}, .block = {kGateThreads}}, args);
}

}  // namespace thresher::bench
