// SPDX-License-Identifier: Apache-2.0
#include "bench/peers.hpp"

#include <functional>

#include "backend/backend.hpp"
#include "bench/cublas.hpp"
#include "bench/gpu_peers.hpp"
#include "bench/peer.hpp"
#include "bench/program_peers.hpp"
#include "gpu/runtime/gpu.hpp"
#include "measure/cold_copies.hpp"
#include "measure/guarded_outputs.hpp"
#include "referee/sandbox/scratch.hpp"

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

void enter_openblas(const Openblas& openblas, const Problem& problem, const Inputs& inputs,
                    int thread_count, PeerEntrants& peers) {
  for (const HostEntry::Make make_peer : {make_openblas_sgemm, make_openblas_dequant}) {
    const auto entry =
        std::make_shared<HostEntry>(make_peer, openblas, problem, inputs, thread_count);
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
}

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

void enter_cublas(const Cublas& cublas, const GpuPeerSetup& setup, PeerEntrants& peers) {
  GpuPeers made = make_gpu_peers(setup, cublas);
  peers.notes = std::move(made.notes);
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
}

// A library in this process where there is one, and programs in processes of their own.
class AllPeers : public Peers {
 public:
  // Adds the library's entrants.
  using Enter = std::function<void(const Problem& problem, const Inputs& inputs,
                                   std::size_t copy_count, void* stream, PeerEntrants& peers)>;

  // `why_no_library`: said once, where `enter_library` is empty.
  AllPeers(Enter enter_library, std::string why_no_library,
           std::unique_ptr<referee::ScratchFolder> folder, std::unique_ptr<ProgramPeers> programs)
      : enter_library_(std::move(enter_library)),
        why_no_library_(std::move(why_no_library)),
        folder_(std::move(folder)),
        programs_(std::move(programs)) {}

  PeerEntrants make(const Problem& problem, const Inputs& inputs, std::size_t copy_count,
                    void* stream) override {
    PeerEntrants peers;
    if (enter_library_) enter_library_(problem, inputs, copy_count, stream, peers);
    if (!why_no_library_.empty()) peers.notes.push_back(std::exchange(why_no_library_, {}));
    programs_->add(problem, inputs, copy_count, peers);
    return peers;
  }

  std::vector<std::string> end(const PeerEnded& ended) override {
    return programs_->end(ended.peer());
  }

 private:
  const Enter enter_library_;
  std::string why_no_library_;
  const std::unique_ptr<referee::ScratchFolder> folder_;
  const std::unique_ptr<ProgramPeers> programs_;
};

AllPeers::Enter enter_library(const Openblas& openblas, int thread_count) {
  return [&openblas, thread_count](const Problem& problem, const Inputs& inputs, std::size_t, void*,
                                   PeerEntrants& peers) {
    enter_openblas(openblas, problem, inputs, thread_count, peers);
  };
}

AllPeers::Enter enter_library(const gpu::Gpu& gpu, Cublas cublas) {
  return [&gpu, cublas = std::move(cublas)](const Problem& problem, const Inputs& inputs,
                                            std::size_t copy_count, void* stream,
                                            PeerEntrants& peers) {
    const auto borrowed =
        std::make_shared<gpu::Stream>(gpu.device.context(), static_cast<gpu::cuda::Stream>(stream));
    peers.kept.push_back(borrowed);
    enter_cublas(cublas,
                 {.device = gpu.device,
                  .stream = *borrowed,
                  .compiler = gpu.compiler,
                  .cache = gpu.cache,
                  .problem = problem,
                  .inputs = inputs,
                  .copy_count = copy_count},
                 peers);
  };
}

// Programs of their own, each with as many threads as the engine.
ProgramSetting host_setting(const Engine& engine) {
  return {
      .options = {.thread_count = engine.thread_count()},
      .make_memory = make_host_memory,
      .copy_count = [](std::size_t bytes, std::size_t) { return measure::cold_copy_count(bytes); }};
}

ProgramSetting device_setting(const gpu::Gpu& gpu, const Engine& engine) {
  const int index = gpu::device_index({.device = engine.device()});
  return {.options = {.backend = std::string(engine.state().row().name)},
          .make_memory =
              [&gpu, index](const ProgramRoom& room) {
                return make_device_memory(gpu.device, index, room);
              },
          .copy_count = [](std::size_t, std::size_t everybodys) { return everybodys; }};
}

}  // namespace

std::unique_ptr<Peers> find_peers(const Engine& engine, const PeerOptions& options) {
  AllPeers::Enter enter;
  std::string why_no_library;
  std::vector<PeerProgram> programs;
  ProgramSetting setting;
  if (const gpu::Gpu* gpu = gpu::find_gpu(engine)) {
    CublasLookup found = find_cublas({.folders = pip_folders_beside(gpu->compiler.file()),
                                      .driver_version = gpu->driver_version});
    if (found.cublas) enter = enter_library(*gpu, *std::move(found.cublas));
    why_no_library = std::move(found.why_not);
    programs = device_programs();
    setting = device_setting(*gpu, engine);
  } else {
    const Openblas* openblas = Openblas::find();
    if (openblas != nullptr) enter = enter_library(*openblas, engine.thread_count());
    if (openblas == nullptr) why_no_library = Openblas::how_to_install();
    programs = host_programs();
    setting = host_setting(engine);
  }
  if (!options.programs) programs.clear();
  auto folder = std::make_unique<referee::ScratchFolder>(referee::FolderOwner::kReferee);
  write_programs(folder->path());
  setting.options.folder = folder->path();
  setting.problems = options.problems;
  return std::make_unique<AllPeers>(
      std::move(enter), std::move(why_no_library), std::move(folder),
      std::make_unique<ProgramPeers>(std::move(programs), std::move(setting)));
}

}  // namespace thresher::bench
