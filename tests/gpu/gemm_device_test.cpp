// SPDX-License-Identifier: Apache-2.0
// A Hopper GPU behind the engine, on a driver and a compiler of our own: what is copied and
// allocated when, what the kernels are told, and on which streams they are launched. What the
// kernels make of it, the emulator shows.
#include "gpu/gemm_device.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "engine/plan_file.hpp"
#include "gpu/fake_device.hpp"
#include "gpu/gemm/kernels/gemm_args.hpp"
#include "gpu/runtime/temporary_folder.hpp"
#include "nvfp4/error_message.hpp"
#include "support/scene.hpp"

namespace thresher::gpu::sm90 {
namespace {

using gpu::testing::FakeDriver;
using gpu::testing::FakeLaunch;
using gpu::testing::FakeNvrtc;
using thresher::testing::make_problem;
using thresher::testing::Scene;

// What is called for every launch, and needs no time.
const std::set<std::string> kLaunchCalls = {"cuCtxSetCurrent", "cuLaunchKernelEx"};

class Sm90DeviceTest : public ::testing::Test {
 protected:
  Sm90DeviceTest() {
    // Kernels differ in their arguments, but all of them begin with the table.
    fake.driver.cuFuncGetParamInfo = nullptr;
    fake.parameter_bytes = {sizeof(GroupTable)};
    engine.emplace(gpu::testing::open_fake(fake));
  }

  // A plan bound to a scene.
  struct Bound {
    Bound(const Engine& engine, const Scene& scene, const std::string& variant)
        : plan(engine.plan(scene.problem(), variant)),
          workspace(engine.workspace(plan)),
          call(engine.bind(plan, scene.operands(), workspace)) {}

    Plan plan;
    Workspace workspace;
    Call call;
  };

  // The driver's functions that `action` calls.
  template <typename Action>
  std::multiset<std::string> calls_of(const Action& action) {
    fake.calls.clear();
    fake.launches.clear();
    action();
    return {fake.calls.begin(), fake.calls.end()};
  }

  static GroupTable table_of(const FakeLaunch& launch) {
    GroupTable table;
    std::memcpy(&table, launch.parameters.at(0).data(), sizeof table);
    return table;
  }

  // The table of a call, once it has been queued.
  GroupTable queued_table(const Call& call) {
    fake.launches.clear();
    call.enqueue();
    EXPECT_FALSE(fake.launches.empty());
    return table_of(fake.launches.back());
  }

  LaunchCounts launch_counts() const { return gpu_of(*engine).device.launch_counts(); }

