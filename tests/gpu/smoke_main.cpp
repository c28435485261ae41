// SPDX-License-Identifier: Apache-2.0
// The run-time CUDA layer on a real GPU, in one program that needs nothing but itself, a driver and
// NVRTC: compile, cache, load, launch, time, capture, share, and fail in the ways a user meets.
//
//   smoke [--nvrtc FOLDER]... [--cache FOLDER]
//
// Prints a line per step and exits with 0 if all are right, 1 if one is wrong, 77 without a GPU.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/runtime/cubin_cache.hpp"
#include "gpu/runtime/device_report.hpp"
#include "gpu/runtime/graph.hpp"
#include "gpu/runtime/memory.hpp"
#include "gpu/runtime/module.hpp"

namespace thresher::gpu {
namespace {

constexpr int kExitSkipped = 77;
constexpr unsigned kThreads = 256;
constexpr int kValues = 1 << 20;

// The kernels wait for the one before them, so that dependent launches are right too.
constexpr const char* kSource = R"(
struct Args { float* x; float factor; int count; };

extern "C" __global__ void scale(const __grid_constant__ Args args) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < args.count) args.x[i] = args.x[i] * args.factor;
  asm volatile("griddepcontrol.launch_dependents;");
}

// Reverses each block's values through a large piece of shared memory.
extern "C" __global__ void reverse(float* x, int per_block) {
  extern __shared__ float values[];
  float* mine = x + blockIdx.x * per_block;
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) values[i] = mine[i];
  __syncthreads();
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) mine[i] = values[per_block - 1 - i];
}

// Which block of its cluster am I?
extern "C" __global__ void ranks(unsigned* out) {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) out[blockIdx.x] = rank;
}

extern "C" __global__ void nothing() {}
)";

// The same on both sides; the driver compares its size with the kernel's.
struct Args {
  float* x;
  float factor;
  int count;
};

int failure_count = 0;

void report(bool right, const std::string& step, const std::string& detail = {}) {
  if (!right) ++failure_count;
  fmt::print("{:<5} {:<44} {}\n", right ? "ok" : "WRONG", step, detail);
  std::fflush(stdout);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const std::string& step, const std::string& words,
                  const std::function<void()>& action) {
  const std::string message = error_of(action);
  report(message.find(words) != std::string::npos, step, message);
}

std::vector<float> numbers() {
  std::vector<float> values(kValues);
  for (int i = 0; i < kValues; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i);
  return values;
}

bool all_scaled(const DeviceBuffer& buffer, float factor) {
  std::vector<float> values(kValues, -1.0f);
  buffer.copy_out(bytes_of(values));
  for (int i = 0; i < kValues; ++i) {
    if (values[static_cast<std::size_t>(i)] != static_cast<float>(i) * factor) return false;
  }
  return true;
}

// The other side of a shared buffer. It must start before this process touches the driver, which
// does not survive a fork.
class OtherProcess {
 public:
  OtherProcess() {
    if (pipe(to_) != 0 || pipe(from_) != 0) std::abort();
    child_ = fork();
    if (child_ != 0) return;
    close(to_[1]);
    cuda::IpcMemoryHandle handle{};
    if (read(to_[0], &handle, sizeof(handle)) != sizeof(handle)) _exit(0);
    const std::string answer = error_of([&] { halve(handle); });
    const bool told = write(from_[1], answer.data(), answer.size()) >= 0;
    _exit(told ? 0 : 1);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() {
    close(to_[1]);
    waitpid(child_, nullptr, 0);
  }

  // Lets it work on the buffer; "no error", or what went wrong there.
  std::string work_on(const DeviceBuffer& buffer) const {
    const cuda::IpcMemoryHandle handle = buffer.share();
    if (write(to_[1], &handle, sizeof(handle)) != sizeof(handle)) return "the pipe is broken";
    char answer[1024] = {};
    const ssize_t bytes = read(from_[0], answer, sizeof(answer) - 1);
    return bytes > 0 ? answer : "no answer";
  }

 private:
  // Copies the first half of the buffer over the second one.
  static void halve(const cuda::IpcMemoryHandle& handle) {
    if (find_driver().driver == nullptr) throw Error(find_driver().why_not);
    const Device device(*find_driver().driver);
    const MappedBuffer mapped(device, handle);
    const Context& context = *device.context();
    const std::size_t bytes = kValues * sizeof(float) / 2;
    context.check(context.driver().cuMemcpyDtoDAsync(mapped.address() + bytes, mapped.address(),
                                                     bytes, nullptr),
                  "cuMemcpyDtoDAsync");
    device.synchronize();
  }

  int to_[2] = {};
  int from_[2] = {};
  pid_t child_ = -1;
};

class Smoke {
 public:
  Smoke(const Driver& driver, const Compiler& compiler, const CubinCache& cache)
      : driver_(driver), compiler_(compiler), cache_(cache), device_(driver) {}

