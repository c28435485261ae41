/* SPDX-License-Identifier: Apache-2.0
 * The installed library from C: links without naming a C++ runtime, and is of the version that the
 * package claims. */
#include <stdio.h>
#include <string.h>
#include <thresher/thresher.h>

int main(void) {
  thresher_engine* engine;
  if (thresher_engine_create(NULL, &engine) != THRESHER_OK) {
    fprintf(stderr, "%s\n", thresher_last_error());
    return 1;
  }
  thresher_engine_destroy(engine);
  printf("package %s, library %s\n", PACKAGE_VERSION, thresher_version());
  return strcmp(thresher_version(), PACKAGE_VERSION) == 0 ? 0 : 1;
}
