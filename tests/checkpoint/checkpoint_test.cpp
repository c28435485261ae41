// SPDX-License-Identifier: Apache-2.0
// Folders, index files and single files; what is in none of them, twice in one, or elsewhere.
#include "thresher/checkpoint.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/hostile.hpp"
#include "checkpoint/sample.hpp"

namespace thresher::checkpoint {
namespace {

std::string open_complaint(const std::filesystem::path& path) {
  return complaint([&] { const Checkpoint opened(path); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CheckpointFiles, FolderIndexAndFileShowTheSame) {
  const Folder folder;
  folder.write("1.safetensors", safetensors({noisy("b", "U8", {3}, 8), noisy("x", "U8", {1}, 8)}));
  folder.write("2.safetensors", safetensors({noisy("a", "U8", {2}, 8), noisy("b", "U8", {9}, 8)}));
  const auto index =
      folder.write("model.safetensors.index.json",
                   R"({"metadata":{},"weight_map":{"b":"1.safetensors","a":"2.safetensors"}})");
  for (const std::filesystem::path& path : {folder.path(), index}) {
    const Checkpoint checkpoint(path);
    // What the index does not name is not there, and what two files hold comes from the one it
    // names.
    ASSERT_EQ(checkpoint.tensors().size(), 2u);
    EXPECT_EQ(checkpoint.tensors()[0].name, "a");
    EXPECT_EQ(checkpoint.tensors()[1].shape, std::vector<std::int64_t>{3});
    EXPECT_EQ(checkpoint.files().size(), 2u);
    EXPECT_EQ(checkpoint.find("x"), nullptr);
    const auto bytes = checkpoint.bytes(checkpoint.tensors()[1]);
    EXPECT_EQ(std::memcmp(bytes.get(), noise("b", 3).data(), 3), 0);
  }
  EXPECT_EQ(Checkpoint(folder.path() / "2.safetensors").tensors().size(), 2u);
}

TEST(CheckpointFiles, SeveralFilesWithoutAnIndexAreOneCheckpoint) {
  const Folder folder;
  folder.write("1.safetensors", safetensors({noisy("a", "U8", {3}, 8)}));
  folder.write("2.safetensors", safetensors({noisy("b", "U8", {3}, 8)}));
  EXPECT_EQ(Checkpoint(folder.path()).tensors().size(), 2u);
  folder.write("3.safetensors", safetensors({noisy("a", "U8", {3}, 8)}));
  EXPECT_EQ(open_complaint(folder.path()), "tensor 'a' is in 1.safetensors and in 3.safetensors");
}

TEST(CheckpointFiles, WhatIsNotThereIsNamed) {
  const Folder folder;
  EXPECT_TRUE(has(open_complaint(folder.path()), "has no .safetensors files"));
  EXPECT_TRUE(has(open_complaint(folder.path() / "nothing"), "there is no such file or folder"));
  folder.write("1.safetensors", safetensors({noisy("a", "U8", {3}, 8)}));
  const auto index = [&](const char* map) {
    folder.write("model.safetensors.index.json", std::string(R"({"weight_map":)") + map + "}");
    return open_complaint(folder.path());
  };
  EXPECT_EQ(index(R"({"b":"1.safetensors"})"),
            "1.safetensors: has no tensor 'b', which model.safetensors.index.json promises");
  EXPECT_TRUE(has(index(R"({"a":"2.safetensors"})"), "2.safetensors: cannot open it"));
  EXPECT_TRUE(has(index(R"({"a":"../1.safetensors"})"), "same folder"));
}

TEST(CheckpointFiles, WhatIsNoFileIsRefused) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder.path() / "pipe.safetensors").c_str(), 0600), 0);
  EXPECT_TRUE(has(open_complaint(folder.path() / "pipe.safetensors"), "is not a file"));
  std::filesystem::create_directory(folder.path() / "d.safetensors");
  EXPECT_TRUE(has(open_complaint(folder.path() / "d.safetensors"), "has no .safetensors files"));
}

