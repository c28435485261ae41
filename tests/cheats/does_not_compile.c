/* SPDX-License-Identifier: Apache-2.0 */
/* Round 2 of the seeds: the winning pitch did not compile. */
#include <thresher/contestant.h>

int thresher_contestant_abi_version(void) { return tile_size_128x64; }
