// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on the device: load a cubin, find its kernels, launch them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gpu/runtime/context.hpp"
#include "gpu/runtime/device.hpp"
#include "gpu/runtime/resources.hpp"
#include "gpu/runtime/stream.hpp"

namespace thresher::gpu {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;

  std::size_t count() const { return std::size_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

struct LaunchShape {
  Dim3 grid;     // blocks
  Dim3 block;    // threads
  Dim3 cluster;  // blocks; anything but 1 x 1 x 1 launches clusters
  unsigned shared_bytes = 0;
  // Programmatic dependent launch: may start before the kernel ahead of it in the stream has ended,
  // and must itself wait for that one's results (hw::wait_for_previous_kernel).
  bool dependent = false;
};

class Kernel {
 public:
  Kernel(Kernel&&) noexcept = default;
  Kernel& operator=(Kernel&&) noexcept = default;

  const std::string& name() const { return name_; }
  // As the driver knows them: without spills.
  KernelResources resources() const;
  int threads_per_block_max() const;
  // How many blocks of this shape one SM holds at a time; 0 if not even one fits.
  int blocks_per_sm(std::size_t threads_per_block, std::size_t shared_bytes) const;

  // Without this a launch gets at most 48 KiB of dynamic shared memory. Throws Error naming the
  // device's limit.
  void allow_shared_bytes(std::size_t bytes);
  // An SM divides its memory into cache and shared memory anew only when no block is on it. A
  // kernel that asks for all of it as shared memory, though it uses none, lets blocks that do start
  // beside its own.
  void leave_shared_memory();

  // Queues the kernel. `arguments` are its parameters in order and by their very types; numbers and
  // sizes of parameters are checked where the driver can tell them.
  template <typename... Arguments>
  void launch(const Stream& stream, const LaunchShape& shape, const Arguments&... arguments) const {
    static_assert((std::is_trivially_copyable_v<Arguments> && ...));
    const std::array<Argument, sizeof...(Arguments)> list{
        Argument{const_cast<Arguments*>(&arguments), sizeof(Arguments)}...};
    launch_arguments(stream, shape, list);
  }

  struct Argument {
    void* address = nullptr;  // the driver copies from here; it never writes
    std::size_t bytes = 0;
  };
  // For arguments known only at run time.
  void launch_arguments(const Stream& stream, const LaunchShape& shape,
                        std::span<const Argument> arguments) const;

 private:
  friend class Module;
  using OwnedModule = Owned<cuda::Module, &Driver::cuModuleUnload>;
  Kernel(std::shared_ptr<const OwnedModule> module, std::string name, DeviceProperties properties);

  void learn_parameters();
  int attribute(cuda::FunctionAttribute which) const;
  void check_arguments(std::span<const Argument> arguments) const;
  [[noreturn]] void fail_launch(cuda::Result result, const Stream& stream,
                                const LaunchShape& shape) const;

  std::shared_ptr<const OwnedModule> module_;
  std::string name_;
  DeviceProperties device_;
  cuda::Function function_ = nullptr;
  bool knows_parameters_ = false;
  std::vector<std::size_t> parameter_bytes_;
  std::size_t shared_bytes_allowed_ = 0;
};

// Kernels keep their module loaded, so a Module may go as soon as its kernels are found.
class Module {
 public:
  // `name` stands for the cubin in messages.
  Module(const Device& device, std::span<const std::byte> cubin, std::string name);
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;

  // Throws Error if there is none of this name; templates need extern "C" or their mangled name.
  Kernel kernel(const std::string& kernel_name) const;

 private:
  std::shared_ptr<const Kernel::OwnedModule> owned_;
  std::string name_;
  DeviceProperties device_;
};

}  // namespace thresher::gpu
