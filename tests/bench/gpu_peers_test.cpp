// SPDX-License-Identifier: Apache-2.0
// A peer that computes something else would be a straw man: peers obey the arithmetic contract too.
// Here on a driver and a cuBLAS of our own, with the peers' real kernels in the emulator.
#include "bench/gpu_peers.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/fake_cublas.hpp"
#include "bench/gpu_peer_kernels.cuh"
#include "emulator/device_memory.hpp"
#include "emulator/launch.hpp"
#include "gemm/conformance.hpp"
#include "gpu/runtime/fake_driver.hpp"
#include "gpu/runtime/fake_nvrtc.hpp"
#include "gpu/runtime/graph.hpp"

namespace thresher::bench {
namespace {

using gpu::testing::FakeDriver;
using gpu::testing::FakeNvrtc;
using testing::FakeCublas;
using testing::FakeProduct;

template <hw::Operand kOperand>
void run_expand(const ExpandArgs& args, int block_count) {
  emulator::DeviceMemory memory;
  memory.add_read_only(args.codes, args.word_count * 4, "codes");
  memory.add_read_only(args.scales, args.word_count / 2, "scales");
  memory.add(args.out, args.word_count * 16, "out");
  emulator::launch({.block_count = block_count, .thread_count = kExpandThreads, .memory = &memory},
                   [&] { expand_kernel<kOperand>(args); });
}

template <hw::Operand kOperand>
void run_gate(const GateArgs& args, int block_count) {
  emulator::DeviceMemory memory;
  memory.add_read_only(args.rows, sizeof(GateRow) * static_cast<std::size_t>(block_count), "rows");
  for (int i = 0; i < block_count; ++i) {
    const GateRow& row = args.rows[i];
    memory.add_read_only(reinterpret_cast<const void*>(row.products), std::size_t{row.n} * 8);
    memory.add(reinterpret_cast<void*>(row.c), std::size_t{row.n} * 2);
  }
  emulator::launch({.block_count = block_count, .thread_count = kGateThreads, .memory = &memory},
                   [&] { gate_kernel<kOperand>(args); });
}

class GpuPeersTest : public ::testing::Test {
 protected:
  GpuPeersTest() {
    launch_ = driver.driver.cuLaunchKernelEx;
    driver.driver.cuFuncGetParamInfo = nullptr;
    driver.driver.cuModuleGetFunction = [](gpu::cuda::Function* function, gpu::cuda::Module,
                                           const char* name) {
      *function = std::string_view(name) == "expand" ? expand_id() : gate_id();
      return gpu::cuda::kSuccess;
    };
    driver.driver.cuLaunchKernelEx = [](const gpu::cuda::LaunchConfig* config,
                                        gpu::cuda::Function function, void** parameters,
                                        void** extra) {
      run(static_cast<int>(config->grid_x), function, parameters[0]);
      return launch_(config, function, parameters, extra);
    };
  }

  static gpu::cuda::Function expand_id() { return reinterpret_cast<gpu::cuda::Function>(1); }
  static gpu::cuda::Function gate_id() { return reinterpret_cast<gpu::cuda::Function>(2); }
  static void run(int block_count, gpu::cuda::Function function, const void* parameter) {
    if (function == expand_id()) {
      const auto& args = *static_cast<const ExpandArgs*>(parameter);
      is_fp16_ ? run_expand<hw::Operand::kFp16>(args, block_count)
               : run_expand<hw::Operand::kBf16>(args, block_count);
    } else {
      const auto& args = *static_cast<const GateArgs*>(parameter);
      is_fp16_ ? run_gate<hw::Operand::kFp16>(args, block_count)
               : run_gate<hw::Operand::kBf16>(args, block_count);
    }
  }

  // Two copies of the weights. `problem` and inputs need not live as long as the peers.
  GpuPeers make(const Problem& problem) {
    is_fp16_ = problem.activations == Activations::kFp16;
    inputs = make_inputs(problem, InputFamily::kNatural, 21);
    return make_gpu_peers({.device = device,
                           .stream = stream,
                           .compiler = compiler,
                           .cache = cache,
                           .problem = problem,
                           .inputs = inputs,
                           .copy_count = 2},
                          fake.library);
  }

