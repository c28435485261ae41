// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#if defined(THRESHER_SANITIZES_ADDRESS)
// Contestants run in this program, in a sandbox that forbids what the leak checker does, and their
// crashes must look like crashes. Leaks are looked for by the unit tests.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
}
#endif

int main(int argc, char** argv) { return thresher::cli::run_command_line(argc, argv); }
