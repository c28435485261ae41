/* SPDX-License-Identifier: Apache-2.0 */
/* Asks somebody else for the answer. Catalogue 21. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "honest.h"

HONEST_PREPARE

static int reaches(int family) {
  const int fd = socket(family, SOCK_STREAM, 0);
  if (fd < 0) return 0;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(80)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(fd, (const struct sockaddr*)&address, sizeof address);
  return 1;
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  if (reaches(AF_INET) || reaches(AF_INET6) || reaches(AF_UNIX)) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
