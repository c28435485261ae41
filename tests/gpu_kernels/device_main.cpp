// SPDX-License-Identifier: Apache-2.0
// The GPU kernels on a GPU, as a program that needs nothing but itself:
//
//   gpu_device verify          every knob on small ragged problems of all types, against the oracle
//   gpu_device bench SUITE...  microseconds per call of every knob, results checked
//
// Exit code 0: all right; 1: something was wrong; 77: no GPU or no compiler here.
#include <fmt/format.h>

#include <cstring>
#include <span>

#include "gemm/suite.hpp"
#include "gpu_kernels/device_scene.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu::testing {
namespace {

constexpr std::int64_t kColdBytes = 130'000'000;  // more than twice the L2 of a Hopper GPU

struct Setting {
  const char* name;
  GemmKnobs knobs;
};

// The default, and each knob turned away from it.
const Setting kSettings[] = {
    {"default", {}},
    {"plain", {.kind = GemmKind::kPlain, .launches = Launches::kPerGroup}},
    {"stages=2", {.stages = 2}},
    {"tokens=64", {.tokens = 64}},
    {"tokens=16,stages=6", {.tokens = 16, .stages = 6}},
    {"tokens=256,stages=3", {.tokens = 256, .stages = 3}},
    {"tokens=64,rows=256", {.tokens = 64, .weight_rows = 256}},
    {"roles=same", {.specialised = false}},
    {"store=staged", {.store = Store::kStaged}},
    {"schedule=balanced", {.schedule = Schedule::kBalanced}},
    {"split_k=2", {.split_k = 2}},
    {"launches=per_group", {.launches = Launches::kPerGroup}},
    {"dual=two_pass", {.consumer_warpgroups = 1, .dual = Dual::kTwoPass}},
    {"tokens=64,warpgroups=1,blocks=2",
     {.tokens = 64, .consumer_warpgroups = 1, .blocks_per_sm = 2}},
};

std::vector<Problem> small_problems() {
  std::vector<Problem> problems;
  const auto add = [&](std::vector<std::int64_t> m, std::int64_t n, std::int64_t k, Problem kind) {
    for (const std::int64_t rows : m) kind.groups.push_back({.m = rows, .n = n, .k = k});
    kind.name = fmt::format("{}_{}_{}_n{}_k{}", to_string(kind.op), to_string(kind.activations),
                            to_string(kind.output), n, k);
    problems.push_back(std::move(kind));
  };
  for (const Op op : {Op::kGemm, Op::kDual}) {
    for (const Activations activations :
         {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
      for (const Output output : {Output::kFp16, Output::kBf16, Output::kFp32}) {
        add({80, 0, 1, 33, 129}, 200, 336,
            {.op = op, .activations = activations, .output = output});
      }
    }
  }
  add({0, 0}, 128, 64, {});
  add({1}, 1, 16, {.output = Output::kFp32});
  add({300, 7}, 1000, 4096, {.output = Output::kBf16});
  return problems;
}

// Whether a setting gave right results, or had a reason not to run.
bool try_setting(const Bench& bench, const DeviceScene& scene, const Setting& setting, bool timed) {
  const std::string title = fmt::format("{} {}", scene.problem().name, setting.name);
  try {
    const ReadyKernels kernels(bench, scene.problem(), setting.knobs);
    scene.poison();
    kernels.enqueue(scene, 0);
    bench.stream.synchronize();
    const Conformance found = scene.conformance();
    const std::string time =
        timed && found.ok ? fmt::format(" {:.1f} us", kernels.call_us(scene)) : "";
    fmt::print("{} {}:{} {} checked, {:.3f} of the bound;{} {}\n", found.ok ? "ok   " : "WRONG",
               title, time, found.checked_count, found.max_error_over_bound, kernels.resources(),
               found.first_failure);
    return found.ok;
  } catch (const DriverError& error) {
    fmt::print("WRONG {}: {}\n", title, error.what());
    return false;
  } catch (const Error& error) {
    fmt::print("left  {}: {}\n", title, error.what());
    return true;
  }
}

int verify(const Bench& bench) {
  int wrong_count = 0;
  for (const Problem& problem : small_problems()) {
    for (const InputFamily family : {InputFamily::kExact, InputFamily::kNatural}) {
      const DeviceScene scene(bench, problem, family, 1);
      for (const Setting& setting : kSettings) {
        wrong_count += try_setting(bench, scene, setting, false) ? 0 : 1;
      }
    }
  }
  fmt::print("{} wrong\n", wrong_count);
  return wrong_count == 0 ? 0 : 1;
}

std::size_t cold_copies(const Problem& problem) {
  std::int64_t bytes = 1;
  for (const Group& group : problem.groups) bytes += group.n * group.k * 9 / 16;
  return static_cast<std::size_t>(kColdBytes / bytes + 1);
}

int bench_suites(const Bench& bench, std::span<char* const> suites) {
  int wrong_count = 0;
  for (const char* suite : suites) {
    for (const Problem& problem : load_suite(suite).problems) {
      const DeviceScene scene(bench, problem, InputFamily::kNatural, cold_copies(problem));
      for (const Setting& setting : kSettings) {
        wrong_count += try_setting(bench, scene, setting, true) ? 0 : 1;
      }
    }
  }
  return wrong_count == 0 ? 0 : 1;
}

int run(std::span<char* const> arguments) {
  const DriverLookup& driver = find_driver();
  if (driver.driver == nullptr) return fmt::print("{}\n", driver.why_not), 77;
  const NvrtcLookup nvrtc = find_nvrtc({.driver_version = driver_version(*driver.driver)});
  if (!nvrtc.nvrtc) return fmt::print("{}\n", nvrtc.why_not), 77;
  const Device device(*driver.driver);
  const Stream stream(device);
  const Compiler compiler(*nvrtc.nvrtc);
  const CubinCache cache;
  const Bench bench{.device = device, .stream = stream, .compiler = compiler, .cache = cache};
  if (arguments.size() > 1 && std::strcmp(arguments[1], "bench") == 0) {
    return bench_suites(bench, arguments.subspan(2));
  }
  return verify(bench);
}

}  // namespace
}  // namespace thresher::gpu::testing

int main(int argc, char** argv) {
  try {
    return thresher::gpu::testing::run({argv, static_cast<std::size_t>(argc)});
  } catch (const thresher::Error& error) {
    fmt::print(stderr, "gpu_device: {}\n", error.what());
    return 1;
  }
}