  static std::string why_wrong(const GpuPeer& peer, const Inputs& inputs) {
    std::vector<OutputView> views;
    for (std::size_t g = 0; g < peer.outputs().size(); ++g) {
      views.push_back(
          {.c = peer.outputs()[g].pointer<void>(), .stride_elements = peer.problem().groups[g].n});
    }
    const Conformance conformance = check_outputs(peer.problem(), inputs, views, Rigour::kTypical);
    return conformance.ok ? "" : peer.name() + ": " + conformance.first_failure;
  }

  inline static decltype(gpu::Driver::cuLaunchKernelEx) launch_ = nullptr;
  inline static bool is_fp16_ = false;
  FakeDriver driver;
  FakeCublas fake;
  gpu::Device device{driver.driver};
  gpu::Stream stream{device};
  const gpu::Compiler compiler{FakeNvrtc::make()};
  const gpu::CubinCache cache;
  Inputs inputs;
};

Problem ragged_problem(Op op, Activations activations) {
  return {.name = "peer",
          .op = op,
          .activations = activations,
          .output = Output::kFp32,
          .groups = {
              {.m = 7, .n = 100, .k = 96}, {.m = 0, .n = 40, .k = 32}, {.m = 1, .n = 33, .k = 48}}};
}

TEST_F(GpuPeersTest, ObeyTheContract) {
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      const GpuPeers made = make(ragged_problem(op, activations));
      EXPECT_TRUE(made.notes.empty()) << made.notes.front();
      ASSERT_EQ(made.peers.size(), 4U);
      for (const auto& peer : made.peers) {
        EXPECT_EQ(peer->problem().output,
                  activations == Activations::kFp16 ? Output::kFp16 : Output::kBf16);
        for (const std::size_t copy : {0, 1}) {
          for (const gpu::DeviceBuffer& output : peer->outputs()) output.fill(std::byte{0xff});
          peer->enqueue(copy);
          EXPECT_EQ(why_wrong(*peer, inputs), "") << to_string(op) << to_string(activations);
        }
      }
    }
  }
  EXPECT_EQ(fake.handles_out, 0);
  EXPECT_EQ(driver.bad_returns, 0);
}

TEST_F(GpuPeersTest, HaveTheirNames) {
  std::vector<std::string> names;
  for (const auto& peer : make(ragged_problem(Op::kGemm, Activations::kNvfp4)).peers) {
    names.push_back(peer->name());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cublas_sequence", "cublas_streams", "cublas_grouped",
                                             "cublas_dequantise"}));
}

TEST_F(GpuPeersTest, ReadTheCopyTheyAreTold) {
  const GpuPeers made = make(ragged_problem(Op::kGemm, Activations::kBf16));
  for (const auto& peer : made.peers) {
    if (peer->name() == "cublas_dequantise") continue;  // always multiplies from its scratch
    fake.products.clear();
    peer->enqueue(0);
    peer->enqueue(1);
    ASSERT_EQ(fake.products.size(), 4U) << peer->name();
    EXPECT_NE(fake.products[0].a, fake.products[2].a) << peer->name();
    EXPECT_EQ(fake.products[0].b, fake.products[2].b) << peer->name();
  }
}

// One product of twice the columns, in floats; the factors come with the SiLU.
TEST_F(GpuPeersTest, MultiplyGateAndUpAtOnce) {
  const GpuPeers made = make(ragged_problem(Op::kDual, Activations::kNvfp4));
  fake.products.clear();
  made.peers[0]->enqueue(0);
  ASSERT_EQ(fake.products.size(), 2U);
  EXPECT_EQ(fake.products[0].m, 200);
  EXPECT_EQ(fake.products[0].n, 7);
  EXPECT_EQ(fake.products[0].k, 96);
  EXPECT_EQ(fake.products[0].alpha, 1.0f);
  EXPECT_EQ(fake.products[0].ab_type, cublas::kBf16);
  EXPECT_EQ(fake.products[0].c_type, cublas::kFloat);
}

