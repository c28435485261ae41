// SPDX-License-Identifier: Apache-2.0
// docs/checkpoints.md, experts from a file to an engine: one expert of a Mixtral, all of one value.
#include <cstdio>
#include <fstream>
#include <string>
#include <thresher/thresher.hpp>

using namespace thresher;
// head

namespace {

std::filesystem::path write_checkpoint() {
  std::string json = "{";
  std::string data;
  const auto add = [&](const std::string& name, const char* type, const char* shape,
                       std::size_t bytes) {
    const std::string begin = std::to_string(data.size());
    data.append(bytes, '8');  // codes, E4M3 scales and an F32 scale that are good numbers
    json += (json.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + type +
            "\",\"shape\":" + shape + ",\"data_offsets\":[" + begin + "," +
            std::to_string(data.size()) + "]}";
  };
  for (const char* projection : {"w1", "w2", "w3"}) {
    const std::string module =
        std::string("model.layers.0.block_sparse_moe.experts.0.") + projection;
    add(module + ".weight", "U8", "[32,16]", 512);
    add(module + ".weight_scale", "F8_E4M3", "[32,2]", 64);
    add(module + ".weight_scale_2", "F32", "[]", 4);
  }
  json += "}";
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(json.size() >> (8 * i));
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / "thresher_snippet.safetensors";
  std::ofstream(path, std::ios::binary) << length << json << data;
  return path;
}

}  // namespace

int main() {
  const Engine engine;
  const std::filesystem::path path = write_checkpoint();
  if (Checkpoint(path).layers().at(0).expert_count != 1)
    return std::fprintf(stderr, "no expert\n"), 1;

  // body

  std::filesystem::remove(path);
  return 0;
}
