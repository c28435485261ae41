// SPDX-License-Identifier: Apache-2.0
// Which modules entries name, and what is left of a list when some of those are quantised.
#include "checkpoint/module_patterns.hpp"

#include <gtest/gtest.h>

#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

using Names = std::vector<std::string>;

constexpr CheckpointFormat kOfCompressedTensors = CheckpointFormat::kCompressedTensors;
constexpr CheckpointFormat kOfModelOpt = CheckpointFormat::kModelOpt;

const Names kTaken{"model.layers.0.mlp.experts.0.up_proj", "model.layers.0.mlp.experts.11.up_proj"};
const Names kLeft{"lm_head", "model.layers.0.mlp.gate", "model.layers.0.mlp.experts_norm",
                  "model.layers.0.self_attn.q_proj"};

Names without(const Names& entries, CheckpointFormat format) {
  return without_modules("x", entries, format, kTaken, kLeft);
}

TEST(ModulePatterns, NamesAreNames) {
  for (const CheckpointFormat format : {kOfCompressedTensors, kOfModelOpt}) {
    EXPECT_EQ(without({"lm_head", "Linear", "model.layers.0.mlp.experts_norm"}, format),
              (Names{"lm_head", "Linear", "model.layers.0.mlp.experts_norm"}));
    EXPECT_EQ(without({"lm_head", kTaken[1], "lm_head"}, format), Names{"lm_head"});
    // What they are parts of, of which others may be parts too.
    EXPECT_EQ(without({"model.layers.0.mlp.experts"}, format), Names{});
    EXPECT_EQ(without({"model.layers.0.mlp"}, format),
              (Names{"model.layers.0.mlp.gate", "model.layers.0.mlp.experts_norm"}));
    EXPECT_EQ(without({"model.layers.0.ml", "model.layers.1"}, format),
              (Names{"model.layers.0.ml", "model.layers.1"}));
  }
}

TEST(ModulePatterns, ExpressionsGiveWayToWhatIsLeftOfThem) {
  struct Case {
    const char* entry;
    Names left;  // empty: the entry itself
  };
  const Names all{kLeft};
  const Names mlp{kLeft[1], kLeft[2]};
  const Case cases[] = {
      {R"(re:.*mlp.*)", mlp},
      {R"(re:.*lm_head)", {}},
      {R"(re:mlp)", {}},  // from the first letter
      {R"(re:model\.layers\.\d+\.mlp\.)", mlp},
      {R"(re:model[.]layers[.][\d]+?[.](?:mlp|moe)[.])", mlp},
      {R"(re:.*experts\.\d\.up_proj$|.*norm$)", {kLeft[2]}},
      {R"(re:.*experts\.\d\d\.\w+$)", {"none"}},
      {R"(re:.*experts\.\d$)", {}},
      {R"(re:.*)", all},
      {"re:", all},
  };
  for (const Case& one : cases) {
    Names expected = one.left.empty() ? Names{one.entry} : one.left;
    if (expected.front() == "none") expected.clear();
    EXPECT_EQ(without({one.entry}, kOfCompressedTensors), expected) << one.entry;
  }
  EXPECT_EQ(without({"re:.*mlp.*"}, kOfModelOpt), Names{"re:.*mlp.*"});  // a name like others there
}

TEST(ModulePatterns, StarsStandForAnything) {
  EXPECT_EQ(without({"*mlp.experts*"}, kOfModelOpt), Names{kLeft[2]});
  EXPECT_EQ(without({"model.layers.*.mlp.experts.1?.*"}, kOfModelOpt), Names{});
  EXPECT_EQ(without({"model.layers.?"}, kOfModelOpt), Names{"model.layers.?"});
  EXPECT_EQ(without({"*gate", "*up_proj.*"}, kOfModelOpt), (Names{"*gate", "*up_proj.*"}));
  EXPECT_EQ(without({"*"}, kOfModelOpt), kLeft);
  EXPECT_EQ(without({"model.layers.*"}, kOfCompressedTensors),
            Names{"model.layers.*"});  // a name there
  // Of many stars that nearly match.
  const std::string stars(200, '*');
  EXPECT_EQ(without({"*a*a*a*a*a*a*a*a*a*a*a*a*" + stars + "z"}, kOfModelOpt).size(), 1u);
}

TEST(ModulePatterns, WhatIsNotUnderstoodIsRefused) {
  for (const std::string entry :
       {"re:(", "re:[", "re:a{2}", "re:(?!experts)", "re:(?i)x", R"(re:\bx)", R"(re:(.)\1)",
        "re:[[:alpha:]]", "re:[]a]", R"(re:[\]]x)", R"(re:x\)", "re:a\n"}) {
    EXPECT_NE(complaint([&] {
                without({entry}, kOfCompressedTensors);
              }).find("x: '" + entry + "' is not understood here"),
              std::string::npos)
        << entry;
  }
  EXPECT_NE(complaint([&] {
              without({"re:" + std::string(2000, 'a')}, kOfCompressedTensors);
            }).find("is not understood"),
            std::string::npos);
}

}  // namespace
}  // namespace thresher::checkpoint
