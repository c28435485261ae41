// SPDX-License-Identifier: Apache-2.0
// The program of a contestant that is a command: where the operator has it, or why it is nowhere.
#pragma once

#include <string>

#include "referee/contestant/contestant.hpp"

namespace thresher::referee {

// As the operator's PATH has it, so that an active virtual environment counts: inside the sandbox
// PATH is another one. Programs that contestants may not run are passed over: under root they are
// somebody else. What is not found, or has a folder in its name, stays as it is.
std::string found_program(const std::string& program, const char* path);

// The first in `path` that the operator may run himself; `program` where there is none.
std::string operators_program(const std::string& program, const char* path);

// A sentence about the program that PATH has first and found_program passes over; empty: none.
std::string passed_over_program(const Contestant& contestant, const char* path);

// Why a command cannot start here, known without starting it: its program is not in `path`, not in
// its folder or not executable, or its script is not there. Empty: nothing speaks against it, or it
// is no command.
std::string why_no_program(const Contestant& contestant, const char* path);

}  // namespace thresher::referee
