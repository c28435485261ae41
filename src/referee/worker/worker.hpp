// SPDX-License-Identifier: Apache-2.0
// Our own worker: answers the referee's requests with a variant, a library or the kernels of a CUDA
// source, on the descriptors that every contestant inherits (protocol.hpp).
#pragma once

#include <memory>

#include "referee/protocol.hpp"
#include "referee/sandbox/job.hpp"

namespace thresher::referee {

// Returns when the referee says quit or is gone, or says what it should not.
void serve(const Job& job);

// What a worker does with each request. Failures are Errors, problems a contestant will not run
// Unsupported (host.hpp).
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
