// SPDX-License-Identifier: Apache-2.0
// What our own worker does with each request, on the CPU or on a GPU. The loop that reads requests
// and writes answers is worker_main.cpp.
#pragma once

#include <memory>

#include "referee/protocol.hpp"
#include "referee/sandbox/job.hpp"

namespace thresher::referee {

// Failures are Errors, problems a contestant will not run Unsupported (host.hpp).
class Worker {
 public:
  virtual ~Worker() = default;
  virtual void prepare(const Request& request) = 0;
  virtual void release(const Request& request) = 0;
  // The CPU's.
  virtual void run(const Request& request);
  // A GPU's.
  virtual void open_device(const Request& request);
  virtual void bind(const Request& request);
  virtual BatchReport go(const Request& request);
};

std::unique_ptr<Worker> make_cpu_worker(const Job& job, const Request& hello);
std::unique_ptr<Worker> make_gpu_worker(const Job& job, const Request& hello);

}  // namespace thresher::referee
