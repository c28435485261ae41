// SPDX-License-Identifier: Apache-2.0
// Grouped GEMM: groups of different sizes, whose rows lie one after the other as a router hands
// them over, computed by one call.
//
//   grouped_gemm [cpu|gpu|emulator]
//
// Quantise floats to NVFP4, pack the weights, plan, run, and compare with a plain loop.
#include <cmath>
#include <cstdio>
#include <span>
#include <thresher/thresher.hpp>
#include <vector>

using namespace thresher;

// C is m x n, A is m x k, B is n x k, all row-major. Groups differ in m, which may be 0.
constexpr std::int64_t kRows[] = {3, 0, 5}, kAllRows = 8, kN = 40, kK = 128;

// Some values between -1 and 1, as a checkpoint or a layer would bring them.
std::vector<float> some_values(std::int64_t count, float step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(step * static_cast<float>(i)));
  return values;
}

// In the memory of the device. On the CPU any memory serves, and nothing has to be copied.
template <typename Value>
Buffer on_device(const Engine& engine, const std::vector<Value>& values) {
  Buffer buffer = engine.allocate(values.size() * sizeof(Value));
  buffer.copy_in(std::as_bytes(std::span(values)));
  return buffer;
}

double product(const float* a_row, const float* b_row) {
  double sum = 0;
  for (std::int64_t i = 0; i < kK; ++i) sum += a_row[i] * b_row[i];
  return sum;
}

int main(int argc, char** argv) {
  const Engine engine({.device = argc > 1 ? argv[1] : "cpu"});

  // Weights are packed once, when a model is loaded.
  Problem problem{.name = "example", .output = Output::kFp32};
  std::vector<Nvfp4Matrix> b;
  std::vector<Weights> weights;
  for (const std::int64_t m : kRows) {
    const float step = 0.3f + 0.1f * static_cast<float>(b.size());
    b.push_back(quantize(some_values(kN * kK, step), kN, kK));
    weights.push_back(engine.pack({.b = b.back().view()}));
    problem.groups.push_back({.m = m, .n = kN, .k = kK});
  }

  // A plan and its workspace serve any number of runs.
  const Plan plan = engine.plan(problem);
  const Workspace workspace = engine.workspace(plan);

  // Activations come with every run.
  const Nvfp4Matrix a = quantize(some_values(kAllRows * kK, 0.7f), kAllRows, kK);
  std::vector<GroupOperands> groups;
  for (const Weights& own : weights) {
    groups.push_back({.weights = &own, .a_global_scale = a.global_scale});
  }
  std::vector<float> c(kAllRows * kN);
  const Buffer a_codes = on_device(engine, a.codes), a_scales = on_device(engine, a.scales);
  const Buffer outputs = on_device(engine, c);
  const Rows rows{.a = a_codes.data(), .a_scales = a_scales.data(), .c = outputs.data()};
  engine.run(plan, {.groups = groups, .rows = rows}, workspace);
  outputs.copy_out(std::as_writable_bytes(std::span(c)));

  std::printf("%s: variant %s\n", engine.description().c_str(), plan.variant().c_str());
  const std::vector<float> a_values = dequantize(a.view());
  double largest_error = 0;
  std::int64_t row = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<float> b_values = dequantize(b[g].view());
    for (std::int64_t i = 0; i < kRows[g]; ++i, ++row) {
      std::printf("group %zu, row %lld:", g, static_cast<long long>(i));
      for (std::int64_t column = 0; column < kN; ++column) {
        const float value = c[row * kN + column];
        if (column < 3) std::printf(" %8.4f", value);
        const double error =
            std::fabs(value - product(&a_values[row * kK], &b_values[column * kK]));
        if (!(error <= largest_error)) largest_error = error;  // keeps a NaN
      }
      std::printf(" ...\n");
    }
  }
  std::printf("largest error %.1e\n", largest_error);
  return largest_error < 1e-4 ? 0 : 1;
}
