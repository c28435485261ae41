// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/module.hpp"

#include <fmt/format.h>

#include "assert.hpp"
#include "thresher/error.hpp"

namespace thresher::gpu {
namespace {

constexpr std::size_t kParameterCountMax = 64;

std::string text(const Dim3& dim) { return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z); }

}  // namespace

Module::Module(const Device& device, std::span<const std::byte> cubin, std::string name)
    : name_(std::move(name)), device_(device.properties()) {
  if (cubin.empty()) throw Error(fmt::format("{}: an empty cubin cannot be loaded", name_));
  const Context& context = *device.context();
  context.make_current();
  cuda::Module handle = nullptr;
  context.check(context.driver().cuModuleLoadData(&handle, cubin.data()), [&] {
    return fmt::format("cuModuleLoadData({}, {} bytes, for {})", name_, cubin.size(),
                       device_.architecture());
  });
  owned_ = std::make_shared<const Kernel::OwnedModule>(device.context(), handle);
}

Kernel Module::kernel(const std::string& kernel_name) const {
  THRESHER_ASSERT(owned_ != nullptr);  // not after a move
  return {owned_, kernel_name, device_};
}

Kernel::Kernel(std::shared_ptr<const OwnedModule> module, std::string name,
               DeviceProperties properties)
    : module_(std::move(module)), name_(std::move(name)), device_(std::move(properties)) {
  const Context& context = *module_->context();
  const Driver& driver = context.driver();
  context.make_current();
  const cuda::Result result =
      driver.cuModuleGetFunction(&function_, module_->handle(), name_.c_str());
  if (result == cuda::kNotFound) {
    context.fail(
        result, fmt::format("cuModuleGetFunction({})", name_),
        "the source has no kernel of this name; without extern \"C\" it has a mangled one");
  }
  context.check(result, [&] { return fmt::format("cuModuleGetFunction({})", name_); });
  shared_bytes_allowed_ = static_cast<std::size_t>(attribute(cuda::kFunctionMaxDynamicSharedBytes));

  learn_parameters();
}

// The driver answers for parameter after parameter, and kInvalidValue behind the last one.
void Kernel::learn_parameters() {
  const Driver& driver = module_->driver();
  if (driver.cuFuncGetParamInfo == nullptr) return;
  cuda::Result result = cuda::kSuccess;
  while (result == cuda::kSuccess && parameter_bytes_.size() <= kParameterCountMax) {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    result = driver.cuFuncGetParamInfo(function_, parameter_bytes_.size(), &offset, &bytes);
    if (result == cuda::kSuccess) parameter_bytes_.push_back(bytes);
  }
  knows_parameters_ = result == cuda::kInvalidValue;
}

int Kernel::attribute(cuda::FunctionAttribute which) const {
  const Context& context = *module_->context();
  context.make_current();
  int value = 0;
  context.check(context.driver().cuFuncGetAttribute(&value, which, function_), [&] {
    return fmt::format("cuFuncGetAttribute({}, {})", name_, static_cast<int>(which));
  });
  return value;
}

KernelResources Kernel::resources() const {
  return {.kernel = name_,
          .register_count = attribute(cuda::kFunctionRegisters),
          .stack_bytes = attribute(cuda::kFunctionLocalBytes),
          .static_shared_bytes = attribute(cuda::kFunctionSharedBytes),
          .spill_store_bytes = {},
          .spill_load_bytes = {}};
}

int Kernel::threads_per_block_max() const { return attribute(cuda::kFunctionMaxThreadsPerBlock); }

int Kernel::blocks_per_sm(std::size_t threads_per_block, std::size_t shared_bytes) const {
  const Context& context = *module_->context();
  context.make_current();
  int count = 0;
  context.check(context.driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &count, function_, static_cast<int>(threads_per_block), shared_bytes),
                [&] {
                  return fmt::format(
                      "cuOccupancyMaxActiveBlocksPerMultiprocessor({}, {} threads, {} bytes of "
                      "shared memory)",
                      name_, threads_per_block, shared_bytes);
                });
  return count;
}

void Kernel::allow_shared_bytes(std::size_t bytes) {
  const Context& context = *module_->context();
  context.make_current();
  const cuda::Result result = context.driver().cuFuncSetAttribute(
      function_, cuda::kFunctionMaxDynamicSharedBytes, static_cast<int>(bytes));
  if (result != cuda::kSuccess) {
    context.fail(result,
                 fmt::format("cuFuncSetAttribute({}, {} bytes of shared memory)", name_, bytes),
                 fmt::format("a block of {} has at most {} bytes, {} of which this kernel takes "
                             "statically: fewer stages or smaller tiles take less",
                             device_.name, device_.shared_bytes_per_block_max,
                             attribute(cuda::kFunctionSharedBytes)));
  }
  shared_bytes_allowed_ = bytes;
}

