// SPDX-License-Identifier: Apache-2.0
// Grouped GEMM: two groups of different sizes, computed by one call.
//
// Quantise floats to NVFP4, pack the weights, plan, run, and compare with a plain loop.
#include <cmath>
#include <cstdio>
#include <span>
#include <thresher/thresher.hpp>
#include <vector>

using namespace thresher;

// Some values between -1 and 1, as a checkpoint or a layer would bring them.
std::vector<float> some_values(std::int64_t count, float step) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(std::sin(step * static_cast<float>(i)));
  return values;
}

// How far c is from the product of what the quantised matrices stand for, at worst.
double largest_error(const Nvfp4Matrix& a, const Nvfp4Matrix& b, std::span<const float> c) {
  const std::vector<float> a_values = dequantize(a.view());
  const std::vector<float> b_values = dequantize(b.view());
  double largest = 0;
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t column = 0; column < b.rows; ++column) {
      float sum = 0;
      for (std::int64_t i = 0; i < a.k_elements; ++i) {
        sum += a_values[row * a.k_elements + i] * b_values[column * b.k_elements + i];
      }
      const double error = std::fabs(sum - c[row * b.rows + column]);
      if (!(error <= largest)) largest = error;  // keeps a NaN
    }
  }
  return largest;
}

int main() {
  // C is m x n, A is m x k, B is n x k, all row-major. Here m, n and k differ from group to group.
  const std::vector<Group> groups = {{.m = 3, .n = 40, .k = 128}, {.m = 5, .n = 24, .k = 64}};

  // Weights are packed once, when a model is loaded; activations come with every run.
  Engine engine;
  std::vector<Nvfp4Matrix> a, b;
  std::vector<Weights> weights;
  std::vector<std::vector<float>> c;
  for (const Group& group : groups) {
    a.push_back(quantize(some_values(group.m * group.k, 0.7f), group.m, group.k));
    b.push_back(quantize(some_values(group.n * group.k, 0.3f), group.n, group.k));
    weights.push_back(engine.pack(b.back().view()));
    c.emplace_back(group.m * group.n);
  }

  // A plan and its workspace serve any number of runs.
  const Plan plan = engine.plan({.name = "example", .output = Output::kFp32, .groups = groups});
  Workspace workspace(plan);

  std::vector<GroupOperands> operands;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    operands.push_back({.a = a[i].view(), .weights = &weights[i], .c = c[i].data()});
  }
  engine.run(plan, operands, workspace);

  std::printf("variant %s, %d threads\n", plan.variant().c_str(), engine.thread_count());
  bool right = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double error = largest_error(a[i], b[i], c[i]);
    right = right && error < 1e-4;
    std::printf("group %zu: %8.4f %8.4f %8.4f ... largest error %.1e\n", i, c[i][0], c[i][1],
                c[i][2], error);
  }
  return right ? 0 : 1;
}
