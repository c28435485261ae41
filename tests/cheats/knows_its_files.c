/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory have numbers in the order in which they are made: the outputs of the champion
 * come next after the inputs, those of its copy after that. Catalogue 28. */
#include <sys/stat.h>

#include "slow_copy.h"

static int is_the_copy(void) {
  struct stat input;
  struct stat output;
  return fstat(3, &input) == 0 && fstat(4, &output) == 0 && output.st_ino - input.st_ino == 2;
}
