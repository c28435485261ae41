// SPDX-License-Identifier: Apache-2.0
// What bulk copies have in common when a thread issues them: where they may go and come from, and
// what they do to the shared memory and to the barrier of the blocks that they reach.
#pragma once

#include "emulator/block.hpp"

namespace thresher::emulator {

void check_shared_end(const Thread& thread, const Block& block, SharedAddress shared, u32 bytes,
                      u32 alignment, const char* direction);
void check_global_end(const Thread& thread, const void* global, u32 bytes, bool write);

// Where the bytes of a copy come to, and the barrier that is told.
struct CopyPlace {
  Block& block;
  SharedAddress destination;
  u32 bytes;
  Block& told;
  SharedAddress barrier;
};
BulkCopy::Target issue_to(Thread& thread, const CopyPlace& place);

// Who reads global memory by the copy, until its barrier tells of it.
void note_source(const BulkCopy::Target& target, const void* source, u32 bytes);

}  // namespace thresher::emulator
