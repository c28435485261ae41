// SPDX-License-Identifier: Apache-2.0
// The words of copies by thread and of MMAs by warp (gpu/hw/sm80/).
#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/device_memory.hpp"
#include "emulator/fault.hpp"
#include "emulator/grid.hpp"
#include "gpu/hw/emulated.hpp"

namespace thresher::gpu::hw {

using emulator::fault;
using emulator::self;
using emulator::Thread;
using emulator::Warp;

namespace {

constexpr u32 kPieceBytes = 16;

void check_piece(const Thread& thread, SharedAddress destination, const void* source, bool exists) {
  const std::string misplaced =
      thread.block->shared.misplaced(destination, kPieceBytes, kPieceBytes);
  if (!misplaced.empty()) {
    fault(thread, "copies a piece to shared address {:#x}, {}", destination, misplaced);
  }
  if (!exists) return;
  if (reinterpret_cast<std::uintptr_t>(source) % kPieceBytes != 0) {
    fault(thread, "copies a piece from global address {}, not aligned to 16", source);
  }
  const emulator::DeviceMemory* const memory = thread.block->grid->options().memory;
  if (memory == nullptr) {
    fault(thread, "copies a piece from global address {}, but the launch names no device memory",
          source);
  }
  if (const auto reason = memory->fault(source, kPieceBytes, /*write=*/false)) {
    fault(thread, "copies a piece from global address {}, {}", source, *reason);
  }
}

// Over only once it has been waited for.
void note_piece(const Thread& thread, const void* source, u32 group) {
  emulator::Grid& grid = *thread.block->grid;
  const std::uintptr_t at = grid.options().memory->followed_at(source);
  grid.history().note_read(at, kPieceBytes,
                           {.thread = thread,
                            .word = emulator::GlobalWord::kOrdinary,
                            .actor = thread.piece_actor,
                            .event = group,
                            .at = source});
}

// One row that a lane has named, as all lanes of the warp read it: what the row's writer did, every
// one of them must know.
void note_row(const Warp& warp, const Thread& lane, SharedAddress row) {
  lane.block->shared.note_read(row, kPieceBytes,
                               {.threads = warp.meeting.arrived().data(),
                                .thread_count = warp.meeting.size(),
                                .actor = lane.actor(),
                                .event = lane.event(),
                                .by = " by load_matrix_x4"});
}

float operand_value(u32 pair, int half, Operand operand) {
  const auto bits = static_cast<u16>(pair >> (16 * half));
  return operand == Operand::kFp16 ? nvfp4::fp16_to_float(bits) : nvfp4::bf16_to_float(bits);
}

// A warp's operands of one MMA as matrices.
struct WarpMatrices {
  float a[16][16];
  float b[16][8];
};

WarpMatrices gather_operands(const Warp& warp, Operand operand) {
  WarpMatrices matrices;
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    const emulator::WarpMma& own = warp.mmas[static_cast<std::size_t>(lane)];
    const int row = lane / 4;
    const int first = 2 * (lane % 4);
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i) {
        matrices.a[row + 8 * (i % 2)][first + 8 * (i / 2) + half] =
            operand_value(own.a[i], half, operand);
      }
      for (int i = 0; i < 2; ++i) {
        matrices.b[first + 8 * i + half][row] = operand_value(own.b[i], half, operand);
      }
    }
  }
  return matrices;
}

// As mma_multiply.cpp adds: products in the order of k, each sum rounded.
void add_products(const Warp& warp, Operand operand) {
  const WarpMatrices matrices = gather_operands(warp, operand);
  for (int lane = 0; lane < kWarpThreads; ++lane) {
    float* const d = warp.mmas[static_cast<std::size_t>(lane)].d;
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2);
      const int column = 2 * (lane % 4) + i % 2;
      for (int k = 0; k < 16; ++k) d[i] += matrices.a[row][k] * matrices.b[k][column];
    }
  }
}

}  // namespace

void copy_piece(SharedAddress destination, const void* source, bool exists) {
  Thread& thread = self();
  emulator::Block& block = *thread.block;
  block.grid->pause(thread);
  check_piece(thread, destination, source, exists);
  if (thread.piece_actor == 0) {
    thread.piece_actor = block.new_actor(
        fmt::format("a copy of thread {} may still be writing: nothing tells of its pieces_wait",
                    thread.index),
        "");
  }
  const u32 group = thread.piece_groups_committed + 1;
  if (exists) note_piece(thread, source, group);
  const Thread* const pointer = &thread;
  block.shared.note_write(
      destination, kPieceBytes,
      {.threads = &pointer, .actor = thread.piece_actor, .event = group, .by = " by a copy"});
  auto piece =
      std::make_shared<emulator::CopyPiece>(block, destination, exists ? source : nullptr, group);
  thread.pieces.push_back(piece);
  block.grid->start(std::move(piece));
}

void pieces_commit(Site site) {
  if (!leaves_out(site, "pieces_commit")) ++self().piece_groups_committed;
}

void pieces_wait_groups(int pending, const Site& site) {
  if (leaves_out(site, "pieces_wait")) return;
  Thread& thread = self();
  thread.block->grid->pause(thread);
  const u32 committed = thread.piece_groups_committed;
  const u32 last = committed - std::min(committed, static_cast<u32>(pending));
  while (!thread.pieces.empty() && thread.pieces.front()->group() <= last) {
    thread.pieces.front()->advance();
    thread.pieces.pop_front();
  }
  if (thread.piece_actor != 0) thread.knowledge.see(thread.piece_actor, last);
}

void load_matrix_x4(SharedAddress row, u32 (&m)[4]) {
  Thread& thread = self();
  Warp& warp = thread.warp();
  const std::string misplaced = thread.block->shared.misplaced(row, kPieceBytes, kPieceBytes);
  if (!misplaced.empty()) {
    fault(thread, "loads a matrix row of 16 bytes at shared address {:#x}, {}", row, misplaced);
  }
  warp.given[static_cast<std::size_t>(lane_index())] = row;
  if (warp.meeting.join(thread, "load_matrix_x4")) {
    for (const Thread* const lane : warp.meeting.arrived()) {
      const auto index = static_cast<std::size_t>(lane->index % kWarpThreads);
      note_row(warp, *lane, warp.given[index]);
      std::memcpy(warp.rows_taken[index].data(), lane->block->shared.data(warp.given[index]),
                  kPieceBytes);
    }
    warp.meeting.release();
  }
  const int lane = lane_index();
  for (int i = 0; i < 4; ++i) {
    const auto source = static_cast<std::size_t>(8 * i + lane / 4);
    m[i] = warp.rows_taken[source][static_cast<std::size_t>(lane % 4)];
  }
}

void mma_warp_add(Operand operand, float* d, const u32* a, const u32* b) {
  Thread& thread = self();
  Warp& warp = thread.warp();
  if (operand == Operand::kOfLaunch) operand = launch_types().operand;
  warp.mmas[static_cast<std::size_t>(lane_index())] = {.d = d, .a = a, .b = b};
  const char* const word = operand == Operand::kFp16 ? "mma_warp of fp16" : "mma_warp of bf16";
  if (warp.meeting.join(thread, word)) {
    add_products(warp, operand);
    warp.meeting.release();
  }
}

}  // namespace thresher::gpu::hw
