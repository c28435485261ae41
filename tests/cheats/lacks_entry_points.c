/* SPDX-License-Identifier: Apache-2.0 */
/* A library without the functions a contestant must have. */
#include <thresher/contestant.h>

int thresher_contestant_abi_version(void) { return THRESHER_CONTESTANT_ABI_VERSION; }
