// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/mman.h>

#include <map>

#include "referee/worker/arena_view.hpp"
#include "referee/worker/host.hpp"
#include "referee/worker/worker.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

struct PreparedProblem {
  Problem problem;
  std::unique_ptr<Prepared> prepared;
  std::vector<HostedCall> calls;  // kept, so that a run allocates nothing
};

class CpuWorker : public Worker {
 public:
  CpuWorker(const Job& job, const Request& hello)
      : input_memory_(kInputFd, hello.input_bytes, PROT_READ),
        output_memory_(kOutputFd, hello.output_bytes, PROT_READ | PROT_WRITE),
        engine_({.thread_count = job.kind == JobKind::kLibrary ? 1 : hello.thread_count}),
        host_(job.kind == JobKind::kLibrary ? make_library_host(job.library, hello.thread_count)
                                            : make_variant_host(engine_, job.variant)) {}

  void prepare(const Request& request) override {
    PreparedProblem entry{.problem = read_problem(input_, request)};
    std::vector<HostedWeights> weights;
    const auto* records = input_.at<const GroupRecord>(request.table_offset, request.group_count);
    for (std::int64_t g = 0; g < request.group_count; ++g) {
      weights.push_back(input_.weights(request.op, records[g]));
    }
    entry.calls.resize(weights.size());
    entry.prepared = host_->prepare(entry.problem, weights);
    problems_[request.id] = std::move(entry);
  }

  void run(const Request& request) override {
    const auto found = problems_.find(request.id);
    if (found == problems_.end()) throw Error(fmt::format("no problem {}", request.id));
    PreparedProblem& entry = found->second;
    const auto group_count = static_cast<std::int64_t>(entry.calls.size());
    const auto* records = input_.at<const CallRecord>(request.table_offset, group_count);
    for (std::int64_t g = 0; g < group_count; ++g) {
      entry.calls[g] =
          read_call(input_, output_, entry.problem, entry.problem.groups[g], records[g]);
    }
    entry.prepared->run(entry.calls);
  }

  void release(const Request& request) override { problems_.erase(request.id); }

 private:
  const Mapping input_memory_;
  const Mapping output_memory_;
  const ArenaView input_ = input_memory_.view();
  const ArenaView output_ = output_memory_.view();
  Engine engine_;
  std::unique_ptr<Host> host_;
  std::map<std::int64_t, PreparedProblem> problems_;
};

}  // namespace

std::unique_ptr<Worker> make_cpu_worker(const Job& job, const Request& hello) {
  return std::make_unique<CpuWorker>(job, hello);
}

}  // namespace thresher::referee