// A folder of them: every one is refused by name, mapped and read, and none takes another along.
TEST(CheckpointFiles, HostileFilesAreRefused) {
  const Folder folder;
  for (const Hostile& hostile : hostile_files()) {
    folder.write(hostile.name + ".safetensors", hostile.bytes);
  }
  folder.write("good", safetensors({noisy("a", "U8", {3}, 8)}));
  for (const Hostile& hostile : hostile_files()) {
    const std::filesystem::path path = folder.path() / (hostile.name + ".safetensors");
    for (const bool mapped : {true, false}) {
      const std::string message = complaint([&] { const Checkpoint c(path, {.mapped = mapped}); });
      EXPECT_TRUE(has(message, hostile.name + ".safetensors: ")) << message;
      EXPECT_TRUE(has(message, hostile.complaint)) << message;
    }
  }
  EXPECT_EQ(Checkpoint(folder.path() / "good").tensors().size(), 1u);
}

TEST(CheckpointFiles, BadCompanyIsNamed) {
  const Folder folder;
  folder.write("1.safetensors", safetensors({noisy("a", "U8", {3}, 8)}));
  folder.write("config.json", "{");
  EXPECT_EQ(open_complaint(folder.path()), "config.json: byte 1: is not JSON");
  folder.write("config.json", "{}");
  folder.write("hf_quant_config.json", "[]");
  EXPECT_EQ(open_complaint(folder.path()), "hf_quant_config.json: is not an object");
}

// Read mode is for files that change: one that has become shorter is an error, where a mapped one
// would end the process.
TEST(CheckpointFiles, AFileThatShrinksIsAnErrorInReadMode) {
  const Folder folder;
  const auto path = folder.write("1.safetensors", safetensors({noisy("a", "U8", {9000}, 8)}));
  const Checkpoint checkpoint(path, {.mapped = false});
  std::filesystem::resize_file(path, 4096);
  EXPECT_TRUE(
      has(complaint([&] { checkpoint.bytes(*checkpoint.find("a")); }), "ends at byte 4096"));
}

// Experts for a layer, one at a time; the shared one after them.
TEST(CheckpointFiles, ASourceHandsOverARangeOfExperts) {
  std::vector<SampleTensor> tensors;
  const std::string module = "model.layers.0.mlp.";
  for (const char* name : {"experts.0", "experts.1", "experts.2", "shared_experts"}) {
    const float scale = static_cast<float>(tensors.size() + 1);
    add_matrix(tensors, true, module + name + ".gate_proj", 48, 32, scale, 0);
    add_matrix(tensors, true, module + name + ".up_proj", 48, 32, scale, 0);
    add_matrix(tensors, true, module + name + ".down_proj", 32, 48, scale, 0);
  }
  tensors.push_back(noisy(module + "gate.e_score_correction_bias", "F32", {3}, 32));
  const Folder folder;
  const Checkpoint checkpoint(folder.write("x.safetensors", safetensors(tensors)));
  const CheckpointLayer& layer = checkpoint.layers().at(0);
  const MoeSource source = checkpoint.source(layer, 1, 2, true);
  EXPECT_EQ(source.expert_count, 2);
  EXPECT_EQ(source.shared_count, 1);
  EXPECT_EQ(source.expert(0).up.global_scale, 10.0f);
  EXPECT_EQ(source.expert(1).up.global_scale, 19.0f);
  EXPECT_EQ(source.expert(2).up.global_scale, 28.0f);
  EXPECT_EQ(source.expert(2).input_scale, 1.0f);
  EXPECT_EQ(checkpoint.source(layer).expert_count, 3);
  EXPECT_TRUE(has(complaint([&] { checkpoint.source(layer, 2, 2); }), "2 experts from 2 on"));
  EXPECT_TRUE(has(complaint([&] { checkpoint.expert(layer, 3); }), "expert 3 is not in 0..2"));
}

}  // namespace
}  // namespace thresher::checkpoint