  FakeDriver fake;
  std::optional<Engine> engine;
};

u64 address_of(const void* pointer) { return reinterpret_cast<u64>(pointer); }

bool is_dependent(const FakeLaunch& launch) {
  return std::any_of(launch.attributes.begin(), launch.attributes.end(), [](const auto& attribute) {
    return attribute.id == cuda::kProgrammaticStreamSerialization;
  });
}

TEST_F(Sm90DeviceTest, SaysWhatItIs) {
  EXPECT_EQ(engine->device(), "gpu:0");
  EXPECT_EQ(engine->description(), "Fake H200 (sm_90a), 132 SMs");
  EXPECT_EQ(engine->thread_count(), 0);
  EXPECT_EQ(engine->variants().front(), "gpu_sm90");
  EXPECT_EQ(engine->state().machine().limits.sm_count, 132);
  EXPECT_EQ(engine->state().machine().limits.shared_bytes_per_block, 232448);
  EXPECT_EQ(engine->state().machine().limits.shared_bytes_per_sm, 233472);
}

TEST_F(Sm90DeviceTest, HasMemoryOfItsOwnForWhatTheHostHas) {
  const backend::Device& device = engine->state();
  std::vector<std::byte> host(100, std::byte{7});
  const std::unique_ptr<backend::Buffer> placed = device.place(host);
  EXPECT_NE(placed->data(), host.data());
  placed->copy_in(host, 0);
  std::vector<std::byte> back(100);
  placed->copy_out(back, 0);
  EXPECT_EQ(back, host);
  EXPECT_NE(device.place({})->data(), nullptr);
  EXPECT_EQ(device.limits()->sm_count, 132);
  EXPECT_EQ(device.cold_copies(1, 5), 64u);
  EXPECT_GE(device.packs_at_a_time(), 1u);
  std::mutex mutex;
  EXPECT_FALSE(device.turn(mutex).owns_lock());
}

TEST_F(Sm90DeviceTest, WeightsComeBackFromTheDevice) {
  const Scene scene(*engine, make_problem({1}, 130, 80, Op::kDual));
  const GroupInputs& inputs = scene.inputs().groups[0];
  const Weights& weights = *scene.operands().groups[0].weights;
  for (const Weights& copy : {weights, engine->duplicate(weights)}) {
    EXPECT_EQ(copy.unpack().codes, inputs.b.codes);
    EXPECT_EQ(copy.unpack_up().scales, inputs.b_up.scales);
    EXPECT_EQ(copy.unpack_up().global_scale, inputs.b_up.global_scale);
  }
}

TEST_F(Sm90DeviceTest, WhatWasPreparedIsNotCompiledAgain) {
  const gpu::testing::TemporaryFolder folder;
  engine.emplace(gpu::testing::open_fake(fake, CubinCache(folder.path())));
  const Problem problem = make_problem({3, 5}, 40, 80, Op::kGemm);
  const int before = FakeNvrtc::compile_count;
  EXPECT_TRUE(calls_of([&] { engine->state().prepare(problem, "gpu_sm90", 8); }).empty())
      << "the device has other work";
  const int prepared = FakeNvrtc::compile_count;
  EXPECT_GT(prepared, before);
  const Plan plan = engine->plan(problem, "gpu_sm90");
  EXPECT_EQ(FakeNvrtc::compile_count, prepared);
}

TEST_F(Sm90DeviceTest, NothingIsPreparedWhereNothingIsKept) {
  const int before = FakeNvrtc::compile_count;
  engine->state().prepare(make_problem({3}, 40, 80, Op::kGemm), "gpu_sm90", 3);
  EXPECT_EQ(FakeNvrtc::compile_count, before);
}

// One line per group; every part of the factors is another number.
TEST_F(Sm90DeviceTest, TheTableHasFactorsAndAddresses) {
  Scene scene(*engine, make_problem({3, 0, 5}, 40, 80, Op::kDual), InputFamily::kNatural, 7);
  scene.groups()[2].a_global_scale = 0x1.8p-100f;  // too small for a float once multiplied
  const Bound bound(*engine, scene, "");
  const GroupTable table = queued_table(bound.call);
  for (const std::size_t g : {0, 2}) {
    const GroupEntry& entry = table.entries[g];
    const GroupOperands& own = scene.groups()[g];
    const GroupInputs& inputs = scene.inputs().groups[g];
    ASSERT_NE(inputs.b.global_scale, inputs.b_up.global_scale);
    ASSERT_NE(own.alpha, own.alpha_up);
    const double a_scale = own.a_global_scale;
    const auto value_of = [](const Factor& factor) {
      return static_cast<double>(factor.main) * factor.rest;
    };
    const double gate = a_scale * own.alpha * inputs.b.global_scale;
    const double up = a_scale * own.alpha_up * inputs.b_up.global_scale;
    EXPECT_NEAR(value_of(entry.factor) / gate, 1, 0x1p-24) << g;
    EXPECT_NEAR(value_of(entry.factor_up) / up, 1, 0x1p-24) << g;
    EXPECT_EQ(entry.factor.rest, g == 0 ? 1.0f : 0x1p-100f);
    EXPECT_EQ(entry.weights, address_of(own.weights->state().data()));
    EXPECT_EQ(entry.activations, address_of(own.rows.a));
    EXPECT_EQ(entry.activation_scales, address_of(own.rows.a_scales));
    EXPECT_EQ(entry.c, address_of(own.rows.c));
    EXPECT_EQ(entry.c_stride_elements, 43u);
    EXPECT_EQ(entry.n, 40u);
    EXPECT_EQ(entry.k, 80u);
  }
  // Nobody looks at the operands of a group without tokens.
  EXPECT_EQ(table.entries[1].weights, 0u);
  EXPECT_EQ(table.entries[1].n, 40u);
  EXPECT_EQ(table.entries[1].k, 80u);
  EXPECT_FALSE(table.rows_follow());
}

TEST_F(Sm90DeviceTest, AGemmHasOneFactor) {
  Scene scene(*engine, make_problem({3}, 40, 80, Op::kGemm, Activations::kFp16));
  scene.groups()[0].a_global_scale = 77;  // which fp16 activations have none of
  scene.groups()[0].alpha_up = 88;
  const Bound bound(*engine, scene, "");
  const GroupEntry entry = queued_table(bound.call).entries[0];
  const GroupInputs& inputs = scene.inputs().groups[0];
  EXPECT_EQ(entry.factor.main, inputs.alpha * inputs.b.global_scale);
  EXPECT_EQ(entry.factor_up.main, 1.0f);
}

TEST_F(Sm90DeviceTest, TheTableHasTheTokensOfEachGroup) {
  const Scene scene(*engine, make_problem({3, 0, 5}, 40, 80));
  const Bound bound(*engine, scene, "");
  const GroupTable table = queued_table(bound.call);
  EXPECT_EQ(table.counts_known, 1u);
  EXPECT_EQ(table.token_limit, 8u);
  EXPECT_EQ(std::vector(table.token_counts, table.token_counts + 3), (std::vector<u32>{3, 0, 5}));
}

TEST_F(Sm90DeviceTest, CountsOnTheDeviceAreReadWhereTheyStand) {
  const Scene scene(*engine, make_problem({3, 0, 5}, 40, 80));
  const Plan plan = engine->plan(make_problem({0, 0, 0}, 40, 80), {}, 20);
  const Workspace workspace = engine->workspace(plan);
  Operands operands = scene.counted_operands();
  for (const std::int64_t tokens_max : {0, 9}) {
    operands.counts.tokens_max = tokens_max;
    const Call call = engine->bind(plan, operands, workspace);
    const GroupTable table = queued_table(call);
    EXPECT_EQ(table.token_counts, operands.counts.counts);
    EXPECT_EQ(table.counts_known, 0u);
    EXPECT_EQ(table.token_limit, tokens_max == 0 ? 20u : 9u);
    EXPECT_NE(table.entries[1].weights, 0u);  // it may have tokens
  }
}

TEST_F(Sm90DeviceTest, BindCopiesOneTable) {
  const Scene scene(*engine, make_problem({3, 5}, 40, 80));
  const Plan plan = engine->plan(scene.problem());
  const Workspace workspace = engine->workspace(plan);
  std::optional<Call> call;
  const auto calls =
      calls_of([&] { call.emplace(engine->bind(plan, scene.operands(), workspace)); });
  EXPECT_EQ(calls.count("cuMemAlloc"), 1u);
  EXPECT_EQ(calls.count("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(calls.count("cuLaunchKernelEx"), 0u);
}

// Launches, and nothing that would take time or could not be captured.
TEST_F(Sm90DeviceTest, EnqueueNeitherCopiesNorWaitsNorAllocates) {
  Scene scene(*engine, make_problem({3, 0, 5}, 40, 80), InputFamily::kExact, 1, {.together = true});
  for (const char* variant : {"", "gpu_sm90", "gpu_sm90:launches=per_group"}) {
    const Bound bound(*engine, scene, variant);
    for (const auto& calls : {calls_of([&] { bound.call.enqueue(); }),
                              calls_of([&] { bound.call.enqueue(scene.rows()); })}) {
      EXPECT_EQ(std::set(calls.begin(), calls.end()), kLaunchCalls) << variant;
      EXPECT_EQ(static_cast<std::int64_t>(calls.count("cuLaunchKernelEx")),
                bound.plan.kernel_launch_count());
    }
  }
}

TEST_F(Sm90DeviceTest, RunWaits) {
  const Scene scene(*engine, make_problem({3}, 40, 80));
  const Plan plan = engine->plan(scene.problem());
  const Workspace workspace = engine->workspace(plan);
  calls_of([&] { engine->run(plan, scene.operands(), workspace); });
  const auto launch = std::find(fake.calls.begin(), fake.calls.end(), "cuLaunchKernelEx");
  EXPECT_NE(std::find(launch, fake.calls.end(), "cuCtxSynchronize"), fake.calls.end());
}

// The rows of all groups travel with the launches.
TEST_F(Sm90DeviceTest, OtherRowsAreOtherArguments) {
  const Problem problem = make_problem({3, 5}, 40, 80);
  Scene scene(*engine, problem, InputFamily::kExact, 1, {.together = true});
  Scene other(*engine, problem, InputFamily::kExact, 1, {.together = true, .stride_padding = 6});
  const auto expect_rows = [](const GroupTable& table, const Rows& rows, u64 stride) {
    EXPECT_EQ(table.rows.activations, address_of(rows.a));
    EXPECT_EQ(table.rows.activation_scales, address_of(rows.a_scales));
    EXPECT_EQ(table.rows.c, address_of(rows.c));
    EXPECT_EQ(table.rows.c_stride_elements, stride);
  };
  const Bound bound(*engine, scene, "gpu_sm90");
  const GroupTable first = queued_table(bound.call);
  expect_rows(first, scene.rows(), 43);
  fake.launches.clear();
  bound.call.enqueue(other.rows());
  ASSERT_EQ(fake.launches.size(), 2u);
  for (const FakeLaunch& launch : fake.launches) {
    expect_rows(table_of(launch), other.rows(), 46);
    EXPECT_EQ(table_of(launch).entries, first.entries);
    EXPECT_EQ(table_of(launch).token_counts, first.token_counts);
  }
  Rows close = other.rows();
  close.c_stride_elements = 0;  // means n
  fake.launches.clear();
  bound.call.enqueue(close);
  expect_rows(table_of(fake.launches.front()), close, 40);
  expect_rows(queued_table(bound.call), scene.rows(), 43);
}

TEST_F(Sm90DeviceTest, AGraphIsLaunchedAsOne) {
  const Scene scene(*engine, make_problem({3, 5}, 40, 80));
  std::optional<Bound> bound;
  const auto binding = calls_of([&] { bound.emplace(*engine, scene, "gpu_sm90:graph=on"); });
  EXPECT_EQ(binding.count("cuGraphInstantiate"), 1u);
  EXPECT_EQ(bound->plan.kernel_launch_count(), 0);
  EXPECT_EQ(bound->plan.graph_launch_count(), 1);
  const LaunchCounts before = launch_counts();
  const auto calls = calls_of([&] { bound->call.enqueue(); });
  EXPECT_EQ(std::set(calls.begin(), calls.end()),
            (std::set<std::string>{"cuCtxSetCurrent", "cuStreamIsCapturing", "cuGraphLaunch"}));
  EXPECT_EQ(launch_counts() - before, (LaunchCounts{.kernels = 0, .graphs = 1}));
}

// A graph cannot be recorded into another, and has its rows recorded: the kernels go one by one.
TEST_F(Sm90DeviceTest, AGraphsKernelsAreLaunchedWhereItCannotBe) {
  Scene scene(*engine, make_problem({3, 5}, 40, 80), InputFamily::kExact, 1, {.together = true});
  const Bound bound(*engine, scene, "gpu_sm90:graph=on");
  const LaunchCounts one_by_one{.kernels = 2, .graphs = 0};
  LaunchCounts before = launch_counts();
  bound.call.enqueue(scene.rows());
  EXPECT_EQ(launch_counts() - before, one_by_one);

  const Stream recorded(gpu_of(*engine).device);
  fake.driver.cuStreamBeginCapture(recorded.handle(), 0);
  before = launch_counts();
  bound.call.enqueue(recorded.handle());
  EXPECT_EQ(launch_counts() - before, one_by_one);
  EXPECT_EQ(fake.launches.back().config.stream, recorded.handle());
  cuda::Graph graph = nullptr;
  fake.driver.cuStreamEndCapture(recorded.handle(), &graph);
  before = launch_counts();
  bound.call.enqueue(recorded.handle());
  EXPECT_EQ(launch_counts() - before, (LaunchCounts{.kernels = 0, .graphs = 1}));
  fake.driver.cuGraphDestroy(graph);
}

TEST_F(Sm90DeviceTest, LaunchesFollowEachOtherOnTheCallersStream) {
  const Scene scene(*engine, make_problem({3, 5, 2}, 40, 80));
  const Bound bound(*engine, scene, "gpu_sm90:launches=per_group");
  const Stream stream(gpu_of(*engine).device);
  fake.launches.clear();
  bound.call.enqueue(stream.handle());
  ASSERT_EQ(fake.launches.size(), 4u);
  for (const FakeLaunch& launch : fake.launches) {
    EXPECT_EQ(launch.config.stream, stream.handle());
    EXPECT_TRUE(is_dependent(launch));
  }
}

// The prologue on the caller's stream, then every group on one of eight, and back again.
TEST_F(Sm90DeviceTest, StreamsArePooled) {
  const Scene scene(*engine, make_problem(std::vector<std::int64_t>(10, 2), 40, 80, Op::kDual));
  const Bound bound(*engine, scene, "gpu_sm90:rows=256,launches=streams,dual=two_pass");
  const Stream stream(gpu_of(*engine).device);
  const auto calls = calls_of([&] { bound.call.enqueue(stream.handle()); });
  ASSERT_EQ(fake.launches.size(), 21u);
  EXPECT_EQ(bound.plan.kernel_launch_count(), 21);
  EXPECT_EQ(fake.launches[0].config.stream, stream.handle());
  std::set<cuda::Stream> pool;
  for (std::size_t i = 1; i < fake.launches.size(); ++i) {
    const cuda::Stream used = fake.launches[i].config.stream;
    EXPECT_NE(used, stream.handle());
    EXPECT_FALSE(is_dependent(fake.launches[i]));
    const std::size_t group = (i - 1) / 2;  // both passes of a group stay together
    EXPECT_EQ(used, fake.launches[1 + 2 * (group % 8)].config.stream) << i;
    pool.insert(used);
  }
  EXPECT_EQ(pool.size(), 8u);
  EXPECT_EQ(calls.count("cuEventRecord"), 1u + 8);
  EXPECT_EQ(calls.count("cuStreamWaitEvent"), 8u + 8);
  EXPECT_EQ(calls.count("cuCtxSynchronize") + calls.count("cuStreamSynchronize"), 0u);
}

// With nothing to wait for, the first group is on a stream of its own like all others.
TEST_F(Sm90DeviceTest, StreamsForkFirstWhereThereIsNoPrologue) {
  const Scene scene(*engine, make_problem(std::vector<std::int64_t>(10, 2), 128, 128));
  const Bound bound(*engine, scene, "gpu_sm80:launches=streams");
  const Stream stream(gpu_of(*engine).device);
  calls_of([&] { bound.call.enqueue(stream.handle()); });
  ASSERT_EQ(fake.launches.size(), 10u);
  for (const FakeLaunch& launch : fake.launches) EXPECT_NE(launch.config.stream, stream.handle());
  const auto first_of = [&](const char* name) {
    return std::find(fake.calls.begin(), fake.calls.end(), name) - fake.calls.begin();
  };
  EXPECT_LT(first_of("cuEventRecord"), first_of("cuLaunchKernelEx"));
  EXPECT_LT(first_of("cuStreamWaitEvent"), first_of("cuLaunchKernelEx"));
}

TEST_F(Sm90DeviceTest, EveryKernelIsCompiledOnceAndTold) {
  const int before = FakeNvrtc::compile_count;
  const Plan plan = engine->plan(make_problem({3, 5, 2}, 40, 80), "gpu_sm90:launches=per_group");
  EXPECT_EQ(FakeNvrtc::compile_count - before, 2);
  EXPECT_EQ(plan.kernel_launch_count(), 4);
  EXPECT_EQ(plan.graph_launch_count(), 0);
  ASSERT_EQ(plan.kernels().size(), 2u);
  EXPECT_EQ(plan.kernels()[0].name, "images");
  EXPECT_EQ(plan.kernels()[0].shared_bytes, 0u);
  EXPECT_EQ(plan.kernels()[1].name, "gemm");
  EXPECT_EQ(plan.kernels()[1].register_count, 40);
  EXPECT_EQ(plan.kernels()[1].spill_bytes, 8u);
  EXPECT_EQ(plan.kernels()[1].shared_bytes, 4 * (128 * 128 + 4608) + 80u + 1040u);
  EXPECT_EQ(plan.kernels()[1].thread_count, 384);
  EXPECT_EQ(fake.shared_carveout, 100);  // the prologue leaves the rest its shared memory

  Problem dual = make_problem({3}, 40, 80, Op::kDual);
  EXPECT_EQ(engine->plan(dual, "gpu_sm90").kernels().back().name, "dual");
  const Plan passes = engine->plan(dual, "gpu_sm90:rows=256,dual=two_pass");
  ASSERT_EQ(passes.kernels().size(), 3u);
  EXPECT_EQ(passes.kernels()[1].name, "gate");
  EXPECT_EQ(passes.kernels()[2].name, "up");
}

// As an Ampere it runs Ampere's code: PTX that the driver translates, of which it alone knows the
// registers.
TEST_F(Sm90DeviceTest, RunsAmperesPtxAsAnAmpere) {
  engine.emplace(gpu::testing::open_fake(fake, CubinCache(), 0, KernelsOf::kAmpere));
  const Problem problem = make_problem({3, 5}, 40, 80);
  const Plan plan = engine->plan(problem, "gpu_sm80:prologue=kernel");
  ASSERT_EQ(plan.kernels().size(), 2u);
  EXPECT_EQ(fake.ptx_modules, 2);
  EXPECT_EQ(plan.kernels()[1].register_count, 168);
  EXPECT_EQ(plan.kernels()[1].spill_bytes, 16u);
  EXPECT_NE(nvfp4::error_message([&] {
              engine->plan(problem, "gpu_sm90");
            }).find("gpu_sm90 is for Hopper GPUs (sm_90), and this one is sm_80"),
            std::string::npos);
}

// A plan belongs to the GPU that it was measured on, whichever comes first in the machine.
TEST_F(Sm90DeviceTest, HasItsOwnFingerprint) {
  fake.device_count = 3;
  fake.device_names = {{1, "Fake H20"}};
  fake.sm_counts = {{1, 78}, {2, 114}};
  const auto fingerprint_at = [&](int index) {
    return fingerprint_of(*gpu::testing::open_fake(fake, CubinCache(), index));
  };
  EXPECT_EQ(fingerprint_at(0).device, "Fake H200");
  EXPECT_EQ(fingerprint_at(0).machine_class, "Fake H200, 132 SMs, up to 1.98 GHz");
  EXPECT_EQ(fingerprint_at(1).device, "Fake H20");
  EXPECT_EQ(fingerprint_at(1).machine_class, "Fake H20, 78 SMs, up to 1.98 GHz");
  EXPECT_EQ(fingerprint_at(2).device, fingerprint_at(0).device);
  EXPECT_NE(fingerprint_at(2), fingerprint_at(0)) << "two classes of one name";
}

TEST_F(Sm90DeviceTest, SaysWhenMemoryIsFull) {
  fake.memory_bytes_free = 1 << 20;
  EXPECT_THROW(engine->allocate(2 << 20), NoMemory);
  EXPECT_EQ(
      nvfp4::error_message([&] { engine->allocate(2 << 20); }),
      "GPU 0: cuMemAlloc(2097152 bytes) failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory); 1 of "
      "143771 MiB are free: end other processes on this GPU, or choose a smaller problem");
}

TEST_F(Sm90DeviceTest, EverythingIsGivenBack) {
  {
    const Scene scene(*engine, make_problem({3, 5}, 40, 80));
    const Bound bound(*engine, scene, "gpu_sm90:launches=streams,graph=on");
    bound.call.enqueue();
    engine.reset();  // weights, plans and buffers may outlive it; the call may not be used any more
  }
  EXPECT_EQ(fake.handles_out(), 0u);
  EXPECT_EQ(fake.bad_returns, 0);
}

}  // namespace
}  // namespace thresher::gpu::sm90
