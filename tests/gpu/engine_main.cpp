// SPDX-License-Identifier: Apache-2.0
// The engine's promises that need a real GPU and that neither engine_tests (which run there too)
// nor `thresher verify` look at: a plan's kernels spill nothing, calls can be recorded in
// somebody else's graph, whatever launches them, and many threads share an engine. Exit code 0: all
// kept; 1: one was not; 77: no GPU here.
#include <fmt/format.h>

#include <thread>
#include <vector>

#include "gpu/promises.hpp"
#include "gpu/runtime/gpu.hpp"
#include "gpu/runtime/graph.hpp"
#include "support/scene.hpp"

namespace thresher {
namespace {

using testing::make_problem;
using testing::report;
using testing::Scene;

void check_plan(const Engine& engine, const Problem& problem) {
  // Twice: the second time from the caches of whoever has one.
  for (const char* when : {"", ", and when planned again"}) {
    const Plan plan = engine.plan(problem);
    bool all_told = !plan.kernels().empty();
    for (const KernelReport& kernel : plan.kernels()) {
      fmt::print("      {}: {} registers, {} bytes spilled, {} bytes of shared memory\n",
                 kernel.name, kernel.register_count, kernel.spill_bytes, kernel.shared_bytes);
      all_told = all_told && kernel.register_count > 0 && kernel.spill_bytes == 0;
    }
    report(all_told, fmt::format("every kernel tells its registers and spills none{}", when));
  }
}

// A call is as many launches as its plan says.
void check_launches(const Engine& engine, const Plan& plan, const Call& call) {
  const gpu::Device& device = gpu::gpu_of(engine).device;
  const gpu::LaunchCounts before = device.launch_counts();
  call.enqueue();
  const gpu::LaunchCounts launched = device.launch_counts() - before;
  report(launched.kernels == plan.kernel_launch_count() &&
             launched.graphs == plan.graph_launch_count(),
         fmt::format("{}: {} kernels and {} graphs are launched", plan.variant(), launched.kernels,
                     launched.graphs));
}

// Recorded on one stream and replayed, on the rows it was bound to and on others.
void check_recording(const Engine& engine, const Problem& problem, const char* variant) {
  Scene bound(engine, problem, InputFamily::kExact, 1, {.together = true});
  Scene other(engine, problem, InputFamily::kExact, 1, {.together = true, .stride_padding = 5});
  const Plan plan = engine.plan(problem, variant);
  const Workspace workspace = engine.workspace(plan);
  const Call call = engine.bind(plan, bound.operands(), workspace);
  check_launches(engine, plan, call);
  const gpu::Stream stream(gpu::gpu_of(engine).device);
  const gpu::Graph graph = gpu::Graph::capture(stream, [&] {
    call.enqueue(stream.handle());
    call.enqueue(other.rows(), stream.handle());
  });
  for (int repeat = 0; repeat < 2; ++repeat) {
    engine.synchronize();
    bound.poison();
    other.poison();
    graph.launch(stream);
    engine.synchronize();
    for (const Scene* scene : {&bound, &other}) {
      const std::string wrong = scene->why_wrong();
      report(wrong.empty(), fmt::format("{} replayed on {} rows {}", plan.variant(),
                                        scene == &bound ? "its" : "other", wrong));
    }
  }
}

// Callers on threads of their own pack, plan, bind and run on one engine at the same time.
void check_callers(const Engine& engine) {
  constexpr int kCallers = 8;
  constexpr int kRuns = 10;
  std::vector<std::string> wrong(kCallers);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&engine, &wrong, caller] {
      try {
        const Problem problem = make_problem({70 + caller, 0, 5}, 200 + caller, 336);
        Scene scene(engine, problem, InputFamily::kExact, 1 + static_cast<unsigned>(caller));
        for (int i = 0; i < kRuns && wrong[caller].empty(); ++i) {
          scene.poison();
          scene.run(engine);
          wrong[caller] = scene.why_wrong();
        }
      } catch (const Error& error) {
        wrong[caller] = error.what();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (int caller = 0; caller < kCallers; ++caller) {
    report(wrong[caller].empty(),
           fmt::format("caller {} of {} {}", caller, kCallers, wrong[caller]));
  }
}

void check_all(const Engine& engine) {
  const Problem problem = make_problem({70, 0, 5, 130}, 200, 336);
  check_plan(engine, problem);
  for (const char* variant :
       {"", "gpu_sm90", "gpu_sm90:launches=per_group", "gpu_sm90:launches=streams",
        "gpu_sm90:graph=on", "gpu_sm90:launches=streams,graph=on"}) {
    check_recording(engine, problem, variant);
  }
  check_callers(engine);
}

}  // namespace
}  // namespace thresher

int main() { return thresher::testing::hold_to_promises("gpu_engine", thresher::check_all); }
