// SPDX-License-Identifier: Apache-2.0
// The kernel's groups (cgroups) that hold all processes of one contestant, however it starts them:
// frozen, counted, limited and killed together, from outside.
//
// A cage is made below the referee's own groups, so that whatever limits the operator has set hold
// for contestants too. Version 2 of the kernel's interface freezes, kills and counts CPU time
// without any controller, and holds memory, cores and the number of processes with one (seat.hpp);
// what it lacks is taken from version 1 where that is mounted. What cannot be had is named, and the
// caller has weaker means (child.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {

struct CageLimits {
  std::int64_t memory_bytes = 0;  // of all processes together; 0: none
  std::vector<int> cores;         // empty: as the referee's own
  std::int64_t processes = 0;     // and threads, where version 2 counts them; 0: none
};

// Where to look, for tests; empty: where the kernel says.
struct CageRoots {
  std::filesystem::path unified;  // version 2
  std::filesystem::path freezer;  // version 1, a hierarchy each
  std::filesystem::path memory;
  std::filesystem::path cpuset;
  std::filesystem::path cpu_time;
};

// The referee's own groups.
CageRoots find_cage_roots();

class Cage {
 public:
  explicit Cage(const CageLimits& limits, const CageRoots& roots = find_cage_roots());
  Cage(const Cage&) = delete;
  Cage& operator=(const Cage&) = delete;
  // Kills what is left inside.
  ~Cage();

  // Files that a process writes "0" to, and is inside.
  const std::vector<std::string>& doors() const { return doors_; }

  bool can_freeze() const { return static_cast<bool>(freeze_); }
  void freeze();
  void thaw();
  // All of it: nobody inside runs, in user or in kernel mode.
  bool is_frozen() const;

  bool limits_memory() const { return static_cast<bool>(memory_kills_); }
  // How many processes the kernel has ended for going over the limit.
  std::int64_t memory_kill_count() const;
  bool binds_cores() const { return binds_cores_; }
  bool limits_processes() const { return limits_processes_; }
  // Of all that has ever run inside; nothing where the kernel does not count.
  std::optional<std::int64_t> cpu_ns() const;

  void kill() const;

  // Why something is missing; empty if it is there.
  const std::string& why_no_freezer() const { return why_no_freezer_; }
  const std::string& why_no_memory_limit() const { return why_no_memory_limit_; }
  const std::string& why_no_cores() const { return why_no_cores_; }

 private:
  bool make_in(const std::filesystem::path& parent, std::string& why_not);
  bool has_controller(const CageRoots& roots, const char* name, std::string& why_not) const;
  void enter_unified(const CageRoots& roots);
  void enter_freezer(const CageRoots& roots);
  void limit_memory(const CageRoots& roots, std::int64_t bytes);
  void limit_processes(const CageRoots& roots, std::int64_t count);
  void bind_cores(const CageRoots& roots, const std::vector<int>& cores);
  void count_cpu_time(const CageRoots& roots);

  struct Folder {
    std::filesystem::path path;
    UniqueFd lock;  // dies with the referee: then the folder is nobody's
  };
  std::string name_;
  std::vector<Folder> folders_;
  std::vector<std::string> doors_;
  std::filesystem::path unified_;  // empty: none
  bool version_1_freezer_ = false;
  bool binds_cores_ = false;
  bool limits_processes_ = false;
  UniqueFd freeze_;
  UniqueFd frozen_;
  UniqueFd cpu_time_;
  bool cpu_time_is_stat_ = false;
  UniqueFd memory_kills_;
  std::string why_no_freezer_;
  std::string why_no_memory_limit_;
  std::string why_no_cores_;
};

// Ends all that is in the group of this folder, frozen or not.
void kill_cage(const std::filesystem::path& folder);
// False when it is still there: somebody inside has not ended yet.
bool remove_cage(const std::filesystem::path& folder);

}  // namespace thresher::referee
