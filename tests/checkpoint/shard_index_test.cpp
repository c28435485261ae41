// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_index.hpp"

#include <gtest/gtest.h>

#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

TEST(ShardIndex, SaysWhichFileHoldsWhat) {
  const ShardIndex index = parse_shard_index(
      R"({"metadata":{"total_size":1e9,"x":[{"weight_map":[]}]},)"
      R"("weight_map":{"a":"1.safetensors","b":"2.safetensors","c":"1.safetensors"},"y":null})",
      "i");
  EXPECT_EQ(index.files, (std::vector<std::string>{"1.safetensors", "2.safetensors"}));
  ASSERT_EQ(index.tensors.size(), 3u);
  EXPECT_EQ(index.tensors[2], std::pair(std::string("c"), std::size_t{0}));
}

struct BadIndex {
  const char* json;
  const char* complaint;
};

TEST(ShardIndex, RefusesWhatItCannotMean) {
  const BadIndex rows[] = {
      {"", "not JSON"},
      {"[]", "is not an object"},
      {"4", "is not an object"},
      {"{}", "has no weight_map"},
      {R"({"weight_map":4})", "weight_map is not an object"},
      {R"({"weight_map":"a"})", "weight_map is not an object"},
      {R"({"weight_map":[]})", "weight_map is not an object"},
      {R"({"weight_map":{"a":4}})", "tensor 'a': its file is not a text"},
      {R"({"weight_map":{"a":["b"]}})", "tensor 'a': its file is not a text"},
      {R"({"weight_map":{"a":{"b":"c"}}})", "tensor 'a': its file is not a text"},
      {R"({"weight_map":{"a":"b","a":"c"}})", "'a' stands twice"},
      {R"({"weight_map":{},"weight_map":{}})", "weight_map stands twice"},
      {R"({"weight_map":{"a":"../b"}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":"/etc/passwd"}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":"x/b"}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":"x\\b"}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":".."}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":""}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":"b\u0000c"}})", "not the name of a file in the same folder"},
      {R"({"weight_map":{"a":"b"}} x)", "not JSON"},
  };
  for (const BadIndex& row : rows) {
    const std::string message = complaint([&] { parse_shard_index(row.json, "i"); });
    EXPECT_NE(message.find(row.complaint), std::string::npos) << row.json << ": " << message;
  }
}

}  // namespace
}  // namespace thresher::checkpoint
