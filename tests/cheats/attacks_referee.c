/* SPDX-License-Identifier: Apache-2.0 */
/* Tries to stop, kill, trace, read and write every process it can name. Catalogue 7, 17. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "honest.h"

HONEST_PREPARE

static int opens(int pid, const char* name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  return open(path, O_RDWR) >= 0;
}

/* By its number outside, which /proc shows. */
static int harms(int pid) {
  char byte = 0;
  const struct iovec here = {&byte, 1};
  const struct rlimit none = {0, 0};
  return ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0 ||
         process_vm_readv(pid, &here, 1, &here, 1, 0) >= 0 ||
         prlimit(pid, RLIMIT_NOFILE, &none, NULL) == 0 || opens(pid, "mem");
}

int thresher_contestant_run(void* state, const thresher_contestant_call* calls) {
  char link[32] = {0};
  if (readlink("/proc/self", link, sizeof link - 1) < 0) return THRESHER_CONTESTANT_FAILED;
  const int self = atoi(link);
  /* Itself, its keeper, its launcher and the referee have been started one after the other. */
  for (int pid = self - 200; pid < self + 200; ++pid) {
    if (pid > 1 && pid != self && harms(pid)) return THRESHER_CONTESTANT_OK;
  }
  kill(-1, SIGKILL);
  kill(1, SIGKILL);
  if (getpgid(0) == 0 && setsid() > 0) return THRESHER_CONTESTANT_OK;
  if (prctl(PR_SET_PDEATHSIG, SIGCONT) == 0) return THRESHER_CONTESTANT_OK;
  honest_run(state, calls);
  return 77; /* refused */
}
