// SPDX-License-Identifier: Apache-2.0
// Runs a program of the system and takes what it says. No shell reads its words.
#pragma once

#include <string>
#include <vector>

namespace thresher::cluster {

inline constexpr int kNoSuchProgram = 127;

struct ProgramResult {
  int exit_code = 0;  // or kNoSuchProgram; 128 + n: ended by signal n
  std::string out;
  std::string err;

  bool ok() const { return exit_code == 0; }
  // The last line of what it complained of, for a message.
  std::string complaint() const;
};

// Found by PATH. Gets `input` on stdin; is killed when it takes longer than `seconds_max`.
ProgramResult run_program(std::vector<std::string> words, const std::string& input = {},
                          double seconds_max = 60);

}  // namespace thresher::cluster
