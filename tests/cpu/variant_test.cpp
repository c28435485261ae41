// SPDX-License-Identifier: Apache-2.0
#include "cpu/variant.hpp"

#include <gtest/gtest.h>

#include <set>

#include "cpu/choose.hpp"
#include "thresher/error.hpp"

namespace thresher::cpu {
namespace {

std::string error_of(std::string_view text) {
  try {
    variant_from_name(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Problem gemm_problem(std::int64_t m, Activations activations = Activations::kNvfp4) {
  return {.name = "p", .activations = activations, .groups = {{.m = m, .n = 64, .k = 128}}};
}

TEST(Variant, NamesRoundTripAndAreUnique) {
  std::set<std::string> names;
  for (const Isa isa : kAllIsas) {
    for (const Variant& variant : named_variants(isa)) {
      EXPECT_EQ(variant_from_name(name(variant)), variant) << name(variant);
      EXPECT_TRUE(names.insert(name(variant)).second) << name(variant);
    }
  }
}

TEST(Variant, NameHoldsOnlyWhatDiffersFromTheDefault) {
  EXPECT_EQ(name(default_variant(Isa::kAvx2)), "cpu_avx2");
  EXPECT_EQ(name(variant_from_name("cpu_avx2:store=plain,decode=direct")),
            "cpu_avx2:decode=direct");
  EXPECT_EQ(name(variant_from_name("cpu_portable:task=64x96,tile=4x16")),
            "cpu_portable:tile=4x16,task=64x96");
}

TEST(Variant, ErrorsNameTheKnobTheValueAndWhatIsAllowed) {
  EXPECT_EQ(error_of("cpu_sse"),
            "unknown variant 'cpu_sse'; variants begin with one of cpu_portable, cpu_avx2, "
            "cpu_avx512, cpu_avx512vnni, cpu_amx");
  EXPECT_EQ(error_of("cpu_avx2:speed=11"),
            "variant 'cpu_avx2:speed=11': unknown knob 'speed'; knobs are decode, tile, chunk, "
            "stages, task, schedule, dual, store, roles");
  EXPECT_EQ(error_of("cpu_avx2:stages=65"),
            "variant 'cpu_avx2:stages=65': stages = '65' is not 0 to 64");
  EXPECT_EQ(error_of("cpu_avx2:stages"),
            "variant 'cpu_avx2:stages': 'stages' is not of the form knob=value; knobs are decode, "
            "tile, chunk, stages, task, schedule, dual, store, roles");
  for (const char* text :
       {"", "cpu_", "avx2", "cpu_avx2:", "cpu_avx2:tile=0x16", "cpu_avx2:tile=8x17",
        "cpu_avx2:tile=8", "cpu_avx2:tile=8x16x", "cpu_avx2:chunk=100", "cpu_avx2:chunk=0",
        "cpu_avx2:task=1x31", "cpu_avx2:stages=-1", "cpu_avx2:stages=99999999999999999999",
        "cpu_avx2:decode=panel,", "cpu_avx2:decode=Panel"}) {
    EXPECT_NE(error_of(text), "no error") << text;
  }
}

TEST(Variant, SaysWhyItCannotRunAProblem) {
  const auto why = [](const char* variant, const Problem& problem, int threads = 2) {
    return supports(variant_from_name(variant), problem, threads).why_not;
  };
  EXPECT_EQ(why("cpu_portable", gemm_problem(4)), "");
  EXPECT_EQ(why("cpu_portable:tile=16x32", gemm_problem(4)),
            "portable has no register tile of 16x32");
  EXPECT_EQ(why("cpu_portable:decode=panel", gemm_problem(4)),
            "portable has no decoded panels for nvfp4 activations");
  EXPECT_EQ(why("cpu_portable:roles=split", gemm_problem(4)), "roles=split needs decode=panel");
  if (can_run(Isa::kAvx2)) {
    EXPECT_EQ(why("cpu_avx2:decode=panel", gemm_problem(4, Activations::kFp16)),
              "avx2 has no decoded panels for fp16 activations");
    EXPECT_EQ(why("cpu_avx2:decode=panel,roles=split", gemm_problem(4), 1),
              "roles=split needs at least 2 threads");
  }
  EXPECT_EQ(why("cpu_portable:dual=two_pass", gemm_problem(4)), "");
  for (const Isa isa : kAllIsas) {
    if (can_run(isa)) continue;
    EXPECT_EQ(why(name(default_variant(isa)).c_str(), gemm_problem(4)),
              "this CPU lacks " + missing_features(isa));
  }
}

TEST(Choose, TakesAVariantThatCanRunTheProblem) {
  for (const Activations activations :
       {Activations::kNvfp4, Activations::kFp16, Activations::kBf16}) {
    for (const std::int64_t m : {0, 1, 16, 512}) {
      const Problem problem = gemm_problem(m, activations);
      EXPECT_TRUE(supports(choose(problem), problem, 1).ok);
    }
  }
}

}  // namespace
}  // namespace thresher::cpu