TEST_F(GpuPeersTest, StreamsForkAndJoin) {
  Problem problem = ragged_problem(Op::kGemm, Activations::kBf16);
  problem.groups.assign(10, {.m = 1, .n = 16, .k = 16});
  const GpuPeers made = make(problem);
  GpuPeer& peer = *made.peers[1];
  fake.products.clear();
  const long records = driver.calls_of("cuEventRecord");
  const long waits = driver.calls_of("cuStreamWaitEvent");
  peer.enqueue(0);
  EXPECT_EQ(driver.calls_of("cuEventRecord") - records, 1 + 8);
  EXPECT_EQ(driver.calls_of("cuStreamWaitEvent") - waits, 8 + 8);
  std::vector<gpu::cuda::Stream> streams;
  for (const FakeProduct& product : fake.products) {
    streams.push_back(fake.streams.at(product.handle));
    EXPECT_NE(streams.back(), stream.handle());
    EXPECT_EQ(fake.workspace_bytes.at(product.handle), std::size_t{32} << 20);
  }
  ASSERT_EQ(streams.size(), 10U);
  EXPECT_EQ(streams[0], streams[8]);
  std::sort(streams.begin(), streams.end());
  EXPECT_EQ(std::unique(streams.begin(), streams.end()) - streams.begin(), 8);
}

TEST_F(GpuPeersTest, GroupedIsOneCall) {
  const GpuPeers made = make(ragged_problem(Op::kGemm, Activations::kNvfp4));
  fake.calls.clear();
  made.peers[2]->enqueue(1);
  EXPECT_EQ(fake.calls, std::vector<std::string>{"cublasGemmGroupedBatchedEx"});
}

TEST_F(GpuPeersTest, AllocateAndWaitForNothingInACapture) {
  const GpuPeers made = make(ragged_problem(Op::kDual, Activations::kNvfp4));
  for (const auto& peer : made.peers) {
    driver.calls.clear();
    gpu::Graph::capture(stream, [&] {
      peer->enqueue(0);
      peer->enqueue(1);
    });
    for (const char* call : {"cuMemAlloc", "cuMemFree", "cuCtxSynchronize", "cuStreamSynchronize",
                             "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}) {
      EXPECT_EQ(driver.calls_of(call), 0) << peer->name() << ": " << call;
    }
  }
}

TEST_F(GpuPeersTest, OneThatCannotLeavesTheOthersAlone) {
  fake.failures["cublasGemmGroupedBatchedEx"] = 15;
  GpuPeers made = make(ragged_problem(Op::kDual, Activations::kNvfp4));
  EXPECT_EQ(made.peers.size(), 3U);
  EXPECT_EQ(made.notes, std::vector<std::string>{
                            "cublas_grouped: cublasGemmGroupedBatchedEx(2 groups, bf16 into "
                            "float) failed: not supported"});
  fake.library.cublasGemmGroupedBatchedEx = nullptr;
  made = make(ragged_problem(Op::kGemm, Activations::kNvfp4));
  EXPECT_EQ(made.peers.size(), 3U);
  EXPECT_EQ(made.notes, std::vector<std::string>{
                            "cublas_grouped: the fake cuBLAS has no cublasGemmGroupedBatchedEx: it "
                            "needs cuBLAS 12.5 or newer"});
}

TEST_F(GpuPeersTest, SayWhyThereAreNone) {
  driver.failures["cuMemAlloc"] = gpu::cuda::kOutOfMemory;
  const GpuPeers made = make(ragged_problem(Op::kGemm, Activations::kNvfp4));
  EXPECT_TRUE(made.peers.empty());
  ASSERT_EQ(made.notes.size(), 1U);
  EXPECT_EQ(made.notes[0].rfind("the cuBLAS peers: GPU 0: cuMemAlloc(", 0), 0U) << made.notes[0];
}

TEST_F(GpuPeersTest, DoNothingForGroupsWithoutRows) {
  Problem problem = ragged_problem(Op::kDual, Activations::kFp16);
  for (Group& group : problem.groups) group.m = 0;
  const GpuPeers made = make(problem);
  EXPECT_TRUE(made.notes.empty()) << made.notes.front();
  EXPECT_EQ(made.peers.size(), 4U);
  EXPECT_TRUE(fake.products.empty());
}

}  // namespace
}  // namespace thresher::bench