  void run(const OtherProcess& other) {
    compile();
    const Module module(device_, compilation_.cubin, "smoke.cu");
    scale_.emplace(module.kernel("scale"));
    eager();
    timed();
    graph();
    dependent();
    streams();
    shared_memory(module.kernel("reverse"));
    clusters(module.kernel("ranks"));
    launch_cost(module.kernel("nothing"));
    share(other);
    errors(module);
  }

 private:
  void compile() {
    const CompileRequest request{
        .name = "smoke.cu", .source = kSource, .architecture = device_.properties().architecture()};
    const Compilation fresh = compiler_.compile(request);
    report(fresh.kernels.size() == 4, "compiled", fmt::format("{:.3f} s", fresh.seconds));
    for (const KernelResources& kernel : fresh.kernels) fmt::print("      {}\n", to_string(kernel));
    for (const std::string& note : fresh.notes) fmt::print("      note: {}\n", note);

    cache_.get(compiler_, request, driver_version(driver_));
    const auto start = std::chrono::steady_clock::now();
    compilation_ = cache_.get(compiler_, request, driver_version(driver_));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    report(compilation_.cubin == fresh.cubin, "through the cache",
           fmt::format("{:.6f} s{}", elapsed.count(),
                       compilation_.from_cache ? "" : " (no cache here, compiled again)"));
  }

  LaunchShape shape(bool is_dependent = false) const {
    return {.grid = {kValues / kThreads}, .block = {kThreads}, .dependent = is_dependent};
  }
  void launch(const Stream& stream, float factor, bool is_dependent = false) const {
    const Args args{.x = buffer_.pointer<float>(), .factor = factor, .count = kValues};
    scale_->launch(stream, shape(is_dependent), args);
  }
  void restart() const { buffer_.copy_in(bytes_of(numbers_)); }

  void eager() {
    restart();
    const LaunchCounts before = device_.launch_counts();
    launch(stream_, 2.0f);
    device_.synchronize();
    report(all_scaled(buffer_, 2.0f), "eager launch");
    report((device_.launch_counts() - before) == LaunchCounts{.kernels = 1}, "launches counted");
    fmt::print("      {}, {} blocks per SM\n", to_string(scale_->resources()),
               scale_->blocks_per_sm(kThreads, 0));
    const KernelResources of_driver = scale_->resources();
    const auto same = [&](const KernelResources& one) {
      return one.kernel == "scale" && one.register_count == of_driver.register_count;
    };
    report(std::any_of(compilation_.kernels.begin(), compilation_.kernels.end(), same),
           "driver and compiler agree on registers");
  }

  void timed() {
    constexpr int kLaunches = 100;
    restart();
    const Event start(device_);
    const Event end(device_);
    for (int i = 0; i < 10; ++i) launch(stream_, 1.0f);
    start.record(stream_);
    for (int i = 0; i < kLaunches; ++i) launch(stream_, 1.0f);
    end.record(stream_);
    end.synchronize();
    const double each_us = microseconds_between(start, end) / kLaunches;
    report(end.reached() && each_us > 0 && all_scaled(buffer_, 1.0f), "timed with events",
           fmt::format("{:.2f} us per launch, {:.0f} GB/s", each_us,
                       2e-3 * kValues * sizeof(float) / each_us));
  }

