// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "referee/sandbox/child.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "referee/sandbox/scratch.hpp"
#include "referee/stage/arena.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

constexpr auto kTimeout = std::chrono::seconds(10);

constexpr const char* kLayers[] = {
    layer::kUnprivilegedUser, layer::kUserNamespace,    layer::kNetworkNamespace,
    layer::kIpcNamespace,     layer::kProcessNamespace, layer::kProcessLimit,
    layer::kMemoryLimit,      layer::kOtherLimits,      layer::kNoNewPrivileges,
    layer::kWriteProtection,  layer::kSystemCallFilter, layer::kSealedInputs};

}  // namespace

std::vector<Protection> probe_protections(const std::filesystem::path& program) {
  const ScratchFolder scratch(FolderOwner::kContestant);
  Child child(
      {.program = program, .order = {.job = {.kind = JobKind::kProbe}, .scratch = scratch.path()}});
  if (!child.wait_until_started(Clock::now() + kTimeout)) {
    throw Error(fmt::format("the sandbox cannot be tried: {}", child.describe_end()));
  }
  std::vector<std::string> refusals = child.refusals();
  if (!Arena(ChildAccess::kRead, 1).sealed()) {
    refusals.push_back(fmt::format("{}: this kernel has no such seal", layer::kSealedInputs));
  }
  std::vector<Protection> protections;
  for (const char* name : kLayers) {
    Protection protection{.name = name};
    const std::string prefix = fmt::format("{}: ", name);
    for (const std::string& refusal : refusals) {
      if (refusal.starts_with(prefix)) protection.why_not = refusal.substr(prefix.size());
    }
    protection.ok = protection.why_not.empty();
    protections.push_back(std::move(protection));
  }
  return protections;
}

}  // namespace thresher::referee
