// SPDX-License-Identifier: Apache-2.0
#include "bench/peers.hpp"

#include "bench/cublas.hpp"
#include "bench/gpu_peers.hpp"
#include "bench/peer.hpp"
#include "gpu/runtime/gpu.hpp"
#include "measure/guarded_outputs.hpp"
#include "thresher/error.hpp"

namespace thresher::bench {
namespace {

Problem with_fp32_output(Problem problem) {
  problem.output = Output::kFp32;
  return problem;
}

// A peer on the CPU with its guarded outputs.
struct HostEntry {
  using Make = std::unique_ptr<Peer> (*)(const Openblas&, const PeerSetup&);

  HostEntry(Make make, const Openblas& openblas, const Problem& asked, const Inputs& inputs,
            int thread_count)
      : problem(with_fp32_output(asked)), outputs(problem, {}) {
    std::vector<float*> c;
    for (std::size_t g = 0; g < problem.groups.size(); ++g) {
      c.push_back(static_cast<float*>(outputs.c(g)));
    }
    peer = make(openblas, {.problem = problem,
                           .inputs = inputs,
                           .outputs = std::move(c),
                           .thread_count = thread_count});
  }

  Problem problem;  // with FP32 outputs, see bench/peer.hpp
  measure::GuardedOutputs outputs;
  std::unique_ptr<Peer> peer;
};

class HostPeers : public Peers {
 public:
  HostPeers(const Openblas& openblas, int thread_count)
      : openblas_(openblas), thread_count_(thread_count) {}

  PeerEntrants make(const Problem& problem, const Inputs& inputs, std::size_t,
                    void*) const override {
    PeerEntrants peers;
    for (const HostEntry::Make make_peer : {make_openblas_sgemm, make_openblas_dequant}) {
      const auto entry =
          std::make_shared<HostEntry>(make_peer, openblas_, problem, inputs, thread_count_);
      peers.kept.push_back(entry);
      HostEntry& one = *entry;
      peers.entrants.push_back(
          {.name = one.peer->name(),
           .problem = one.problem,
           .enqueue = [&one](std::size_t) { one.peer->run(); },
           .poison = [&one](std::size_t, std::uint64_t seed) { one.outputs.poison(seed); },
           .fetch = [&one](std::size_t) { return one.outputs.views(); },
           .find_trespass = [&one] { return one.outputs.find_trespass(); }});
    }
    return peers;
  }

 private:
  const Openblas& openblas_;
  const int thread_count_;
};

// What a peer on a GPU wrote, on the host. It has no guards: it is not ours to test.
class GpuOutputs {
 public:
  explicit GpuOutputs(const GpuPeer& peer) : peer_(peer) {
    for (const gpu::DeviceBuffer& output : peer.outputs()) host_.emplace_back(output.bytes());
  }

  void poison() const {
    for (const gpu::DeviceBuffer& output : peer_.outputs()) {
      if (output.bytes() > 0) output.fill(std::byte{0xff});  // NaN in every output type
    }
  }

  std::vector<OutputView> fetch() {
    std::vector<OutputView> views;
    for (std::size_t g = 0; g < host_.size(); ++g) {
      if (!host_[g].empty()) peer_.outputs()[g].copy_out(gpu::bytes_of(host_[g]));
      views.push_back({.c = host_[g].empty() ? nullptr : host_[g].data(),
                       .stride_elements = peer_.problem().groups[g].n});
    }
    return views;
  }

 private:
  const GpuPeer& peer_;
  std::vector<std::vector<std::uint8_t>> host_;
};

class DevicePeers : public Peers {
 public:
  DevicePeers(const gpu::Gpu& gpu, CublasLookup cublas) : gpu_(gpu), cublas_(std::move(cublas)) {}

  PeerEntrants make(const Problem& problem, const Inputs& inputs, std::size_t copy_count,
                    void* stream) const override {
    const auto borrowed = std::make_shared<gpu::Stream>(gpu_.device.context(),
                                                        static_cast<gpu::cuda::Stream>(stream));
    GpuPeers made = make_gpu_peers({.device = gpu_.device,
                                    .stream = *borrowed,
                                    .compiler = gpu_.compiler,
                                    .cache = gpu_.cache,
                                    .problem = problem,
                                    .inputs = inputs,
                                    .copy_count = copy_count},
                                   *cublas_.cublas);
    PeerEntrants peers{.entrants = {}, .notes = std::move(made.notes), .kept = {borrowed}};
    for (std::unique_ptr<GpuPeer>& one : made.peers) {
      const std::shared_ptr<GpuPeer> peer = std::move(one);
      const auto outputs = std::make_shared<GpuOutputs>(*peer);
      peers.kept.push_back(peer);
      peers.entrants.push_back(
          {.name = peer->name(),
           .problem = peer->problem(),
           .enqueue = [peer](std::size_t copy) { peer->enqueue(copy); },
           .poison = [outputs](std::size_t, std::uint64_t) { outputs->poison(); },
           .fetch = [outputs](std::size_t) { return outputs->fetch(); },
           .find_trespass = [] { return std::string(); }});
    }
    return peers;
  }

 private:
  const gpu::Gpu& gpu_;
  CublasLookup cublas_;
};

}  // namespace

std::unique_ptr<Peers> find_peers(const Engine& engine) {
  if (const gpu::Gpu* gpu = gpu::find_gpu(engine)) {
    CublasLookup found = find_cublas({.folders = pip_folders_beside(gpu->compiler.file()),
                                      .driver_version = gpu->driver_version});
    if (!found.cublas) throw Error(found.why_not);
    return std::make_unique<DevicePeers>(*gpu, std::move(found));
  }
  const Openblas* openblas = Openblas::find();
  if (openblas == nullptr) throw Error(Openblas::how_to_install());
  return std::make_unique<HostPeers>(*openblas, engine.thread_count());
}

}  // namespace thresher::bench
