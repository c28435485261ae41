// SPDX-License-Identifier: Apache-2.0
// Honest rows are proved, and a single wrong element among thousands is not.
#include "gemm/projection.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "gemm/fp32_model.hpp"

namespace thresher {
namespace {

struct ProjectionCase {
  Problem problem;
  InputFamily family;
};

// The first row of a group, its product and what a projection says of it.
class ProjectedRow {
 public:
  explicit ProjectedRow(const ProjectionCase& c, std::uint64_t seed)
      : inputs_(make_inputs(c.problem, c.family, seed)), group_(inputs_.groups[0]) {
    Random random(seed, 7);
    projection_ = project(group_.b, random);
    const std::vector<float> a = activation_row(c.problem, group_, c.problem.groups[0].k, 0);
    right_ = project_row(a, projection_);
    factor_ = (c.problem.activations == Activations::kNvfp4 ? group_.a.global_scale : 1.0) *
              group_.b.global_scale * group_.alpha;
    const Buffers buffers = fp32_model(c.problem, inputs_, Order::kForwards);
    c_.resize(static_cast<std::size_t>(c.problem.groups[0].n));
    std::memcpy(c_.data(), buffers[0].data(), c_.size() * sizeof(float));
  }

  double error_over_tolerance() const {
    return std::abs(project_result(c_, projection_) - factor_ * right_.value) /
           projection_error(right_, factor_, projection_);
  }
  std::vector<float>& c() { return c_; }
  double typical() const {
    return std::abs(factor_) * right_.rms / std::sqrt(static_cast<double>(c_.size()));
  }

 private:
  const Inputs inputs_;
  const GroupInputs& group_;
  Projection projection_;
  RowProjection right_;
  double factor_ = 1;
  std::vector<float> c_;
};

TEST(Projection, ProvesHonestRowsAndFindsOneWrongElement) {
  for (const Activations activations : {Activations::kNvfp4, Activations::kBf16}) {
    for (const InputFamily family :
         {InputFamily::kExact, InputFamily::kNatural, InputFamily::kFull}) {
      const ProjectionCase c{{"p", Op::kGemm, activations, Output::kFp32, {{1, 300, 512}}}, family};
      for (std::uint64_t seed = 1; seed < 4; ++seed) {
        ProjectedRow row(c, seed);
        EXPECT_LE(row.error_over_tolerance(), 1) << to_string(family) << ", seed " << seed;
        row.c()[seed * 71] += static_cast<float>(0.05 * row.typical());
        EXPECT_GT(row.error_over_tolerance(), 1) << to_string(family) << ", seed " << seed;
      }
    }
  }
}

TEST(Projection, IsExact) {
  const Problem problem{"p", Op::kGemm, Activations::kNvfp4, Output::kFp32, {{1, 33, 64}}};
  const Inputs inputs = make_inputs(problem, InputFamily::kFull, 3);
  Random random(5);
  const Projection projection = project(inputs.groups[0].b, random);
  for (std::size_t i = 0; i < 64; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 33; ++j) {
      const WeightRows rows = weight_rows(problem, inputs.groups[0], static_cast<std::int64_t>(j));
      sum += projection.direction[j] * static_cast<double>(rows.b[i]);
    }
    EXPECT_EQ(projection.projected[i], sum);
  }
}

}  // namespace
}  // namespace thresher
