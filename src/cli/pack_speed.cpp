// SPDX-License-Identifier: Apache-2.0
#include "cli/pack_speed.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "parallel.hpp"
#include "thresher/checkpoint.hpp"

namespace thresher::cli {
namespace {

constexpr std::uint64_t kPieceBytes = 8 << 20;

// Runs `work` and returns the seconds it took.
template <class Work>
double timed(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A file that nobody has mapped leaves the system's cache when it is asked to.
void forget(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    fdatasync(descriptor);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
  }
}

// The tensors of a layer's experts.
std::vector<Tensor> tensors_of(const Checkpoint& checkpoint, const CheckpointLayer& layer) {
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : checkpoint.tensors()) {
    if (tensor.name.starts_with(layer.prefix + ".")) tensors.push_back(tensor);
  }
  // As they lie on the disk.
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::pair(a.file_index, a.offset) < std::pair(b.file_index, b.offset);
  });
  return tensors;
}

// Tensors that follow each other are one read.
void read_all(const std::vector<std::filesystem::path>& files, const std::vector<Tensor>& tensors) {
  std::vector<char> memory(kPieceBytes);
  for (std::size_t first = 0; first < tensors.size();) {
    std::uint64_t end = tensors[first].offset + tensors[first].byte_count;
    std::size_t last = first + 1;
    while (last < tensors.size() && tensors[last].file_index == tensors[first].file_index &&
           tensors[last].offset == end) {
      end += tensors[last++].byte_count;
    }
    const int descriptor = open(files[tensors[first].file_index].c_str(), O_RDONLY | O_CLOEXEC);
    for (std::uint64_t at = tensors[first].offset; descriptor >= 0 && at < end;) {
      const ssize_t got =
          pread(descriptor, memory.data(), std::min(kPieceBytes, end - at), static_cast<off_t>(at));
      if (got <= 0) break;
      at += static_cast<std::uint64_t>(got);
    }
    if (descriptor >= 0) close(descriptor);
    first = last;
  }
}

void copy_all(const Checkpoint& checkpoint, const std::vector<Tensor>& tensors) {
  std::vector<std::unique_ptr<std::byte[]>> copies(tensors.size());
  for_each_in_parallel(static_cast<std::int64_t>(tensors.size()), 0, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    // Not zeroed: that would be a pass of its own.
    copies[at] = std::unique_ptr<std::byte[]>(new std::byte[tensors[at].byte_count]);
    std::memcpy(copies[at].get(), checkpoint.bytes(tensors[at]).get(), tensors[at].byte_count);
  });
}

class PackTrial {
 public:
  PackTrial(const std::filesystem::path& path, const std::string& device)
      : path_(path), engine_({.device = device}) {}

  PackSpeed run() {
    PackSpeed speed{.device = engine_.description()};
    const std::size_t count = Checkpoint(path_).layers().size();
    for (std::size_t i = 0; i < count; ++i) add(i, speed);
    if (speed.layer_count > 0) return speed;
    throw Error(path_.string() + ": has no NVFP4 experts that can be packed");
  }

 private:
  void add(std::size_t index, PackSpeed& speed) const {
    std::vector<Tensor> tensors;
    std::vector<std::filesystem::path> files;
    {
      const Checkpoint checkpoint(path_);
      const CheckpointLayer& layer = checkpoint.layers()[index];
      if (layer.format == CheckpointFormat::kNone || !layer.faults.empty()) return;
      tensors = tensors_of(checkpoint, layer);
      files = checkpoint.files();
      ++speed.layer_count;
      speed.expert_count += layer.expert_count;
    }
    for (const Tensor& tensor : tensors) speed.bytes += static_cast<double>(tensor.byte_count);
    forget(files);
    speed.read_s += timed([&] { read_all(files, tensors); });
    forget(files);
    speed.pack_cold_s += pack(index);
    speed.pack_s += pack(index);
    const Checkpoint checkpoint(path_);
    speed.copy_s += timed([&] { copy_all(checkpoint, tensors); });
  }

  double pack(std::size_t index) const {
    const Checkpoint checkpoint(path_);
    const CheckpointLayer& layer = checkpoint.layers()[index];
    MoeOptions options = layer.options;
    options.top_k = std::max<std::int64_t>(1, options.top_k);
    return timed([&] { const MoeLayer packed(engine_, checkpoint.source(layer), options); });
  }

  const std::filesystem::path& path_;
  const Engine engine_;
};

}  // namespace

PackSpeed measure_pack_speed(const std::filesystem::path& path, const std::string& device) {
  return PackTrial(path, device).run();
}

}  // namespace thresher::cli