  void graph() {
    constexpr int kLaunches = 100;
    restart();
    const Graph ten = Graph::capture(stream_, [&] {
      for (int i = 0; i < 9; ++i) launch(stream_, 1.0f);
      launch(stream_, 3.0f);
    });
    report(ten.kernel_count() == 10 && all_scaled(buffer_, 1.0f), "captured, nothing executed");
    ten.launch(stream_);
    report(all_scaled(buffer_, 3.0f), "graph launch");

    const Graph ones = Graph::capture(stream_, [&] {
      for (int i = 0; i < kLaunches; ++i) launch(stream_, 1.0f);
    });
    const Event start(device_);
    const Event end(device_);
    ones.launch(stream_);
    start.record(stream_);
    ones.launch(stream_);
    end.record(stream_);
    end.synchronize();
    report(all_scaled(buffer_, 3.0f), "timed in a graph",
           fmt::format("{:.2f} us per kernel", microseconds_between(start, end) / kLaunches));
    report(error_of([&] { Graph::capture(stream_, [&] { throw Error("on purpose"); }); }) ==
               "on purpose",
           "an abandoned capture");
    restart();
    launch(stream_, 5.0f);
    report(all_scaled(buffer_, 5.0f), "the stream works after it");
  }

  void dependent() {
    restart();
    for (int i = 0; i < 8; ++i) launch(stream_, 2.0f, true);
    report(all_scaled(buffer_, 256.0f), "dependent launches");
    restart();
    const Graph graph = Graph::capture(stream_, [&] {
      for (int i = 0; i < 8; ++i) launch(stream_, 2.0f, true);
    });
    graph.launch(stream_);
    report(graph.kernel_count() == 8 && all_scaled(buffer_, 256.0f), "dependent in a graph");
  }

  // Forked and joined by events, eagerly and in a graph.
  void streams() {
    const Stream other(device_);
    const Event forked(device_, Event::Use::kOrder);
    const Event joined(device_, Event::Use::kOrder);
    const auto work = [&] {
      launch(stream_, 2.0f);
      forked.record(stream_);
      other.wait(forked);
      launch(other, 3.0f);
      joined.record(other);
      stream_.wait(joined);
      launch(stream_, 5.0f);
    };
    restart();
    work();
    report(all_scaled(buffer_, 30.0f), "two streams, ordered by events");
    restart();
    const Graph graph = Graph::capture(stream_, work);
    graph.launch(stream_);
    report(graph.kernel_count() == 3 && all_scaled(buffer_, 30.0f), "two streams in a graph");
  }

  void shared_memory(Kernel reverse) {
    const std::size_t bytes = device_.properties().shared_bytes_per_block_max;
    const int per_block = static_cast<int>(bytes / sizeof(float));
    const LaunchShape reversed{
        .grid = {2}, .block = {kThreads}, .shared_bytes = static_cast<unsigned>(bytes)};
    restart();
    expect_error("too much shared memory", "allow_shared_bytes",
                 [&] { reverse.launch(stream_, reversed, buffer_.pointer<float>(), per_block); });
    reverse.allow_shared_bytes(bytes);
    reverse.launch(stream_, reversed, buffer_.pointer<float>(), per_block);
    std::vector<float> values(2);
    buffer_.copy_out(bytes_of(values), bytes);  // where the second block begins
    report(values[0] == static_cast<float>(2 * per_block - 1), "all the shared memory of a block",
           fmt::format("{} bytes", bytes));
    expect_error("more shared memory than there is", "has at most",
                 [&] { reverse.allow_shared_bytes(bytes + 1); });
  }

  void clusters(const Kernel& ranks) {
    const DeviceBuffer out(device_, 8 * sizeof(unsigned));
    ranks.launch(stream_, {.grid = {8}, .block = {32}, .cluster = {4}}, out.pointer<unsigned>());
    std::vector<unsigned> values(8, 99);
    out.copy_out(bytes_of(values));
    report(values == std::vector<unsigned>{0, 1, 2, 3, 0, 1, 2, 3}, "clusters of four blocks");
  }

