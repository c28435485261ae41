/* SPDX-License-Identifier: Apache-2.0 */
/* docs/contestants.md, the C interface: what the document declares is what the header declares. */
#include "thresher/contestant.h"

// body

int main(void) { return 0; }
