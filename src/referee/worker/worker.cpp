// SPDX-License-Identifier: Apache-2.0
#include "referee/worker/worker.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "referee/venue.hpp"
#include "referee/worker/host.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

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
  Reply reply{.kind = ReplyKind::kDone, .token = token};
  try {
    work(reply);
  } catch (const Unsupported& unsupported) {
    reply = {.kind = ReplyKind::kUnsupported, .text = unsupported.why};
  } catch (const std::bad_alloc&) {
    reply = {.kind = ReplyKind::kError, .text = "not enough memory"};
  } catch (const std::exception& error) {
    reply = {.kind = ReplyKind::kError, .text = error.what()};
  }
  answer(reply);
}

// False: the referee has nothing more to ask.
bool do_as_asked(Worker& worker, const Request& request) {
  switch (request.kind) {
    case RequestKind::kDevice:
      answer_with(request.token, [&](Reply&) { worker.open_device(request); });
      return true;
    case RequestKind::kPrepare:
      answer_with(request.token, [&](Reply&) { worker.prepare(request); });
      return true;
    case RequestKind::kRun:
      answer_with(request.token, [&](Reply&) { worker.run(request); });
      return true;
    case RequestKind::kBatch:
      answer_with(request.token, [&](Reply&) { worker.bind(request); });
      return true;
    case RequestKind::kGo:
      answer_with(request.token, [&](Reply& reply) { reply.report = worker.go(request); });
      return true;
    case RequestKind::kRelease:
      worker.release(request);
      return true;
    case RequestKind::kHello:
    case RequestKind::kQuit:
      break;
  }
  return false;
}

}  // namespace

void Worker::run(const Request&) { throw Error("a worker for a GPU takes batches"); }
void Worker::open_device(const Request&) { throw Error("a worker for the CPU has no device"); }
void Worker::bind(const Request&) { throw Error("a worker for the CPU takes no batches"); }
BatchReport Worker::go(const Request&) { throw Error("a worker for the CPU takes no batches"); }

void serve(const Job& job) {
  // A contestant's printf shall be heard in the call that it is in, and not when a buffer is full.
  setvbuf(stdout, nullptr, _IONBF, 0);
  LineReader reader;
  const std::optional<Request> hello = read_request(reader);
  if (!hello || hello->kind != RequestKind::kHello) return;
  const Venue& venue = venue_of(job.backend);
  std::unique_ptr<Worker> worker;
  try {
    worker = venue.make_worker(job, *hello);
  } catch (const std::exception& error) {
    answer({.kind = ReplyKind::kError, .text = error.what()});
    return;
  }
  answer({.kind = ReplyKind::kHello, .version = kProtocolVersion});
  while (const std::optional<Request> request = read_request(reader)) {
    if (!do_as_asked(*worker, *request)) break;
  }
  // The process ends here, and with it everything it has.
  if (venue.leaves_worker_behind) static_cast<void>(worker.release());
}

}  // namespace thresher::referee