  // What the host pays for a launch through this layer.
  void launch_cost(const Kernel& nothing) {
    constexpr int kLaunches = 1000;
    for (int i = 0; i < 100; ++i) nothing.launch(stream_, {});
    stream_.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) nothing.launch(stream_, {});
    const std::chrono::duration<double, std::micro> host = std::chrono::steady_clock::now() - start;
    stream_.synchronize();
    report(true, "an empty launch", fmt::format("{:.2f} us on the host", host.count() / kLaunches));
  }

  void share(const OtherProcess& other) {
    restart();
    device_.synchronize();
    const std::string answer = other.work_on(buffer_);
    std::vector<float> values(kValues);
    buffer_.copy_out(bytes_of(values));
    report(values[kValues / 2 + 7] == 7.0f, "another process wrote into the buffer", answer);
  }

  void errors(const Module& module) {
    expect_error("a kernel that is not there", "no kernel of this name",
                 [&] { module.kernel("absent"); });
    expect_error("a parameter of the wrong size", "declare the same type",
                 [&] { scale_->launch(stream_, shape(), 1.0f); });
    expect_error("an empty grid", "nothing to launch",
                 [&] { scale_->launch(stream_, {.grid = {0}}, Args{}); });
    expect_error("a block too large", "at most",
                 [&] { scale_->launch(stream_, {.block = {2048}}, Args{}); });
    expect_error("more memory than there is", "MiB are free",
                 [&] { DeviceBuffer(device_, std::size_t{1} << 50); });
    const std::vector<std::byte> garbage(4096);
    expect_error("a cubin of zeros", "cuModuleLoadData",
                 [&] { Module(device_, garbage, "zeros"); });
    const CompileRequest wrong{.name = "wrong.cu",
                               .source = "int f() { return nothing; }",
                               .architecture = device_.properties().architecture()};
    expect_error("a source that does not compile", "identifier \"nothing\" is undefined",
                 [&] { compiler_.compile(wrong); });
    expect_error("synchronising inside a capture", "a capture takes",
                 [&] { Graph::capture(stream_, [&] { stream_.synchronize(); }); });
    restart();
    launch(stream_, 2.0f);
    report(all_scaled(buffer_, 2.0f), "the device works after all of them");
    // Last, since it takes the context with it.
    expect_error("a kernel that writes nowhere", "compute-sanitizer", [&] {
      const Args nowhere{.x = nullptr, .factor = 1.0f, .count = kValues};
      scale_->launch(stream_, shape(), nowhere);
      stream_.synchronize();
    });
  }

  const Driver& driver_;
  const Compiler& compiler_;
  const CubinCache& cache_;
  Device device_;
  Stream stream_{device_};
  DeviceBuffer buffer_{device_, kValues * sizeof(float)};
  std::vector<float> numbers_ = numbers();
  Compilation compilation_;
  std::optional<Kernel> scale_;
};

int smoke(const std::vector<std::string>& arguments) {
  const OtherProcess other;
  std::vector<std::string> folders;
  CubinCache cache;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (arguments[i] == "--nvrtc") folders.push_back(arguments[i + 1]);
    if (arguments[i] == "--cache") cache = CubinCache(arguments[i + 1]);
  }
  const DriverLookup& driver = find_driver();
  const NvrtcLookup nvrtc =
      find_nvrtc({.folders = folders,
                  .driver_version = driver.driver != nullptr ? driver_version(*driver.driver) : 0});
  for (const ReportLine& line : device_report(driver, nvrtc)) {
    fmt::print("{:<14} {}\n", line.name, line.value);
  }
  if (driver.driver == nullptr || !nvrtc.nvrtc.has_value()) return kExitSkipped;
  const Compiler compiler(*nvrtc.nvrtc);
  Smoke(*driver.driver, compiler, cache).run(other);
  fmt::print("{}\n", failure_count == 0 ? "all right" : fmt::format("{} wrong", failure_count));
  return failure_count == 0 ? 0 : 1;
}

}  // namespace
}  // namespace thresher::gpu

int main(int argc, char** argv) {
  try {
    return thresher::gpu::smoke({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print("WRONG {}\n", error.what());
    return 1;
  }
}
