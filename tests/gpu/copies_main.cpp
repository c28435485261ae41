// SPDX-License-Identifier: Apache-2.0
// Copies by tensor maps and to several blocks on a real GPU, from Hopper on: the driver's maps put
// every byte where the emulator's do.
//
//   copies [--nvrtc FOLDER]...
//
// Prints a line per step and exits with 0 if all are right, 1 if one is wrong, 77 without a GPU.
#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "copy_kernels.hpp"
#include "emulator/tensor_map.hpp"
#include "gpu/runtime/compiler.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"
#include "gpu/tensor_maps.hpp"

namespace thresher::gpu {
namespace {

constexpr int kSkippedExit = 77;
constexpr u32 kMatrixRows = 200;
constexpr u32 kMatrixRowBytes = 320;

int wrong_count = 0;

void report(bool right, const std::string& step) {
  if (!right) ++wrong_count;
  fmt::print("{:<5} {}\n", right ? "ok" : "WRONG", step);
}

class Copies {
 public:
  Copies(const Driver& driver, const Compiler& compiler)
      : device_(driver),
        stream_(device_),
        host_(kMatrixRows * kMatrixRowBytes),
        matrix_(device_, host_.size()) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = static_cast<u8>(i * 7 + i / 256);
    matrix_.copy_in(std::as_bytes(std::span(host_)));
    const Compilation compilation =
        compiler.compile({.name = "copies.cu",
                          .source = testing::kCopyKernels,
                          .headers = headers_of(testing::kCopyKernels, kKernelSources),
                          .architecture = device_.properties().architecture()});
    module_.emplace(device_, compilation.cubin, "copies.cu");
  }

  void run() {
    for (u32 swizzle = 0; swizzle < 4; ++swizzle) {
      for (const bool in_memory : {false, true}) {
        boxes(static_cast<hw::Swizzle>(swizzle), 64, 5, in_memory);
        boxes(static_cast<hw::Swizzle>(swizzle), 256, kMatrixRows - 7, in_memory);
      }
    }
    shares();
    shared_boxes();
    exchange();
  }

 private:
  void boxes(hw::Swizzle swizzle, u32 byte, u32 row, bool in_memory) {
    emulator::Box box{
        .map = hw::tensor_map_fields(matrix_.address(), kMatrixRows, kMatrixRowBytes, 64, swizzle),
        .byte = byte,
        .row = row};
    if (swizzle != hw::Swizzle::kNone) box.map.box[0] = 16u << static_cast<u32>(swizzle);
    const hw::TensorMap map = encode(device_.context()->driver(), box.map);
    const DeviceBuffer there(device_, sizeof map);
    there.copy_in(std::as_bytes(std::span(&map, 1)));
    const DeviceBuffer out(device_, box.bytes());
    const hw::TensorMap* const used = in_memory ? there.pointer<hw::TensorMap>() : nullptr;
    module_->kernel("boxes").launch(stream_, shape(1), map, used, out.pointer<u8>(), byte, row,
                                    box.bytes());
    std::vector<u8> expected(box.bytes());
    box.map.address = reinterpret_cast<u64>(host_.data());
    box.bring(expected.data());
    report(bytes_in(out) == expected,
           fmt::format("swizzle of {} bytes, byte {}, row {}, map {}",
                       swizzle == hw::Swizzle::kNone ? 0 : box.map.box[0], byte, row,
                       in_memory ? "in memory" : "as parameter"));
  }

  void shares() {
    constexpr u32 kBytes = testing::kSharedCopyBytes;
    const DeviceBuffer out(device_, 2 * kBytes);
    module_->kernel("shares").launch(stream_, shape(2), matrix_.pointer<u8>(), out.pointer<u8>(),
                                     kBytes);
    std::vector<u8> expected(host_.begin(), host_.begin() + kBytes);
    expected.insert(expected.end(), host_.begin(), host_.begin() + kBytes);
    report(bytes_in(out) == expected, "two blocks, each of which brings half to both");
  }

  void shared_boxes() {
    emulator::Box box{.map = hw::tensor_map_fields(matrix_.address(), kMatrixRows, kMatrixRowBytes,
                                                   16, hw::Swizzle::k128)};
    const hw::TensorMap map = encode(device_.context()->driver(), box.map);
    const u32 bytes = box.bytes();
    const DeviceBuffer out(device_, std::size_t{4} * bytes);
    module_->kernel("shared_boxes").launch(stream_, shape(2), map, out.pointer<u8>(), bytes);
    box.map.address = reinterpret_cast<u64>(host_.data());
    std::vector<u8> expected(std::size_t{4} * bytes);
    for (u32 i = 0; i < 4; ++i) {
      box.row = u64{16} * (i % 2);
      box.bring(expected.data() + std::size_t{i} * bytes);
    }
    report(bytes_in(out) == expected, "two blocks, each of which brings a box to both");
  }

  // What a block stored in the other comes back to it, and is read there by the other.
  void exchange() {
    constexpr u32 kBytes = testing::kSharedCopyBytes;
    const DeviceBuffer out(device_, 2 * kBytes);
    module_->kernel("exchange")
        .launch(stream_, shape(2), matrix_.pointer<u8>(), out.pointer<u8>(), kBytes);
    std::vector<u8> expected(host_.begin() + kBytes, host_.begin() + 2 * kBytes);
    expected.insert(expected.end(), host_.begin(), host_.begin() + kBytes);
    report(bytes_in(out) == expected, "two blocks that store, copy and read in each other");
  }

  static LaunchShape shape(unsigned blocks) {
    return {.grid = {blocks},
            .block = {testing::kCopyThreads},
            .cluster = {blocks},
            .shared_bytes = testing::kCopySharedBytes};
  }

  std::vector<u8> bytes_in(const DeviceBuffer& buffer) const {
    device_.synchronize();
    std::vector<u8> bytes(buffer.bytes());
    buffer.copy_out(std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  Device device_;
  Stream stream_;
  std::vector<u8> host_;
  DeviceBuffer matrix_;
  std::optional<Module> module_;
};

int run(const std::vector<std::string>& folders) {
  const DriverLookup& found = find_driver();
  if (found.driver == nullptr) {
    fmt::print("skipped: {}\n", found.why_not);
    return kSkippedExit;
  }
  const NvrtcLookup nvrtc = find_nvrtc({.folders = folders});
  if (!nvrtc.nvrtc) {
    fmt::print("skipped: {}\n", nvrtc.why_not);
    return kSkippedExit;
  }
  const Device device(*found.driver);
  if (device.properties().compute_major < 9) {
    fmt::print("skipped: tensor maps and clusters need Hopper\n");
    return kSkippedExit;
  }
  Copies(*found.driver, Compiler(*nvrtc.nvrtc)).run();
  return wrong_count == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thresher::gpu

int main(int argc, char** argv) {
  std::vector<std::string> folders;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--nvrtc") == 0) folders.emplace_back(argv[i + 1]);
  }
  try {
    return thresher::gpu::run(folders);
  } catch (const thresher::Error& error) {
    fmt::print("WRONG {}\n", error.what());
    return 1;
  }
}
