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
#include <vector>

namespace thresher::referee {

// The layers by the names users see.
namespace layer {
inline constexpr const char* kUnprivilegedUser = "unprivileged user";
inline constexpr const char* kUserNamespace = "user namespace";
inline constexpr const char* kNetworkNamespace = "network namespace";
inline constexpr const char* kIpcNamespace = "ipc namespace";
inline constexpr const char* kProcessNamespace = "process namespace";
inline constexpr const char* kProcessLimit = "process limit";
inline constexpr const char* kMemoryLimit = "memory limit";
inline constexpr const char* kOtherLimits = "cpu, file and core limits";
inline constexpr const char* kNoNewPrivileges = "no new privileges";
inline constexpr const char* kWriteProtection = "write protection";
inline constexpr const char* kSystemCallFilter = "system call filter";
inline constexpr const char* kSealedInputs = "sealed inputs";
}  // namespace layer

// Who contestants run as when the referee is root: "nobody", who owns nothing. Limits on processes
// do not bind root, and root may write where Landlock is missing.
inline constexpr uid_t kUnprivilegedId = 65534;

struct SandboxLimits {
  std::int64_t cpu_seconds = 600;  // of all threads of one process
  std::int64_t address_space_bytes = std::int64_t{2} << 30;
  std::int64_t file_bytes = std::int64_t{256} << 20;
  std::int64_t open_files = 256;
  std::int64_t processes = 128;  // and threads
};

// What the processes of a backend do not run without. The reasons stand in verdicts.
struct SandboxNeeds {
  const char* no_process_namespace = nullptr;  // why they cannot start in one; null: they can
  const char* no_memory_limit = nullptr;       // why they need more addresses than any limit
  const char* device_files = nullptr;          // files of /dev that begin so, and those of the
                                               // process under /proc, are written to
  bool sockets = false;                        // made and listened to, but never connected
};

// Layers the kernel refused, and why.
class Refusals {
 public:
  void add(const char* layer_name, std::string_view why);
  // With the meaning of errno.
  void add_errno(const char* layer_name, std::string_view step);
  bool contains(const char* layer_name) const;
  const std::vector<std::string>& texts() const { return texts_; }  // "layer: why"

 private:
  std::vector<std::string> texts_;
};

// Leaves root for an unprivileged user, and enters new user, network, IPC and process namespaces.
// The process namespace begins with the next child. Needs a process with one thread.
void enter_namespaces(const SandboxNeeds& needs, Refusals& refusals);

// Needs to come after enter_namespaces: in a user namespace of its own a contestant's processes are
// counted apart from everybody else's, outside it the limit would count those of the whole user.
void set_limits(const SandboxLimits& limits, const SandboxNeeds& needs, Refusals& refusals);

// Only files under `scratch` can be written, created, moved or removed from now on, by this process
// and all it starts (Landlock). Without `scratch` none can. Reading stays free.
void forbid_writes_outside(const std::filesystem::path& scratch, const SandboxNeeds& needs,
                           Refusals& refusals);

// The system calls that reach other processes, the network, namespaces and mounts fail with EPERM
// from now on (seccomp). `own_processes_only` also keeps signals inside this process, for when no
// process namespace does.
void filter_system_calls(bool own_processes_only, const SandboxNeeds& needs, Refusals& refusals);

void forbid_new_privileges(Refusals& refusals);

// For `thresher doctor`: what this machine grants, found by starting a process that asks for all.
struct Protection {
  std::string name;
  bool ok = true;
  std::string why_not;
};

// `program` is the thresher binary; empty means the running one.
std::vector<Protection> probe_protections(const std::filesystem::path& program = {});

}  // namespace thresher::referee
