// SPDX-License-Identifier: Apache-2.0
// What a contestant's process may not do, layer by layer. The steps are taken by the process itself
// before any of the contestant's code runs (launcher.hpp), and none of them can be taken back.
//
// A layer that the kernel refuses is named and left out, never fatal: a container without user
// namespaces still gets the system call filter. Verdicts carry the names of what was missing. So is
// what a backend does not run under: its row of the venues (venue.hpp) says what it needs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thresher::referee {

// The layers by the names users see.
namespace layer {
inline constexpr const char* kUnprivilegedUser = "unprivileged user";
inline constexpr const char* kUserNamespace = "user namespace";
inline constexpr const char* kNetworkNamespace = "network namespace";
inline constexpr const char* kIpcNamespace = "ipc namespace";
inline constexpr const char* kProcessNamespace = "process namespace";
inline constexpr const char* kPrivateFiles = "private files";
inline constexpr const char* kHiddenFiles = "hidden files";
inline constexpr const char* kProcessLimit = "process limit";
inline constexpr const char* kMemoryLimit = "memory limit";
inline constexpr const char* kOtherLimits = "cpu, file and core limits";
inline constexpr const char* kNoNewPrivileges = "no new privileges";
inline constexpr const char* kWriteProtection = "write protection";
inline constexpr const char* kSystemCallFilter = "system call filter";
inline constexpr const char* kSealedInputs = "sealed inputs";
inline constexpr const char* kFreezer = "freezer";
inline constexpr const char* kMemoryOfAll = "memory limit of all processes";
inline constexpr const char* kBoundCores = "bound cores";
// Nothing a kernel gives: CPU time, held against --threads by the referee.
inline constexpr const char* kCountedThreads = "counted CPU time";
}  // namespace layer

// Who contestants run as when the referee is root: "nobody", who owns nothing. Limits on processes
// do not bind root, and root may write where Landlock is missing.
inline constexpr uid_t kUnprivilegedId = 65534;

// How a sandbox is to differ from what everybody gets.
struct Confinement {
  // Files and folders that contestants shall not see. Folders that hold a contestant itself cannot
  // be hidden from it.
  std::vector<std::filesystem::path> hidden;
  // Layers to do without, as if the kernel refused them, alone or with the reason ("layer: why").
  std::vector<std::string> without;
  // No sandbox: a program of the operator's, which runs as himself, in his environment, and is only
  // stopped, and ended with all that it has started. Never for a contestant.
  bool is_operators = false;
};

// What a process may map besides its own memory. Libraries are the most of it: CUDA's alone, which
// a PyTorch built for GPUs maps on a CPU too, are several gigabytes.
inline constexpr std::int64_t kMappedBytesMax = std::int64_t{8} << 30;

struct SandboxLimits {
  std::int64_t cpu_seconds = 600;                     // of all threads of one process
  std::int64_t memory_bytes = std::int64_t{2} << 30;  // of one process's own
  std::int64_t file_bytes = std::int64_t{256} << 20;
  std::int64_t open_files = 256;
  std::int64_t processes = 128;  // and threads
};

// What the processes of a backend do not run without. The reasons stand in verdicts.
struct SandboxNeeds {
  const char* no_memory_limit = nullptr;  // why they need more addresses than any limit
  const char* device_files = nullptr;     // files of /dev that begin so, and those of the
                                          // process under /proc, are written to
  bool sockets = false;                   // made and listened to, but never connected
};

// Layers the kernel refused, and why.
class Refusals {
 public:
  // The layers of `without` are to be left out, as if the kernel refused them.
  explicit Refusals(std::vector<std::string> without = {}) : without_(std::move(without)) {}

  // Whether the layer is one of those, which is then a refusal.
  bool leaves_out(const char* layer_name);
  void add(const char* layer_name, std::string_view why);
  // With the meaning of errno.
  void add_errno(const char* layer_name, std::string_view step);
  bool contains(const char* layer_name) const;
  const std::vector<std::string>& texts() const { return texts_; }  // "layer: why"

 private:
  std::vector<std::string> without_;
  std::vector<std::string> texts_;
};

struct FileTree {
  std::vector<std::filesystem::path> hidden;
  std::filesystem::path scratch;  // may be empty
  // The scratch folder becomes memory of the contestant's own. Otherwise it stays the folder it is,
  // for what the referee is to find there.
  bool scratch_in_memory = true;
  std::int64_t scratch_bytes = std::int64_t{1} << 30;
  std::int64_t scratch_files = 1 << 16;
};

// Enters new network, IPC, process and mount namespaces, in the last of which files are arranged.
// The process namespace begins with the next child. Needs a process with one thread.
void enter_namespaces(const FileTree& tree, Refusals& refusals);

// What is left to be done by the first process in there: leaves root for an unprivileged user in a
// user namespace, and every right with it.
void give_up_rights(Refusals& refusals);

// Parts of the two above. In a mount namespace that was just entered; in a process namespace.
void arrange_files(const FileTree& tree, Refusals& refusals);
bool show_own_processes_only();

// Needs to come after give_up_rights: in a user namespace of its own a contestant's processes are
// counted apart from everybody else's, outside it the limit would count those of the whole user.
// That is no loss to whom a cage counts (`processes_are_caged`).
void set_limits(const SandboxLimits& limits, const SandboxNeeds& needs, bool processes_are_caged,
                Refusals& refusals);

struct FileRules {
  std::filesystem::path scratch;                // may be empty
  std::vector<std::filesystem::path> readable;  // empty: everything but what is hidden
  std::vector<std::filesystem::path> hidden;
};

// Only files under `scratch` can be written, created, moved or removed from now on, by this process
// and all it starts (Landlock). Without `scratch` none can. Reading stays free, but for files that
// are `hidden`, for when no mount namespace hides them; unless `readable` says what may be read
// beside `scratch` and the system's folders (/proc, /sys and devices are none).
void forbid_writes_outside(const FileRules& rules, const SandboxNeeds& needs, Refusals& refusals);

// The system calls that reach other processes, the network, namespaces and mounts fail with EPERM
// from now on (seccomp). `own_processes_only` also keeps signals inside this process, for when no
// process namespace does; `keeps_attributes` refuses to change modes, owners, times and attributes
// of any file, for when no mount namespace does that for all but the scratch folder; `owns_memory`
// refuses memory that belongs to no process, for when no cgroup counts it.
struct FilterOptions {
  bool own_processes_only = false;
  bool keeps_attributes = false;
  bool owns_memory = false;
};
void filter_system_calls(const FilterOptions& options, const SandboxNeeds& needs,
                         Refusals& refusals);

void forbid_new_privileges(Refusals& refusals);

// For `thresher doctor`: what this machine grants, found by starting a process that asks for all.
struct Protection {
  std::string name;
  bool ok = true;
  std::string why_not;
  std::string otherwise;  // what is left without it
};

// `program` is the thresher binary; empty means the running one.
std::vector<Protection> probe_protections(const std::filesystem::path& program = {});

}  // namespace thresher::referee
