// SPDX-License-Identifier: Apache-2.0
#include "gpu/runtime/graph.hpp"

#include <vector>

namespace thresher::gpu {
namespace {

using Recording = Owned<cuda::Graph, &Driver::cuGraphDestroy>;

// A capture under way. Leaving without end() abandons it, so that the stream is usable again.
class Capture {
 public:
  explicit Capture(const Stream& stream) : stream_(stream) {
    stream.context()->make_current();
    stream.context()->check(
        driver().cuStreamBeginCapture(stream.handle(), cuda::kCaptureThreadLocal),
        "cuStreamBeginCapture");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (ended_) return;
    cuda::Graph graph = nullptr;
    driver().cuStreamEndCapture(stream_.handle(), &graph);
    if (graph != nullptr) driver().cuGraphDestroy(graph);
  }

  Recording end() {
    ended_ = true;
    cuda::Graph graph = nullptr;
    const cuda::Result result = driver().cuStreamEndCapture(stream_.handle(), &graph);
    Recording recording(stream_.context(), graph);
    stream_.context()->check(result, "cuStreamEndCapture");
    return recording;
  }

 private:
  const Driver& driver() const { return stream_.context()->driver(); }
  const Stream& stream_;
  bool ended_ = false;
};

std::int64_t count_kernels(const Recording& recording) {
  const Context& context = *recording.context();
  const Driver& driver = context.driver();
  std::size_t node_count = 0;
  context.check(driver.cuGraphGetNodes(recording.handle(), nullptr, &node_count),
                "cuGraphGetNodes");
  std::vector<cuda::GraphNode> nodes(node_count);
  if (node_count == 0) return 0;
  context.check(driver.cuGraphGetNodes(recording.handle(), nodes.data(), &node_count),
                "cuGraphGetNodes");
  std::int64_t kernel_count = 0;
  for (const cuda::GraphNode node : nodes) {
    int type = -1;
    context.check(driver.cuGraphNodeGetType(node, &type), "cuGraphNodeGetType");
    if (type == cuda::kGraphNodeKernel) ++kernel_count;
  }
  return kernel_count;
}

}  // namespace

Graph Graph::capture(const Stream& stream, const std::function<void()>& record) {
  Capture capture(stream);
  record();
  const Recording recording = capture.end();

  Graph graph;
  graph.kernel_count_ = count_kernels(recording);
  const Context& context = *stream.context();
  cuda::GraphExec exec = nullptr;
  context.check(context.driver().cuGraphInstantiate(&exec, recording.handle(), 0),
                "cuGraphInstantiate");
  graph.owned_ = {stream.context(), exec};
  // Otherwise the first launch would pay for it.
  context.check(context.driver().cuGraphUpload(exec, stream.handle()), "cuGraphUpload");
  return graph;
}

void Graph::launch(const Stream& stream) const {
  const Context& context = *owned_.context();
  context.make_current();
  context.check(context.driver().cuGraphLaunch(owned_.handle(), stream.handle()), "cuGraphLaunch");
  owned_.context()->graph_launches.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace thresher::gpu
