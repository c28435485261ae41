// SPDX-License-Identifier: Apache-2.0
#include "referee/worker_main.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <new>

#include "referee/host.hpp"
#include "referee/protocol.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

// One of the referee's arenas, seen from here.
class Mapping {
 public:
  Mapping(int fd, std::int64_t bytes, int protection) : bytes_(bytes) {
    // All pages at once: a first touch inside a timed call would be timed as well.
    void* mapped = mmap(nullptr, static_cast<std::size_t>(bytes), protection,
                        MAP_SHARED | MAP_POPULATE, fd, 0);
    if (mapped == MAP_FAILED) throw Error(fmt::format("mmap: {}", std::strerror(errno)));
    data_ = static_cast<std::byte*>(mapped);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(data_, static_cast<std::size_t>(bytes_)); }

  template <typename Value>
  Value* at(std::int64_t offset, std::int64_t count) const {
    const std::int64_t value_bytes = sizeof(Value);
    if (offset < 0 || count < 0 || offset > bytes_ || count > (bytes_ - offset) / value_bytes) {
      throw Error(fmt::format("offset {} lies outside the arena of {} bytes", offset, bytes_));
    }
    return reinterpret_cast<Value*>(data_ + offset);
  }

 private:
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

struct PreparedProblem {
  Problem problem;
  std::unique_ptr<Prepared> prepared;
  std::vector<HostedCall> calls;  // kept, so that a run allocates nothing
};

class Worker {
 public:
  Worker(const Job& job, const Request& hello)
      : input_(kInputFd, hello.input_bytes, PROT_READ),
        output_(kOutputFd, hello.output_bytes, PROT_READ | PROT_WRITE),
        host_(job.kind == JobKind::kLibrary ? make_library_host(job.library, hello.thread_count)
                                            : make_variant_host(job.variant, hello.thread_count)) {}

  void prepare(const Request& request) {
    PreparedProblem entry;
    entry.problem = {.name = fmt::format("problem {}", request.id),
                     .op = request.op,
                     .activations = request.activations,
                     .output = request.output,
                     .groups = {}};
    std::vector<HostedWeights> weights;
    const auto* records = input_.at<const GroupRecord>(request.table_offset, request.group_count);
    for (std::int64_t g = 0; g < request.group_count; ++g) {
      const GroupRecord& record = records[g];
      const Group group{.m = record.m, .n = record.n, .k = record.k};
      entry.problem.groups.push_back(group);
      HostedWeights one;
      one.b = matrix(record.b_codes, record.b_scales, group.n, group.k, record.b_global_scale);
      if (request.op == Op::kDual) {
        one.b_up =
            matrix(record.up_codes, record.up_scales, group.n, group.k, record.up_global_scale);
      }
      weights.push_back(one);
    }
    entry.calls.resize(weights.size());
    entry.prepared = host_->prepare(entry.problem, weights);
    problems_[request.id] = std::move(entry);
  }

  void run(const Request& request) {
    const auto found = problems_.find(request.id);
    if (found == problems_.end()) throw Error(fmt::format("no problem {}", request.id));
    PreparedProblem& entry = found->second;
    const auto group_count = static_cast<std::int64_t>(entry.calls.size());
    const auto* records = input_.at<const CallRecord>(request.table_offset, group_count);
    for (std::int64_t g = 0; g < group_count; ++g) {
      entry.calls[g] = call(entry.problem, entry.problem.groups[g], records[g]);
    }
    entry.prepared->run(entry.calls);
  }

  void release(const Request& request) { problems_.erase(request.id); }

 private:
  Nvfp4View matrix(std::int64_t codes, std::int64_t scales, std::int64_t rows, std::int64_t k,
                   float global_scale) const {
    return {.codes = input_.at<const std::uint8_t>(codes, rows * k / 2),
            .scales = input_.at<const std::uint8_t>(scales, rows * k / kBlockElements),
            .rows = rows,
            .k_elements = k,
            .global_scale = global_scale};
  }

  HostedCall call(const Problem& problem, const Group& group, const CallRecord& record) const {
    HostedCall result;
    result.alpha = record.alpha;
    result.alpha_up = record.alpha_up;
    if (group.m == 0) return result;
    if (problem.activations == Activations::kNvfp4) {
      result.a = matrix(record.a, record.a_scales, group.m, group.k, record.a_global_scale);
    } else {
      result.a16 = input_.at<const std::uint16_t>(record.a, group.m * group.k);
    }
    const std::int64_t element_count = (group.m - 1) * record.c_stride + group.n;
    result.c = output_.at<std::byte>(record.c, element_count * bytes_per_element(problem.output));
    result.c_stride_elements = record.c_stride;
    return result;
  }

  Mapping input_;
  Mapping output_;
  std::unique_ptr<Host> host_;
  std::map<std::int64_t, PreparedProblem> problems_;
};

std::optional<Request> read_request(LineReader& reader) {
  while (true) {
    if (const std::optional<std::string> line = reader.next_line()) return parse_request(*line);
    char buffer[kLineBytesMax];
    const ssize_t count = read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || reader.overlong()) return std::nullopt;
    reader.feed({buffer, static_cast<std::size_t>(count)});
  }
}

void answer(const Reply& reply) {
  const std::string line = to_line(reply);
  const ssize_t written = write(STDOUT_FILENO, line.data(), line.size());
  static_cast<void>(written);  // with the referee gone the next read ends the worker
}

// Does the work of one request and turns whatever goes wrong into an answer.
template <typename Work>
void answer_with(std::uint64_t token, const Work& work) {
  try {
    work();
    answer({.kind = ReplyKind::kDone, .token = token});
  } catch (const Unsupported& unsupported) {
    answer({.kind = ReplyKind::kUnsupported, .text = unsupported.why});
  } catch (const std::bad_alloc&) {
    answer({.kind = ReplyKind::kError, .text = "not enough memory"});
  } catch (const std::exception& error) {
    answer({.kind = ReplyKind::kError, .text = error.what()});
  }
}

}  // namespace

void serve(const Job& job) {
  LineReader reader;
  const std::optional<Request> hello = read_request(reader);
  if (!hello || hello->kind != RequestKind::kHello) return;
  std::unique_ptr<Worker> worker;
  try {
    worker = std::make_unique<Worker>(job, *hello);
  } catch (const std::exception& error) {
    answer({.kind = ReplyKind::kError, .text = error.what()});
    return;
  }
  answer({.kind = ReplyKind::kHello, .version = kProtocolVersion});

  while (const std::optional<Request> request = read_request(reader)) {
    if (request->kind == RequestKind::kPrepare) {
      answer_with(request->token, [&] { worker->prepare(*request); });
    } else if (request->kind == RequestKind::kRun) {
      answer_with(request->token, [&] { worker->run(*request); });
    } else if (request->kind == RequestKind::kRelease) {
      worker->release(*request);
    } else {
      return;
    }
  }
}

}  // namespace thresher::referee
