// SPDX-License-Identifier: Apache-2.0
// What verify found, per variant, for people and for machines.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/verify_case.hpp"

namespace thresher::cli {

struct Failure {
  std::string backend = "cpu";
  std::string device = {};
  std::string suite;
  std::string suite_option = "--suite";
  std::string suite_argument;  // a name or a path
  std::string problem;
  std::string family;
  std::uint64_t seed = 0;
  Runner runner;
  Finding finding;
};

// The way of a runner on the CPU: "1 thread", "2 threads".
std::string threads_way(int thread_count);

// The command that runs this case again, alone but for the twin it disagrees with.
std::string repeat_command(const Failure& failure);

class VerifyReport {
 public:
  void add_checked(const Runner& runner, const std::string& problem, const Finding& finding);
  void add_skipped(const Runner& runner, const std::string& why);
  void add_failure(Failure failure) { failures_.push_back(std::move(failure)); }
  // What was found after it.
  void append(VerifyReport later);

  std::int64_t check_count() const;
  const std::vector<Failure>& failures() const { return failures_; }

  void print_tables(std::uint64_t seed) const;
  void print_json(std::uint64_t seed) const;

 private:
  struct Tally {
    std::set<std::string> problems;
    std::int64_t check_count = 0;
    std::int64_t failed_count = 0;
    double max_error_over_bound = 0;
    std::map<std::string, std::int64_t> skipped;  // by reason

    std::int64_t skipped_count() const;
  };
  struct NamedTally {
    std::string variant;
    Tally tally;
  };

  Tally& tally_of(const std::string& variant);

  std::vector<NamedTally> tallies_;  // in the order variants were met
  std::vector<Failure> failures_;
};

}  // namespace thresher::cli
