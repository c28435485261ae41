// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/sandbox.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "referee/sandbox/child.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/stage/arena.hpp"
#include "referee/timing/cores.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

// A sanitizer reserves terabytes of addresses that it never touches.
#if defined(THRESHER_SANITIZES_ADDRESS) || defined(THRESHER_SANITIZES_THREAD)
constexpr bool kReservesAddresses = true;
#else
constexpr bool kReservesAddresses = false;
#endif

bool limit(__rlimit_resource resource, std::int64_t value) {
  const auto bound = static_cast<rlim_t>(value);
  const struct rlimit both = {bound, bound};
  return setrlimit(resource, &both) == 0;
}

constexpr auto kTimeout = std::chrono::seconds(10);

struct Layer {
  const char* name;
  const char* otherwise;  // what is left without it; docs/security.md says more
};

constexpr Layer kLayers[] = {
    {layer::kUnprivilegedUser, "contestants run as the operator"},
    {layer::kUserNamespace, "processes of the whole user are counted together"},
    {layer::kNetworkNamespace, "no sockets can be made or connected"},
    {layer::kIpcNamespace, "queues and shared memory of others can be seen"},
    {layer::kProcessNamespace, "no signals, limits or schedules of other processes"},
    {layer::kPrivateFiles, "no modes, owners, times or attributes; hidden files cannot be read"},
    {layer::kProcessLimit, "processes end with the call's time"},
    {layer::kMemoryLimit, "the limit of all processes"},
    {layer::kOtherLimits, "processes end with the call's time"},
    {layer::kNoNewPrivileges, "programs with rights of others would have them"},
    {layer::kWriteProtection, "the rights of the user"},
    {layer::kSystemCallFilter, "the namespaces"},
    {layer::kSealedInputs, "inputs are compared after every call"},
    {layer::kFreezer, "SIGSTOP, and a look at every task and its CPU time"},
    {layer::kMemoryOfAll, "the limit of each, and a count after every call"},
    {layer::kBoundCores, "an affinity, and a look at it and the CPU time after every call"},
};

}  // namespace

void Refusals::add(const char* layer_name, std::string_view why) {
  texts_.push_back(fmt::format("{}: {}", layer_name, why));
}

void Refusals::add_errno(const char* layer_name, std::string_view step) {
  add(layer_name, fmt::format("{}: {}", step, std::strerror(errno)));
}

bool Refusals::leaves_out(const char* layer_name) {
  const std::string prefix = fmt::format("{}: ", layer_name);
  for (const std::string& text : without_) {
    if (text != layer_name && !text.starts_with(prefix)) continue;
    add(layer_name, text == layer_name ? "left out by request" : text.substr(prefix.size()));
    return true;
  }
  return false;
}

bool Refusals::contains(const char* layer_name) const {
  const std::string prefix = fmt::format("{}: ", layer_name);
  for (const std::string& text : texts_) {
    if (text.starts_with(prefix)) return true;
  }
  return false;
}

void set_limits(const SandboxLimits& limits, const SandboxNeeds& needs, bool processes_are_caged,
                Refusals& refusals) {
  // Not 0, which holds for files alone: a program that a kernel hands core dumps to would run, as
  // root, while others are timed. Of 1 byte it knows that nobody is to be started.
  constexpr std::int64_t kNoCoreDumps = 1;
  const bool ok = limit(RLIMIT_CPU, limits.cpu_seconds) && limit(RLIMIT_CORE, kNoCoreDumps) &&
                  limit(RLIMIT_FSIZE, limits.file_bytes) && limit(RLIMIT_NOFILE, limits.open_files);
  if (!ok) refusals.add_errno(layer::kOtherLimits, "setrlimit");

  if (kReservesAddresses) {
    refusals.add(layer::kMemoryLimit, "this build has a sanitizer");
  } else if (needs.no_memory_limit != nullptr) {
    refusals.add(layer::kMemoryLimit, needs.no_memory_limit);
  } else if (!limit(RLIMIT_DATA, limits.memory_bytes) ||
             !limit(RLIMIT_AS, limits.memory_bytes + kMappedBytesMax)) {
    refusals.add_errno(layer::kMemoryLimit, "setrlimit");
  }

  // Elsewhere the limit would count all processes of the user, most of which are none of ours.
  const bool counted_apart =
      !refusals.contains(layer::kUserNamespace) || geteuid() == kUnprivilegedId;
  if (!counted_apart) {
    if (!processes_are_caged) refusals.add(layer::kProcessLimit, "needs a user namespace");
  } else if (!limit(RLIMIT_NPROC, limits.processes)) {
    refusals.add_errno(layer::kProcessLimit, "setrlimit");
  }
}

void forbid_new_privileges(Refusals& refusals) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    refusals.add_errno(layer::kNoNewPrivileges, "prctl");
  }
}

std::vector<Protection> probe_protections(const std::filesystem::path& program) {
  const ScratchFolder scratch(FolderOwner::kContestant);
  // A core is asked for, so that binding is tried.
  const std::vector<CoreUse> usable = core_use();
  Child child({.program = program,
               .order = {.job = {.kind = JobKind::kProbe}, .scratch = scratch.path()},
               .cores = usable.empty() ? std::vector<int>() : std::vector<int>{usable[0].core}});
  if (!child.wait_until_started(Clock::now() + kTimeout)) {
    throw Error(fmt::format("the sandbox cannot be tried: {}", child.describe_end()));
  }
  std::vector<std::string> refusals = child.refusals();
  if (!Arena(ChildAccess::kRead, 1).sealed()) {
    refusals.push_back(fmt::format("{}: this kernel has no such seal", layer::kSealedInputs));
  }
  std::vector<Protection> protections;
  for (const Layer& one : kLayers) {
    Protection protection{.name = one.name, .otherwise = one.otherwise};
    const std::string prefix = fmt::format("{}: ", one.name);
    for (const std::string& refusal : refusals) {
      if (refusal.starts_with(prefix)) protection.why_not = refusal.substr(prefix.size());
    }
    protection.ok = protection.why_not.empty();
    protections.push_back(std::move(protection));
  }
  return protections;
}

}  // namespace thresher::referee
