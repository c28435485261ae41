// SPDX-License-Identifier: Apache-2.0
// Our worker on a GPU: maps the referee's device memory, binds batches, and times them with events
// on the device. Its host code is trusted; kernels of a CUDA source are not.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "gpu/runtime/gpu.hpp"
#include "gpu/runtime/memory.hpp"
#include "measure/gpu_delay.hpp"
#include "referee/worker/arena_view.hpp"
#include "referee/worker/host.hpp"
#include "referee/worker/worker.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr std::int64_t kCallsMax = 4096;

// One of the referee's buffers on the device.
class DeviceMapping {
 public:
  DeviceMapping(const gpu::Device& device, const DeviceHandle& handle, std::int64_t bytes)
      : buffer_(device, to_cuda(handle)), bytes_(bytes) {}

  ArenaView view() const { return {buffer_.pointer<std::byte>(), bytes_}; }

 private:
  static gpu::cuda::IpcMemoryHandle to_cuda(const DeviceHandle& handle) {
    gpu::cuda::IpcMemoryHandle result;
    static_assert(sizeof result.bytes == std::tuple_size_v<DeviceHandle>);
    std::memcpy(result.bytes, handle.data(), sizeof result.bytes);
    return result;
  }

  gpu::MappedBuffer buffer_;
  std::int64_t bytes_;
};

struct GpuPreparedProblem {
  Problem problem;
  std::unique_ptr<Prepared> prepared;
};

class GpuWorker : public Worker {
 public:
  GpuWorker(const Job& job, const Request& hello)
      : shared_(kInputFd, hello.input_bytes, PROT_READ),
        engine_({.device = fmt::format("gpu:{}", job.cuda.device_index),
                 .cache_folder = job.cuda.kernel_folder,
                 .compiler_folders = job.cuda.compiler_folders}),
        delay_(gpu::gpu_of(engine_)),
        stream_(device()),
        begin_(device()),
        end_(device()),
        host_(job.kind == JobKind::kCuda ? make_cuda_host(engine_, job)
                                         : make_variant_host(engine_, job.variant)) {}

  void open_device(const Request& request) override {
    input_.emplace(device(), request.input_handle, request.input_bytes);
    output_.emplace(device(), request.output_handle, request.output_bytes);
  }

  void prepare(const Request& request) override {
    if (!input_) throw Error("nobody has said where device memory is");
    GpuPreparedProblem entry{.problem = read_problem(shared_.view(), request)};
    std::vector<HostedWeights> weights;
    const auto* records =
        shared_.view().at<const GroupRecord>(request.table_offset, request.group_count);
    for (std::int64_t g = 0; g < request.group_count; ++g) {
      HostedWeights& one = weights.emplace_back(shared_.view().weights(request.op, records[g]));
      const HostedWeights device = input_->view().weights(request.op, records[g]);
      one.device_b = device.b;
      one.device_b_up = device.b_up;
    }
    entry.prepared = host_->prepare(entry.problem, weights);
    problems_[request.id] = std::move(entry);
  }

  void bind(const Request& request) override {
    bound_.clear();
    if (request.call_count > kCallsMax) throw Error("a batch of too many calls");
    const auto* list =
        shared_.view().at<const BatchRecord>(request.table_offset, request.call_count);
    for (std::int64_t i = 0; i < request.call_count; ++i) {
      const auto found = problems_.find(list[i].id);
      if (found == problems_.end()) throw Error(fmt::format("no problem {}", list[i].id));
      bound_.push_back(bound(found->second, list[i].table_offset));
    }
  }

  BatchReport go(const Request& request) override {
    if (request.head_start_ns > 0) delay_.enqueue(stream_, request.head_start_ns);
    begin_.record(stream_);
    if (request.delay_ns > 0) delay_.enqueue(stream_, request.delay_ns);
    const gpu::LaunchCounts before = device().launch_counts();
    for (const std::unique_ptr<Bound>& call : bound_) call->enqueue(stream_.handle());
    const gpu::LaunchCounts launched = device().launch_counts() - before;
    end_.record(stream_);
    end_.synchronize();
    return {.ns = std::llround(1e3 * gpu::microseconds_between(begin_, end_)),
            .kernel_count = launched.kernels,
            .graph_count = launched.graphs};
  }

  void release(const Request& request) override {
    bound_.clear();  // may be of this problem
    problems_.erase(request.id);
  }

 private:
  const gpu::Device& device() const { return gpu::gpu_of(engine_).device; }

  std::unique_ptr<Bound> bound(GpuPreparedProblem& entry, std::int64_t table_offset) const {
    const auto group_count = static_cast<std::int64_t>(entry.problem.groups.size());
    const auto* records = shared_.view().at<const CallRecord>(table_offset, group_count);
    std::vector<HostedCall> calls;
    for (std::int64_t g = 0; g < group_count; ++g) {
      calls.push_back(read_call(input_->view(), output_->view(), entry.problem,
                                entry.problem.groups[g], records[g]));
    }
    return entry.prepared->bind(calls);
  }

  const Mapping shared_;
  Engine engine_;
  measure::GpuDelay delay_;
  gpu::Stream stream_;
  gpu::Event begin_;
  gpu::Event end_;
  std::unique_ptr<Host> host_;
  std::optional<DeviceMapping> input_;
  std::optional<DeviceMapping> output_;
  std::map<std::int64_t, GpuPreparedProblem> problems_;
  std::vector<std::unique_ptr<Bound>> bound_;
};

}  // namespace

std::unique_ptr<Worker> make_gpu_worker(const Job& job, const Request& hello) {
  return std::make_unique<GpuWorker>(job, hello);
}

}  // namespace thresher::referee