void Kernel::leave_shared_memory() {
  const Context& context = *module_->context();
  context.make_current();
  constexpr int kAll = 100;
  context.check(
      context.driver().cuFuncSetAttribute(function_, cuda::kFunctionPreferredSharedCarveout, kAll),
      [&] { return fmt::format("cuFuncSetAttribute({}, carve-out)", name_); });
}

// The driver copies as many bytes as the kernel declares from wherever the argument lies, so a
// wrong size would read beside it.
void Kernel::check_arguments(std::span<const Argument> arguments) const {
  if (!knows_parameters_) return;
  if (arguments.size() != parameter_bytes_.size()) {
    throw Error(fmt::format("kernel {} takes {} parameters, not {}", name_, parameter_bytes_.size(),
                            arguments.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].bytes == parameter_bytes_[i]) continue;
    throw Error(fmt::format(
        "kernel {}: parameter {} is {} bytes long on the device and {} here; host and device must "
        "declare the same type",
        name_, i, parameter_bytes_[i], arguments[i].bytes));
  }
}

void Kernel::launch_arguments(const Stream& stream, const LaunchShape& shape,
                              std::span<const Argument> arguments) const {
  THRESHER_ASSERT(module_ != nullptr);  // not after a move
  check_arguments(arguments);
  std::array<void*, kParameterCountMax> addresses;
  if (arguments.size() > addresses.size()) {
    throw Error(fmt::format("kernel {}: {} parameters, at most {} can be passed", name_,
                            arguments.size(), addresses.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) addresses[i] = arguments[i].address;

  std::array<cuda::LaunchAttribute, 2> attributes{};
  unsigned attribute_count = 0;
  if (shape.cluster.count() != 1) {
    cuda::LaunchAttribute& cluster = attributes[attribute_count++];
    cluster.id = cuda::kClusterDimension;
    cluster.value.cluster = {shape.cluster.x, shape.cluster.y, shape.cluster.z};
  }
  if (shape.dependent) {
    cuda::LaunchAttribute& dependent = attributes[attribute_count++];
    dependent.id = cuda::kProgrammaticStreamSerialization;
    dependent.value.allowed = 1;
  }
  const cuda::LaunchConfig config{.grid_x = shape.grid.x,
                                  .grid_y = shape.grid.y,
                                  .grid_z = shape.grid.z,
                                  .block_x = shape.block.x,
                                  .block_y = shape.block.y,
                                  .block_z = shape.block.z,
                                  .shared_bytes = shape.shared_bytes,
                                  .stream = stream.handle(),
                                  .attributes = attributes.data(),
                                  .attribute_count = attribute_count};
  Context& context = *stream.context();
  context.make_current();
  const cuda::Result result =
      context.driver().cuLaunchKernelEx(&config, function_, addresses.data(), nullptr);
  if (result != cuda::kSuccess) [[unlikely]]
    fail_launch(result, stream, shape);
  context.kernel_launches.fetch_add(1, std::memory_order_relaxed);
}

void Kernel::fail_launch(cuda::Result result, const Stream& stream,
                         const LaunchShape& shape) const {
  const Context& context = *module_->context();
  const std::string call =
      fmt::format("cuLaunchKernelEx({}, grid {}, block {}, {} bytes of shared memory{})", name_,
                  text(shape.grid), text(shape.block), shape.shared_bytes,
                  shape.dependent ? ", dependent" : "");
  std::string advice;
  if (!is_sticky(result)) {
    const auto threads_max = static_cast<std::size_t>(threads_per_block_max());
    if (stream.is_of_another_device()) {
      advice = "the stream was made on another device: give one of this device";
    } else if (shape.grid.count() == 0 || shape.block.count() == 0) {
      advice = "nothing to launch: skip empty work";
    } else if (shape.shared_bytes > shared_bytes_allowed_) {
      advice = fmt::format("the kernel is allowed {} bytes: ask for more with allow_shared_bytes",
                           shared_bytes_allowed_);
    } else if (shape.block.count() > threads_max) {
      advice = fmt::format("this kernel's blocks have at most {} threads", threads_max);
    } else if (result == cuda::kLaunchOutOfResources) {
      advice = fmt::format("{} threads of {} registers do not fit the {} registers of an SM",
                           shape.block.count(), attribute(cuda::kFunctionRegisters),
                           device_.registers_per_sm);
    }
  }
  context.fail(result, call, advice);
}

}  // namespace thresher::gpu
