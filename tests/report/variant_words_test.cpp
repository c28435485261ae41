// SPDX-License-Identifier: Apache-2.0
#include "report/variant_words.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "engine/backends.hpp"

namespace thresher::report {
namespace {

TEST(VariantWords, SayWhatTheKnobsDo) {
  EXPECT_EQ(variant_words("gpu_sm90:tokens=64,rows=256,launches=streams"),
            "Hopper kernel: tiles of up to 64 tokens, 256 rows of weights per tile, a stream per "
            "group");
  EXPECT_EQ(variant_words("cpu_avx512vnni:decode=direct,tile=4x16,stages=0"),
            "AVX-512 VNNI on the CPU: weights decoded in registers, register tiles of 4×16, no "
            "prefetch");
  EXPECT_EQ(variant_words("cpu_avx2"), "AVX2 on the CPU, all defaults");
}

// What won may be what the name leaves out: another kernel brings defaults of its own.
TEST(VariantWords, TellWhatTheBaselineIsUnlike) {
  const nlohmann::json baseline = {{"isa", "avx2"}, {"stages", "0"}, {"decode", "panel"}};
  const nlohmann::json knobs = {{"isa", "avx512"}, {"stages", "0"}, {"decode", "direct"}};
  EXPECT_EQ(turned_words("cpu_avx512:stages=0", baseline, knobs),
            "AVX-512 on the CPU, unlike the baseline: weights decoded in registers");
  EXPECT_EQ(turned_words("cpu_avx2:stages=0", baseline, baseline),
            "AVX2 on the CPU, knobs like the baseline's");
  EXPECT_EQ(turned_words("cpu_avx2:stages=8", nullptr, nullptr), variant_words("cpu_avx2:stages=8"))
      << "ledgers from before they had knobs";
  EXPECT_EQ(turned_words("plain_c", baseline, nlohmann::json::object()), "");
}

TEST(VariantWords, DevicesShareNamesOfKnobs) {
  EXPECT_EQ(variant_words("cpu_avx2:stages=8"),
            "AVX2 on the CPU: weights fetched 8 superblocks ahead");
  EXPECT_EQ(variant_words("gpu_sm90:stages=8"), "Hopper kernel: 8 stages in flight");
}

TEST(VariantWords, WhatHasNoneIsShownAsItStands) {
  EXPECT_EQ(variant_words("gpu_sm90:swizzle=twice,broken,"),
            "Hopper kernel: swizzle = twice, broken = ");
  EXPECT_EQ(variant_words("torch_compile"), "");
  EXPECT_EQ(variant_words(""), "");
  EXPECT_EQ(variant_html("<b>").text(), "&lt;b&gt;");
}

TEST(VariantWords, TheNameIsThereOnDemand) {
  EXPECT_EQ(variant_html("gpu_sm90:graph=on").text(),
            "<details class=\"variant\"><summary>Hopper kernel: replayed as a CUDA graph</summary>"
            "<code class=\"raw\">gpu_sm90:graph=on</code></details>");
}

// Values that a knob lists by name ("fused or two_pass"), or its default.
std::vector<std::string> some_values(const KnobText& knob) {
  static const std::regex kList("[a-z_]+(, [a-z_]+)* or [a-z_]+");
  if (!std::regex_match(knob.allowed, kList)) return {knob.default_value};
  std::vector<std::string> values;
  const std::regex word("[a-z_]+");
  for (std::sregex_iterator it(knob.allowed.begin(), knob.allowed.end(), word), end; it != end;
       ++it) {
    if (it->str() != "or") values.push_back(it->str());
  }
  return values;
}

// A new knob must get its words: the page has nothing else to show a reader.
TEST(VariantWords, EveryKnobAndHeadHasSome) {
  for (const Backend* backend : backends()) {
    for (const std::string& variant : backend->named_variants()) {
      const std::string words = variant_words(variant);
      EXPECT_NE(words, "") << variant;
      EXPECT_EQ(words.find(" = "), std::string::npos) << words;
    }
    const std::string named = backend->named_variants().front();
    const std::string head = named.substr(0, named.find(':'));
    for (const KnobText& knob : backend->knobs()) {
      for (const std::string& value : some_values(knob)) {
        const std::string words = variant_words(fmt::format("{}:{}={}", head, knob.name, value));
        EXPECT_EQ(words.find(" = "), std::string::npos)
            << words << ": src/report/variant_words.cpp has no words for it";
      }
    }
  }
}

}  // namespace
}  // namespace thresher::report
