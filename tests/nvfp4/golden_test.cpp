// SPDX-License-Identifier: Apache-2.0
// The rules against what the makers' own programs wrote: golden/makers.py made golden/makers.json.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "nvfp4/quantize_rules.hpp"

namespace thresher::nvfp4 {
namespace {

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

template <typename Value>
void expect_makers_bytes(const nlohmann::json& golden) {
  const std::string bytes = bytes_of_hex(golden["values"]);
  std::vector<Value> values(bytes.size() / sizeof(Value));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  const std::int64_t rows = golden["rows"];
  const std::int64_t k_elements = golden["k_elements"];
  for (const auto& [maker, rules] : {std::pair("modelopt", Rules::kModelOpt),
                                     std::pair("compressed-tensors", Rules::kCompressedTensors)}) {
    SCOPED_TRACE(maker);
    const nlohmann::json& made = golden["makers"][maker];
    const float amax = finite_amax("m", std::span<const Value>(values), k_elements, 1);
    const float global = global_scale_for<Value>(rules, amax);
    float expected_global = 0;
    std::memcpy(&expected_global, bytes_of_hex(made["global_scale"]).data(), sizeof(float));
    EXPECT_EQ(global, expected_global);
    std::vector<std::uint8_t> codes(values.size() / 2);
    std::vector<std::uint8_t> scales(values.size() / kBlockElements);
    quantize_by_rules<Value>({.values = values,
                              .out = {codes.data(), scales.data(), rows, k_elements},
                              .rules = rules,
                              .global_scale = global});
    EXPECT_EQ(text_of(codes), bytes_of_hex(made["codes"]));
    EXPECT_EQ(text_of(scales), bytes_of_hex(made["scales"]));
  }
}

TEST(Golden, BytesAreTheMakers) {
  std::ifstream file(THRESHER_SOURCE_DIR "/tests/nvfp4/golden/makers.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  ASSERT_EQ(golden["cases"].size(), 3u);
  for (const nlohmann::json& one : golden["cases"]) {
    SCOPED_TRACE(one["dtype"].get<std::string>());
    if (one["dtype"] == "F32") {
      expect_makers_bytes<float>(one);
    } else if (one["dtype"] == "F16") {
      expect_makers_bytes<Fp16>(one);
    } else {
      expect_makers_bytes<Bf16>(one);
    }
  }
}

}  // namespace
}  // namespace thresher::nvfp4
