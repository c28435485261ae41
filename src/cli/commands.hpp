// SPDX-License-Identifier: Apache-2.0
// The commands, one file each.
#pragma once

#include "cli/command.hpp"

namespace thresher::cli {

Command doctor_command();
Command verify_command();
Command bench_command();
Command variants_command();
Command suites_command();
Command inspect_command();
Command quantize_command();
Command match_command();
Command pitch_command();
Command constraints_command();
Command round_command();
Command season_command();
Command scoreboard_command();
Command forecast_command();
Command ledger_command();
Command report_command();
Command export_command();
Command referee_command();
Command referee_simulate_command();
Command referee_selftest_command();
Command tune_command();
Command task_command();
Command worker_command();
Command caretaker_command();

}  // namespace thresher::cli
