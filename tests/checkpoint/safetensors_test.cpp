// SPDX-License-Identifier: Apache-2.0
// Headers, good and hostile. Every row of the hostile ones is a file too, of the folder that
// checkpoint_test.cpp opens.
#include "checkpoint/safetensors.hpp"

#include <gtest/gtest.h>

#include <ctime>

#include "checkpoint/hostile.hpp"
#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

Header parse(const std::string& file) {
  const std::uint64_t length = header_bytes(std::string_view(file).substr(0, 8), file.size(), "f");
  return parse_header(std::string_view(file).substr(8, length), file.size(), "f");
}

TEST(Safetensors, SaysWhereTensorsLie) {
  const std::vector<SampleTensor> sample = {noisy("b", "U8", {3}, 8), noisy("a", "F32", {2, 1}, 32),
                                            noisy("empty", "BF16", {0, 7}, 16),
                                            noisy("scalar", "F32", {}, 32)};
  const std::string file = safetensors(sample);
  const Header header = parse(file);
  ASSERT_EQ(header.tensors.size(), sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Tensor& tensor = header.tensors[i];
    EXPECT_EQ(tensor.name, sample[i].name);
    EXPECT_EQ(tensor.dtype, sample[i].dtype);
    EXPECT_EQ(tensor.shape, sample[i].shape);
    EXPECT_EQ(file.substr(tensor.offset, tensor.byte_count), sample[i].bytes);
  }
}

TEST(Safetensors, MetadataAndUnknownFieldsAreRead) {
  const std::string json =
      R"({"__metadata__":{"format":"pt","a":"b"},"t":{"x":[{"dtype":[]},null],"dtype":"U8","y":{"z":1},)"
      R"("shape":[1],"data_offsets":[0,1],"w":true}}   )";
  const Header header = parse(with_length(json) + "x");
  EXPECT_EQ(header.metadata.at("format"), "pt");
  EXPECT_EQ(header.metadata.at("a"), "b");
  ASSERT_EQ(header.tensors.size(), 1u);
  EXPECT_EQ(header.tensors[0].offset, 8 + json.size());
}

TEST(Safetensors, FourBitValuesFillBytes) {
  EXPECT_EQ(parse(safetensors({noisy("t", "F4", {2, 3}, 4)})).tensors[0].byte_count, 3u);
}

TEST(Safetensors, HostileHeadersAreRefusedByName) {
  for (const Hostile& hostile : hostile_files()) {
    const std::string message = complaint([&] { parse(hostile.bytes); });
    EXPECT_NE(message.find(hostile.complaint), std::string::npos)
        << hostile.name << ": " << message;
    EXPECT_EQ(message.rfind("f: ", 0), 0u) << hostile.name << ": " << message;
  }
}

// As many tensors as a large model has. The bound on the CPU's time is wide enough for sanitizers,
// and too narrow for work that grows with the square of their number.
TEST(Safetensors, TensorsInTheirTensOfThousands) {
  constexpr int kCount = 92000;
  std::vector<SampleTensor> tensors;
  for (int i = 0; i < kCount; ++i) {
    tensors.push_back({"model.layers." + std::to_string(i), "U8", {1}, "x"});
  }
  const std::string file = safetensors(tensors);
  const std::clock_t begin = std::clock();
  const Header header = parse(file);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10);
  ASSERT_EQ(std::ssize(header.tensors), kCount);
  EXPECT_EQ(header.tensors.back().offset, file.size() - 1);
}

// What is cut off anywhere is missing; what is added belongs to nobody.
TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string file = safetensors({noisy("a", "U8", {3}, 8), noisy("b", "F32", {2}, 32)});
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(complaint([&] { parse(file.substr(0, size)); }), "no error") << size;
  }
  EXPECT_NE(complaint([&] { parse(file + "x"); }).find("belong to no tensor"), std::string::npos);
}

}  // namespace
}  // namespace thresher::checkpoint
