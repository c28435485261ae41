// SPDX-License-Identifier: Apache-2.0
// Any bytes at all, given to the readers of checkpoints, make a checkpoint or a thresher::Error.
// The input is tried as a whole file, as the header of one whose data is as long as the header
// says, as an index and as a config.json. Whatever opens is loaded, and every byte of it looked at.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "assert.hpp"
#include "checkpoint/config.hpp"
#include "checkpoint/shard_index.hpp"
#include "thresher/checkpoint.hpp"
#include "thresher/error.hpp"

namespace {

std::uint64_t seen = 0;

void look_at(const thresher::Nvfp4View& view) {
  const std::int64_t elements = view.rows * view.k_elements;
  for (std::int64_t i = 0; i < elements / 2; ++i) seen += view.codes[i];
  for (std::int64_t i = 0; i < elements / 16; ++i) seen += view.scales[i];
  THRESHER_ASSERT(elements == 0 || view.global_scale > 0);
}

template <class Call>
void expect_error_or_none(const Call& call) {
  try {
    call();
  } catch (const thresher::Error& error) {
    THRESHER_ASSERT(!std::string_view(error.what()).empty());
  }
}

void load_all(const thresher::Checkpoint& checkpoint) {
  for (const thresher::Tensor& tensor : checkpoint.tensors()) {
    const auto bytes = checkpoint.bytes(tensor);
    for (std::uint64_t i = 0; i < tensor.byte_count; ++i)
      seen += std::to_integer<int>(bytes.get()[i]);
    expect_error_or_none([&] { seen += checkpoint.values(tensor).size(); });
  }
  for (const thresher::CheckpointLayer& layer : checkpoint.layers()) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(layer.expert_count, 8); ++i) {
      expect_error_or_none([&] {
        const thresher::CheckpointExpert loaded = checkpoint.expert(layer, i);
        look_at(loaded.expert.gate);
        look_at(loaded.expert.up);
        look_at(loaded.expert.down);
        if (loaded.expert.down_bias != nullptr) seen += loaded.expert.down_bias[0] > 0;
      });
    }
    expect_error_or_none([&] { look_at(checkpoint.shared_expert(layer).expert.up); });
  }
}

// The bytes as a file that only this process sees.
void open_as_file(std::string_view bytes) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  THRESHER_ASSERT(descriptor >= 0);
  THRESHER_ASSERT(write(descriptor, bytes.data(), bytes.size()) ==
                  static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  // Read and not mapped: a sanitizer then sees the end of every piece.
  expect_error_or_none([&] { load_all(thresher::Checkpoint(path, {.mapped = false})); });
  close(descriptor);
}

// The largest number in the text, if it can be a size.
std::size_t data_bytes(std::string_view text) {
  constexpr std::size_t kBytesMax = 1 << 16;
  std::size_t largest = 0;
  std::size_t number = 0;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    number =
        is_digit ? std::min(10 * number + static_cast<std::size_t>(c - '0'), 2 * kBytesMax) : 0;
    if (number <= kBytesMax) largest = std::max(largest, number);
  }
  return largest;
}

std::string as_header(std::string_view json) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  file += json;
  file.append(data_bytes(json), '8');  // an E4M3 scale, and an F32 one, that is a good number
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  open_as_file(text);
  open_as_file(as_header(text));
  expect_error_or_none([&] { thresher::checkpoint::parse_shard_index(text, "fuzz.json"); });
  expect_error_or_none([&] {
    thresher::checkpoint::Config config = thresher::checkpoint::parse_config(text, "fuzz.json");
    thresher::checkpoint::add_quant_config(text, "fuzz.json", config);
  });
  return 0;
}
