// SPDX-License-Identifier: Apache-2.0
// The knobs of the GEMM kernels, as a template argument, and what follows from them alone: threads,
// shared memory, register budgets. Read by NVRTC, by the emulator and by the host.
#pragma once

#include "gpu/gemm/kernels/image_config.hpp"
#include "gpu/gemm/kernels/tile_time.hpp"
#include "gpu/gemm/kernels/token_tiles.hpp"
#include "gpu/gemm/kernels/weight_layout.hpp"
#include "gpu/hw/types.hpp"
#include "gpu/hw/words.hpp"
#ifndef __CUDACC_RTC__
#include "gpu/hw/emulated_types.hpp"
#endif

namespace thresher::gpu {

// k16Bits is the emulator's: fp16 or bf16, as the launch says.
enum class OutputType : u8 { kFp16, kBf16, kFp32, k16Bits };

// What a launch makes of its weights. Dual weights can be multiplied in one launch (kDual) or two:
// kGatePass leaves the gate product as floats in the workspace, kUpPass multiplies into it.
enum class Product : u8 { kGemm, kDual, kGatePass, kUpPass };

// What multiplies: warpgroups, asynchronously (Hopper), warps, as every GPU since Ampere can
// (gpu/sm80/), or a tensor core that takes NVFP4 as it is (Blackwell, gpu/sm100/).
enum class Mma : u8 { kWarpgroup, kWarp, kBlockScaled };

// How results reach C: element by element from registers, or transposed in shared memory and then
// row by row. Where the alignment of C allows it, rows go as bulk copies (kStaged) or as 16 bytes
// per thread (kVectors).
enum class Store : u8 { kDirect, kStaged, kVectors };

// Which part of the work a block takes: whole tiles in turn (or parts of them, split_k), or an
// equal stretch of all k tiles, whose ends may lie inside a tile.
enum class Schedule : u8 { kTiles, kBalanced };

// Who tells the loader that a warp has let go of a stage: one of its threads for all of them, or
// every thread for itself. The second costs nothing that could be measured, and race checkers can
// follow it.
enum class Arrive : u8 { kWarp, kThread };

// Who makes the images of the activations: a kernel of its own, or the GEMM's blocks before they
// multiply (image_shares.cuh); or nobody, because the GEMM reads the activations as they are.
enum class Prologue : u8 { kKernel, kInside, kNone };

// How block-scaled weights come to shared memory: every block copies its own; or two blocks that
// have half of a tile's tokens each copy half of the weights to both (kMulticast); or as boxes, by
// a tensor map, whose bytes a pair of blocks counts at one barrier.
enum class Loads : u8 { kCopies, kMulticast, kBoxes };

struct GemmConfig {
  Product product = Product::kGemm;
  OutputType output = OutputType::kFp16;

  int tokens = 128;  // of the widest tile: the width of its MMAs, a multiple of 8 from 8 to 256
  Widths widths = Widths::kByGroup;
  // Per tile: 128, 192 or 256 packed rows; 256 block-scaled are those of two blocks.
  int weight_rows = 128;
  int consumer_warpgroups = 2;  // that share the rows: 1 to 4
  int stages = 4;               // tiles of k in shared memory, at least 2
  int fragment_steps = 4;       // MMA steps (16 k) per fragment buffer: 2 or 4
  bool specialised = true;      // a producer warp of its own; otherwise a consumer's thread loads
  Store store = Store::kDirect;
  Schedule schedule = Schedule::kTiles;
  int split_k = 1;        // parts that k is cut into, summed in their order; 1 if balanced
  int blocks_per_sm = 1;  // that registers and shared memory shall suffice for
  Arrive arrive = Arrive::kThread;
  Prologue prologue = Prologue::kKernel;
  Loads loads = Loads::kCopies;
  ActivationType activations = ActivationType::kNvfp4;
  Mma mma = Mma::kWarpgroup;

