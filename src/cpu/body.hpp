// SPDX-License-Identifier: Apache-2.0
// A body: the kernels compiled for one instruction set, as a plain struct of functions.
//
// The driver (run.cpp) knows shapes, threads and scratch memory; a body knows arithmetic. Between
// the two stand four steps: pack the rows of A that a tile shares, decode a panel of B where the
// variant keeps decoded panels, multiply a tile, finish it (factors, SiLU, rounding, store).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/features.hpp"
#include "cpu/panel.hpp"
#include "factor.hpp"
#include "thresher/problem.hpp"

namespace thresher::cpu {

// A tile is up to kTileRowsMax rows of A against some panels. Sums live in `sums`: one row of
// kSumColumns floats per row of A, panel p at column 16*p. A tile of more panels than kSumPanels
// has such rows for every two of them, one after the other.
inline constexpr int kTileRowsMax = 32;
inline constexpr int kTilePanelsMax = 4;
inline constexpr int kSumPanels = 2;
inline constexpr int kSumColumns = kSumPanels * kPanelColumns;

// Rows of A as the caller has them: NVFP4 codes and scales, or 16-bit values.
struct ActivationRows {
  const std::uint8_t* codes = nullptr;
  const std::uint8_t* scales = nullptr;
  const std::uint16_t* values = nullptr;
  int row_count = 0;
  std::int64_t k_elements = 0;
};

inline constexpr std::int64_t kNoNan = -1;

struct TileArgs {
  // One pointer per panel: packed bytes of the first superblock, or, for a decoded tile, one
  // pointer to all of them (panels of a decoded chunk are interleaved).
  const std::uint8_t* panels[kTilePanelsMax] = {nullptr, nullptr};
  const std::uint8_t* activations = nullptr;  // packed rows at the first superblock
  int row_count = 0;
  std::int64_t superblock_count = 0;
  float* sums = nullptr;
  bool add = false;  // go on from `sums` instead of from zero
  // How far ahead of itself a panel is prefetched; what would lie behind its end is so many bytes
  // further, where the panel after the tile's last is.
  std::int64_t prefetch_bytes = 0;
  std::int64_t prefetch_jump_bytes = 0;
};

using TileFunction = void (*)(const TileArgs& args);

// What a body does with one kind of activations.
struct Kernels {
  // Rows and panels of the largest register tile; 0 rows: this body cannot take these activations.
  int tile_rows_max = 0;
  int tile_panels_max = 0;
  // Direct tiles of few rows come with up to so many panels, in powers of two.
  int few_rows_panels_max = 0;
  // Sums are kept per superblock chunk, so a chunk boundary changes no bit.
  std::size_t (*activation_bytes)(int row_count, std::int64_t superblock_count) = nullptr;
  // Returns the index of the first NaN scale (row * blocks per row + block), or kNoNan.
  std::int64_t (*pack)(const ActivationRows& rows, std::uint8_t* out) = nullptr;
  // nullptr where the body has no such form.
  TileFunction (*direct_tile)(int rows, int panels) = nullptr;
  TileFunction (*decoded_tile)(int rows, int panels) = nullptr;
  std::size_t (*decoded_bytes)(int panels, std::int64_t superblock_count) = nullptr;
  void (*decode)(const std::uint8_t* const* panels, int panel_count, std::int64_t superblock_count,
                 std::uint8_t* out) = nullptr;
  // The true product is sums * unit.
  float unit = 1.0f;
};

struct FinishArgs {
  const float* sums = nullptr;  // rows x kSumColumns
  int row_count = 0;
  int column_count = 0;  // columns of C to write, up to 32 (gemm) or 16 (dual)
  void* c = nullptr;     // first element of the tile in C
  std::int64_t c_stride_elements = 0;
  Factor factor;
  Factor factor_up;
  // Two-pass dual: the gate product, finished by the first pass, rows `gate_stride_elements` apart.
  const float* gate = nullptr;
  std::int64_t gate_stride_elements = 0;
  bool streaming = false;  // non-temporal stores where the address allows them
};

using FinishFunction = void (*)(const FinishArgs& args);

// A row of activations to write: 16-bit values, or NVFP4 codes and scales in units of global_scale.
struct ActivationRow {
  void* values = nullptr;
  std::uint8_t* scales = nullptr;
  float global_scale = 1.0f;
};

// Rows of a layer outside its products (layer_rows.hpp). Every count is a multiple of 16.
struct ConvertArgs {
  const void* x = nullptr;
  std::int64_t count = 0;
  bool weighted = false;  // multiply by `weight` first
  float weight = 1.0f;
  ActivationRow out;
};
struct ActivateArgs {
  const float* gate = nullptr;  // null where the activation has none
  const float* up = nullptr;
  const float* gate_bias = nullptr;  // null for none
  const float* up_bias = nullptr;
  std::int64_t count = 0;
  MoeActivation activation = MoeActivation::kSilu;
  float alpha = 1.0f;
  float beta = 0.0f;
  float limit = 0.0f;
  ActivationRow out;
};
struct CombineSlot {
  const float* y = nullptr;
  const float* bias = nullptr;  // null for none
  float weight = 1.0f;
};
struct CombineArgs {
  const CombineSlot* slots = nullptr;
  int slot_count = 0;
  std::int64_t count = 0;
  void* out = nullptr;
};

struct LayerRows {
  void (*convert[3][3])(const ConvertArgs& args) = {};  // by Output of x, by Activations
  void (*activate[3])(const ActivateArgs& args) = {};   // by Activations
  void (*combine[3])(const CombineArgs& args) = {};     // by Output
};

struct Body {
  Isa isa = Isa::kPortable;
  Kernels nvfp4;
  Kernels fp16;
  Kernels bf16;
  FinishFunction finish_gemm[3] = {};         // by Output
  FinishFunction finish_dual[3] = {};         // gate sums in panel 0, up sums in panel 1
  FinishFunction finish_second_pass[3] = {};  // gate from memory, up sums in the tile
  LayerRows layer;

  const Kernels& kernels(Activations activations) const {
    switch (activations) {
      case Activations::kFp16:
        return fp16;
      case Activations::kBf16:
        return bf16;
      case Activations::kNvfp4:
        break;
    }
    return nvfp4;
  }
};

const Body& portable_body();
const Body& avx2_body();
const Body& avx512_body();
const Body& avx512vnni_body();
const Body& amx_body();

// The body for an instruction set; it may only be called where can_run(isa).
const Body& body(Isa isa);

}  // namespace thresher::cpu
