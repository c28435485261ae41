// SPDX-License-Identifier: Apache-2.0
// A CUDA graph: work recorded once from a stream and launched as one.
#pragma once

#include <cstdint>
#include <functional>

#include "gpu/runtime/context.hpp"
#include "gpu/runtime/stream.hpp"

namespace thresher::gpu {

class Graph {
 public:
  // Runs `record`, which queues work on `stream`, without executing that work. Other streams take
  // part by waiting for an event of `stream`, and must be joined again by an event that `stream`
  // waits for. The buffers and kernels that `record` names must outlive the graph. What `record`
  // throws ends the capture and comes through.
  static Graph capture(const Stream& stream, const std::function<void()>& record);

  void launch(const Stream& stream) const;

  // Kernels one launch runs, as the driver counts them.
  std::int64_t kernel_count() const { return kernel_count_; }

 private:
  Graph() = default;
  Owned<cuda::GraphExec, &Driver::cuGraphExecDestroy> owned_;
  std::int64_t kernel_count_ = 0;
};

}  // namespace thresher::gpu