  bool operator==(const GemmConfig&) const = default;
};

THRESHER_DEVICE constexpr int element_bytes(OutputType output) {
  return output == OutputType::kFp32 ? 4 : 2;
}

// The type a launch stores: a gate pass leaves floats whatever the output's type.
THRESHER_DEVICE constexpr OutputType stored_type(const GemmConfig& config) {
  return config.product == Product::kGatePass ? OutputType::kFp32 : config.output;
}

THRESHER_DEVICE constexpr bool is_pass(Product product) {
  return product == Product::kGatePass || product == Product::kUpPass;
}

// Packed rows per column of C.
THRESHER_DEVICE constexpr int rows_per_column(Product product) {
  return product == Product::kGemm ? 1 : 2;
}

// Block-scaled tiles have `weight_rows` of gate and as many of up.
THRESHER_DEVICE constexpr int columns_per_tile(const GemmConfig& config) {
  if (config.mma == Mma::kBlockScaled) return config.weight_rows;
  return config.weight_rows / rows_per_column(config.product);
}

// A strip is one MMA high: 64 rows. It is a sub-tile of weights, or, in a pass over dual weights,
// the gate (or up) rows of two sub-tiles.
THRESHER_DEVICE constexpr int sub_tiles_per_strip(Product product) {
  return is_pass(product) ? 2 : 1;
}

THRESHER_DEVICE constexpr int strips_per_warpgroup(const GemmConfig& config) {
  return config.weight_rows / kSubTileRows / sub_tiles_per_strip(config.product) /
         config.consumer_warpgroups;
}

THRESHER_DEVICE constexpr int columns_per_strip(Product product) {
  return kSubTileRows * sub_tiles_per_strip(product) / rows_per_column(product);
}

THRESHER_DEVICE constexpr int consumer_threads(const GemmConfig& config) {
  return config.consumer_warpgroups * hw::kWarpgroupThreads;
}

// The producer takes a warpgroup, because registers are handed over by warpgroup. Block-scaled
// tokens are brought into place by another.
THRESHER_DEVICE constexpr int thread_count(const GemmConfig& config) {
  const int producers = config.mma == Mma::kBlockScaled ? 2 : 1;
  return consumer_threads(config) + (config.specialised ? producers * hw::kWarpgroupThreads : 0);
}

// Barriers of the block by number: one for each consumer warpgroup, from 1 on, then these.
enum NamedBarrier : int { kConsumersBarrier = 5, kProducersBarrier, kReadyBarrier };

inline constexpr int kRegistersPerSm = 65536;
inline constexpr int kRegistersPerThreadMax = 255;
inline constexpr int kRegisterGranule = 8;

// What the producer's threads keep.
inline constexpr int kProducerRegisters = 40;

// Tiles of few tokens do with few registers. A quarter of the file is left to the prologue then, so
// that their blocks start, and fetch weights, while its blocks are still there.
inline constexpr int kTokensBesidePrologue = 16;

// The threads that the compiler divides the register file by.
THRESHER_DEVICE constexpr int thread_bound(const GemmConfig& config) {
  const int threads = thread_count(config);
  const bool leaves = config.prologue == Prologue::kKernel && config.blocks_per_sm == 1 &&
                      config.tokens <= kTokensBesidePrologue;
  return leaves && threads == 384 ? 512 : threads;
}

// What the compiler gives every thread at launch.
THRESHER_DEVICE constexpr int launch_registers(const GemmConfig& config) {
  const int each = kRegistersPerSm / (thread_bound(config) * config.blocks_per_sm);
  const int granules = each / kRegisterGranule * kRegisterGranule;
  return granules < kRegistersPerThreadMax ? granules : kRegistersPerThreadMax;
}

// What a consumer has once the producer's share is handed over. 0: nothing is handed over.
THRESHER_DEVICE constexpr int consumer_registers(const GemmConfig& config) {
  if (!config.specialised || launch_registers(config) >= kRegistersPerThreadMax) return 0;
  const int handed_over = launch_registers(config) - kProducerRegisters;
  const int each = launch_registers(config) + handed_over / config.consumer_warpgroups;
  const int limit = kRegistersPerThreadMax / kRegisterGranule * kRegisterGranule;
  return (each < limit ? each : limit) / kRegisterGranule * kRegisterGranule;
}

THRESHER_DEVICE constexpr bool is_bf16(OutputType output) {
#ifndef __CUDACC_RTC__
  if (output == OutputType::k16Bits) return hw::launch_types().stored == hw::Operand::kBf16;
#endif
  return output == OutputType::kBf16;
}

// What images must be multiplied by to be the true values: 2^7 if they are decoded NVFP4
// (nvfp4_chunk.cuh).
THRESHER_DEVICE constexpr float activation_unit(ActivationType activations) {
#ifndef __CUDACC_RTC__
  if (activations == ActivationType::kAny) return hw::launch_types().nvfp4 ? 128.0f : 1.0f;
#endif
  return activations == ActivationType::kNvfp4 ? 128.0f : 1.0f;
}

// What sums must be multiplied by to be those of the true values.
THRESHER_DEVICE constexpr float sum_unit(const GemmConfig& config) {
  if (config.mma == Mma::kBlockScaled) return 1.0f;
  return kWeightUnit * activation_unit(config.activations);
}

// Blocks that multiply together: each has 128 rows of a block-scaled MMA.
THRESHER_DEVICE constexpr int blocks_per_mma(Mma mma, int weight_rows) {
  return mma == Mma::kBlockScaled ? weight_rows / static_cast<int>(kTileRows) : 1;
}
// Blocks that share a tile's tokens: those, or two that share its weights.
THRESHER_DEVICE constexpr int token_sharers(Mma mma, int weight_rows, Loads loads) {
  return loads == Loads::kMulticast ? 2 : blocks_per_mma(mma, weight_rows);
}
THRESHER_DEVICE constexpr int token_sharers(const GemmConfig& config) {
  return token_sharers(config.mma, config.weight_rows, config.loads);
}
// Blocks that compute a tile together.
THRESHER_DEVICE constexpr int blocks_per_tile(const GemmConfig& config) {
  return token_sharers(config);
}

// A stage of block-scaled codes is 256 deep, four tiles of k.
THRESHER_DEVICE constexpr u32 k_tiles_per_stage(const GemmConfig& config) {
  return config.mma == Mma::kBlockScaled ? 4 : 1;
}

// They share the tokens equally.
THRESHER_DEVICE constexpr TokenCut token_cut(const GemmConfig& config) {
  return {config.tokens, config.widths, 8 * token_sharers(config)};
}

inline constexpr u32 kImageRowBytes = kTileK * 2;  // a token's 64 k in 16 bits

// An image is what one stage needs of the tokens: width x 64 k, in the 128-byte swizzle.
THRESHER_DEVICE constexpr u32 image_bytes(int width) {
  return static_cast<u32>(width) * kImageRowBytes;
}

// Tiles of packed weights that a tile's rows lie in: 192 rows are one and the half of another.
THRESHER_DEVICE constexpr u32 weight_tiles(const GemmConfig& config) {
  return static_cast<u32>((config.weight_rows + kTileRows - 1) / kTileRows);
}
THRESHER_DEVICE constexpr bool has_half_tile(const GemmConfig& config) {
  return config.weight_rows % kTileRows != 0;
}

// The book of groups (group_book.cuh): entries, and one more for what concerns the launch.
inline constexpr u32 kBookEntries = 64;
inline constexpr u32 kBookEntryBytes = 16;
inline constexpr u32 kBookBytes = (kBookEntries + 1) * kBookEntryBytes;

// Whether a kernel for warps decodes NVFP4 tokens itself.
THRESHER_DEVICE constexpr bool decodes_tokens(const GemmConfig& config) {
  return config.mma == Mma::kWarp && config.prologue == Prologue::kNone &&
         config.activations == ActivationType::kNvfp4;
}

// Images in shared memory. Tokens are decoded into one while the other is multiplied.
THRESHER_DEVICE constexpr int image_stages(const GemmConfig& config) {
  return decodes_tokens(config) ? 2 : config.stages;
}

// The queue of tiles (gpu/sm80/kernels/tile_queue.cuh): loads are ahead by as many tiles as there
// are stages, at most, and one more is being written.
inline constexpr u32 kQueueEntryBytes = 96;
THRESHER_DEVICE constexpr u32 queue_entries(const GemmConfig& config) {
  return config.mma == Mma::kWarp ? static_cast<u32>(config.stages) + 1 : 0;
}

// Shared memory of a block, as offsets from its base.
struct SharedLayout {
  u32 images = 0;  // by stage; multiples of 1024, as the swizzle wants it
  u32 weights = 0;
  u32 weight_stage_bytes = 0;
  u32 staging = 0;  // by warpgroup: rows of tokens, each with one warpgroup's columns of C
  u32 staging_row_bytes = 0;
  u32 staging_warpgroup_bytes = 0;
  u32 full = 0;   // by stage: barriers that the loads complete
  u32 empty = 0;  // by stage: barriers that the consumers' warps complete
  u32 queue = 0;
  u32 book = 0;
  u32 flags = 0;  // by warpgroup: one word to tell all its threads something
  u32 bytes = 0;
};

// Whether a tile may be computed in parts.
THRESHER_DEVICE constexpr bool has_parts(const GemmConfig& config) {
  return config.split_k > 1 || config.schedule == Schedule::kBalanced;
}

// Whether sums are staged as pairs of floats (store_dual.cuh) and not as values of C.
THRESHER_DEVICE constexpr bool stages_pairs(const GemmConfig& config) {
  return config.product == Product::kDual && config.store == Store::kVectors;
}

// Tokens that are staged at a time. Pairs take much room, so a few of them. Matrix stores write
// four 8 x 8 matrices at a time, so values take a multiple of that.
THRESHER_DEVICE constexpr int staging_rows(const GemmConfig& config) {
  if (stages_pairs(config)) return config.tokens < 32 ? config.tokens : 32;
  const int granule = config.product == Product::kDual ? 32 : 16;
  return (config.tokens + granule - 1) / granule * granule;
}

THRESHER_DEVICE constexpr SharedLayout shared_layout(const GemmConfig& config) {
  const u32 stages = static_cast<u32>(config.stages);
  const u32 warpgroups = static_cast<u32>(config.consumer_warpgroups);
  SharedLayout layout;
  layout.weight_stage_bytes = weight_tiles(config) * kTileBytes;
  layout.weights = static_cast<u32>(image_stages(config)) * image_bytes(config.tokens);
  layout.staging = layout.weights + stages * layout.weight_stage_bytes;
  if (config.store != Store::kDirect) {
    // 16 bytes more per row spread the rows over the banks.
    const int columns = strips_per_warpgroup(config) * columns_per_strip(config.product);
    const int bytes = stages_pairs(config) ? 8 : element_bytes(stored_type(config));
    layout.staging_row_bytes = static_cast<u32>(columns * bytes) + 16;
    layout.staging_warpgroup_bytes =
        static_cast<u32>(staging_rows(config)) * layout.staging_row_bytes;
  }
  layout.full = layout.staging + warpgroups * layout.staging_warpgroup_bytes;
  const u32 barriers = config.mma == Mma::kWarp ? 0 : stages;
  layout.empty = layout.full + 8 * barriers;
  layout.queue = round_up(layout.empty + 8 * barriers, 16);
  layout.book = layout.queue + queue_entries(config) * kQueueEntryBytes;
  layout.flags = layout.book + kBookBytes;
  layout.bytes = round_up(layout.flags + 4 * warpgroups, 16);
  return layout;
}

// Floats that one part of one tile, the widest, takes in the workspace; of a block of several that
// compute it.
THRESHER_DEVICE constexpr u64 partial_elements(const GemmConfig& config) {
  if (config.mma == Mma::kBlockScaled) {
    const u32 products = config.product == Product::kDual ? 2 : 1;
    return u64{products * static_cast<u32>(kTileRows)} * static_cast<u32>(config.tokens);
  }
  return u64{static_cast<u32>(consumer_threads(config) * strips_per_warpgroup(config))} *
         static_cast<u32>(config.tokens / 2);
}

// The baseline's config (plain_gemm.cuh) for the product, types and tokens of another.
THRESHER_DEVICE constexpr GemmConfig plain_config(const GemmConfig& config) {
  return {.product = config.product,
          .output = config.output,
          .tokens = config.tokens,
          .widths = Widths::kFixed,
          .weight_rows = kTileRows,
          .consumer_warpgroups = 1,
          .stages = 1,
          .specialised = false,
          .activations = config.activations};
}

// Tokens and weights of a k tile, and behind them the book.
THRESHER_DEVICE constexpr u32 plain_book_byte(const GemmConfig& config) {
  return image_bytes(config.tokens) +
         static_cast<u32>(strips_per_warpgroup(config) * kSubTileRows) * kImageRowBytes;
}
THRESHER_DEVICE constexpr u32 plain_shared_bytes(const GemmConfig& config) {
  return plain_book_byte(config) + kBookBytes;
}

}  // namespace thresher::gpu
