// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_peers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/cublas_handle.hpp"
#include "bench/gpu_peer_kernels.hpp"
#include "bench/gpu_peer_memory.hpp"
#include "thresher/error.hpp"

namespace thresher::bench {
namespace {

constexpr std::size_t kStreamCountMax = 8;

// What the peers of one problem have in common.
struct Common {
  Common(const GpuPeerSetup& setup, const Cublas& cublas_library)
      : library(cublas_library),
        device(setup.device),
        stream(setup.stream),
        kernels(setup),
        operands(setup, kernels) {}

  const Cublas& library;
  const gpu::Device& device;
  const gpu::Stream& stream;
  PeerKernels kernels;
  PeerOperands operands;
};

class CublasPeer : public GpuPeer {
 public:
  CublasPeer(const GpuPeerSetup& setup, std::shared_ptr<const Common> common)
      : common_(std::move(common)), results_(setup, common_->operands.groups()) {}

  const std::vector<gpu::DeviceBuffer>& outputs() const final { return results_.outputs(); }
  const Problem& problem() const final { return results_.problem(); }

 protected:
  const Common& common() const { return *common_; }
  const PeerResults& results() const { return results_; }
  const std::vector<PeerGroup>& groups() const { return common_->operands.groups(); }

  void multiply(const CublasHandle& handle, const PeerGroup& group,
                const gpu::DeviceBuffer& weights) const {
    handle.multiply(group.product, results_.product_types(),
                    {.a = common_->operands.activations(group),
                     .b = PeerOperands::weights_in(weights, group),
                     .c = results_.product(group)});
  }

  void multiply_in_sequence(const CublasHandle& handle, const gpu::DeviceBuffer& weights) const {
    for (const PeerGroup& group : groups()) multiply(handle, group, weights);
    results_.gate(common_->stream, common_->kernels);
  }

 private:
  std::shared_ptr<const Common> common_;
  PeerResults results_;
};

class CublasSequence : public CublasPeer {
 public:
  static constexpr const char* kName = "cublas_sequence";

  CublasSequence(const GpuPeerSetup& setup, const std::shared_ptr<const Common>& common)
      : CublasPeer(setup, common), handle_(common->library, common->device, common->stream) {}

  std::string name() const override { return kName; }

  void enqueue(std::size_t copy) override {
    multiply_in_sequence(handle_, common().operands.weights(copy));
  }

 private:
  CublasHandle handle_;
};

class CublasDequantise : public CublasPeer {
 public:
  static constexpr const char* kName = "cublas_dequantise";

  CublasDequantise(const GpuPeerSetup& setup, const std::shared_ptr<const Common>& common)
      : CublasPeer(setup, common),
        handle_(common->library, common->device, common->stream),
        weights_(common->operands.make_weight_buffer()) {}

  std::string name() const override { return kName; }

  void enqueue(std::size_t copy) override {
    common().operands.expand(common().stream, copy, weights_);
    multiply_in_sequence(handle_, weights_);
  }

 private:
  CublasHandle handle_;
  gpu::DeviceBuffer weights_;
};

// A stream of the pool: it begins when told to, and says when it is done.
struct PoolStream {
  explicit PoolStream(const Common& common)
      : stream(common.device),
        done(common.device, gpu::Event::Use::kOrder),
        handle(common.library, common.device, stream) {}

  gpu::Stream stream;
  gpu::Event done;
  CublasHandle handle;
};

class CublasStreams : public CublasPeer {
 public:
  static constexpr const char* kName = "cublas_streams";

  CublasStreams(const GpuPeerSetup& setup, const std::shared_ptr<const Common>& common)
      : CublasPeer(setup, common), begin_(common->device, gpu::Event::Use::kOrder) {
    const std::size_t stream_count = std::min(kStreamCountMax, groups().size());
    while (pool_.size() < stream_count) pool_.push_back(std::make_unique<PoolStream>(*common));
  }

  std::string name() const override { return kName; }

  void enqueue(std::size_t copy) override {
    begin_.record(common().stream);
    for (const auto& member : pool_) member->stream.wait(begin_);
    for (std::size_t i = 0; i < groups().size(); ++i) {
      const PoolStream& member = *pool_[i % pool_.size()];
      multiply(member.handle, groups()[i], common().operands.weights(copy));
      results().gate(member.stream, common().kernels, groups()[i]);
    }
    for (const auto& member : pool_) {
      member->done.record(member->stream);
      common().stream.wait(member->done);
    }
  }

 private:
  gpu::Event begin_;
  std::vector<std::unique_ptr<PoolStream>> pool_;
};

class CublasGrouped : public CublasPeer {
 public:
  static constexpr const char* kName = "cublas_grouped";

  CublasGrouped(const GpuPeerSetup& setup, const std::shared_ptr<const Common>& common)
      : CublasPeer(setup, common), handle_(common->library, common->device, common->stream) {
    for (const PeerGroup& group : groups()) shapes_.add(group.product);
    make_arrays(setup.copy_count);
  }

  std::string name() const override { return kName; }

  void enqueue(std::size_t copy) override {
    if (groups().empty()) return;
    handle_.multiply_grouped(shapes_, results().product_types(),
                             {.a = arrays_.pointer<const void* const>(),
                              .b = arrays_.pointer<const void* const>(array_bytes() * (2 + copy)),
                              .c = arrays_.pointer<void* const>(array_bytes())});
    results().gate(common().stream, common().kernels);
  }

 private:
  std::size_t array_bytes() const { return groups().size() * sizeof(void*); }

  // Addresses by group: of activations, of products, and of each copy's weights.
  void make_arrays(std::size_t copy_count) {
    std::vector<const void*> addresses;
    for (const PeerGroup& group : groups()) {
      addresses.push_back(common().operands.activations(group));
    }
    for (const PeerGroup& group : groups()) addresses.push_back(results().product(group));
    for (std::size_t copy = 0; copy < copy_count; ++copy) {
      for (const PeerGroup& group : groups()) {
        addresses.push_back(PeerOperands::weights_in(common().operands.weights(copy), group));
      }
    }
    arrays_ = gpu::DeviceBuffer(common().device, addresses.size() * sizeof(void*));
    arrays_.copy_in(gpu::bytes_of(addresses));
  }

  CublasHandle handle_;
  GroupedShapes shapes_;
  gpu::DeviceBuffer arrays_;
};

// With a first call outside of any capture: cuBLAS loads its kernels then, and says whether it can.
template <typename Peer>
void add_peer(const GpuPeerSetup& setup, const std::shared_ptr<const Common>& common,
              GpuPeers& peers) {
  try {
    auto peer = std::make_unique<Peer>(setup, common);
    peer->enqueue(0);
    setup.stream.synchronize();
    peers.peers.push_back(std::move(peer));
  } catch (const Error& error) {
    peers.notes.push_back(fmt::format("{}: {}", Peer::kName, error.what()));
  }
}

}  // namespace

GpuPeers make_gpu_peers(const GpuPeerSetup& setup, const Cublas& library) {
  GpuPeers peers;
  std::shared_ptr<const Common> common;
  try {
    common = std::make_shared<const Common>(setup, library);
  } catch (const Error& error) {
    peers.notes.push_back(fmt::format("the cuBLAS peers: {}", error.what()));
    return peers;
  }
  add_peer<CublasSequence>(setup, common, peers);
  add_peer<CublasStreams>(setup, common, peers);
  add_peer<CublasGrouped>(setup, common, peers);
  add_peer<CublasDequantise>(setup, common, peers);
  return peers;
}

}  // namespace thresher::bench
