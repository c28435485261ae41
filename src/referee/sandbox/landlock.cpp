// SPDX-License-Identifier: Apache-2.0
// Landlock: the kernel's way for a process to give up rights on files for itself and its children.
//
// The numbers are spelt out because the kernel a binary meets is often newer than the headers it
// was built with; each ABI version adds rights, and asking for an unknown one is an error.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "referee/sandbox/sandbox.hpp"
#include "referee/sandbox/scratch.hpp"

namespace thresher::referee {
namespace {

// struct landlock_ruleset_attr; older kernels take its first 8 or 16 bytes.
struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};

// struct landlock_path_beneath_attr
struct __attribute__((packed)) PathBeneath {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

constexpr std::uint32_t kAskVersion = 1;
constexpr int kRulePathBeneath = 1;

constexpr std::uint64_t kWriteFile = 1u << 1;
constexpr std::uint64_t kReadFile = 1u << 2;
constexpr std::uint64_t kRemoveAndMake = 0x1ff0;    // bits 4 to 12
constexpr std::uint64_t kRefer = 1u << 13;          // move or link between folders; ABI 2
constexpr std::uint64_t kTruncate = 1u << 14;       // ABI 3
constexpr std::uint64_t kSpeakToDevice = 1u << 15;  // by ioctl; ABI 5
constexpr std::uint64_t kBindAndConnectTcp = 3;     // ABI 4
constexpr std::uint64_t kSocketsAndSignals = 3;     // to processes outside the domain; ABI 6

RulesetAttributes attributes_of(long abi) {
  RulesetAttributes attributes{.handled_access_fs = kWriteFile | kRemoveAndMake};
  if (abi >= 2) attributes.handled_access_fs |= kRefer;
  if (abi >= 3) attributes.handled_access_fs |= kTruncate;
  if (abi >= 4) attributes.handled_access_net = kBindAndConnectTcp;
  if (abi >= 6) attributes.scoped = kSocketsAndSignals;
  return attributes;
}

std::size_t attribute_bytes(long abi) { return abi >= 6 ? 24 : abi >= 4 ? 16 : 8; }

// Where programs, libraries, headers and settings of the system lie, and what programs expect of
// any system. Not what it says of itself, nor what others leave in memory: a source that included
// that would be another at every build, and its hash the same.
constexpr const char* kSystemFiles[] = {"/usr",    "/lib", "/lib32",    "/lib64",
                                        "/libx32", "/bin", "/sbin",     "/etc",
                                        "/opt",    "/nix", "/dev/null", "/dev/urandom"};

bool allow(int ruleset, const char* path, std::uint64_t access) {
  const UniqueFd folder(open(path, O_PATH | O_CLOEXEC));
  if (!folder) return false;
  const PathBeneath rule{.allowed_access = access, .parent_fd = folder.get()};
  return syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0) == 0;
}

// A driver's devices, as far as there are any, and the process's own files.
bool allow_devices(int ruleset, const char* name_begin, std::uint64_t access) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    const bool is_device = entry.path().filename().string().starts_with(name_begin);
    if (is_device && !allow(ruleset, entry.path().c_str(), access)) return false;
  }
  return allow(ruleset, "/proc/self", access);
}

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// Everything below `folder` but what is hidden: a ruleset only knows what is allowed, so that is
// whatever stands beside the way to each hidden file. What cannot be opened or is made there later
// is not allowed. A link may lead to what is hidden; where it leads to is asked about anyway.
void allow_reading_around(int ruleset, const std::filesystem::path& folder,
                          const std::vector<std::filesystem::path>& hidden) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::filesystem::path& path = entry.path();
    const auto is_in = [&](const auto& one) { return lies_in(path, one); };
    const auto holds = [&](const auto& one) { return lies_in(one, path); };
    if (entry.is_symlink(ignored) || std::any_of(hidden.begin(), hidden.end(), is_in)) continue;
    if (std::any_of(hidden.begin(), hidden.end(), holds)) {
      allow_reading_around(ruleset, path, hidden);
    } else {
      allow(ruleset, path.c_str(), kReadFile);
    }
  }
}

std::vector<std::filesystem::path> without_links(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> resolved;
  for (const std::filesystem::path& path : paths) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
    // What cannot be followed, below what is no folder for one, is where its name says.
    resolved.push_back(error ? path.lexically_normal() : found);
  }
  return resolved;
}

// Folders that a system does not have are no failure.
bool allow_reading(int ruleset, const std::vector<std::filesystem::path>& readable) {
  for (const char* path : kSystemFiles) {
    if (access(path, F_OK) == 0 && !allow(ruleset, path, kReadFile)) return false;
  }
  for (const std::filesystem::path& folder : readable) {
    if (access(folder.c_str(), F_OK) == 0 && !allow(ruleset, folder.c_str(), kReadFile)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void forbid_writes_outside(const FileRules& rules, const SandboxNeeds& needs, Refusals& refusals) {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (abi < 1) {
    refusals.add_errno(layer::kWriteProtection, "this kernel has no Landlock");
    return;
  }
  RulesetAttributes attributes = attributes_of(abi);
  const bool limits_reading = !rules.readable.empty();
  const bool hides = !limits_reading && !rules.hidden.empty();
  if (limits_reading || hides) attributes.handled_access_fs |= kReadFile;
  // Whoever may read a device may otherwise have it work: a graphics card computes, too.
  if (abi >= 5 && needs.device_files == nullptr) attributes.handled_access_fs |= kSpeakToDevice;
  const UniqueFd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, attribute_bytes(abi), 0)));
  if (ruleset && hides) allow_reading_around(ruleset.get(), "/", without_links(rules.hidden));
  // Programs expect to be able to throw things away.
  const std::uint64_t device_access =
      attributes.handled_access_fs & (kWriteFile | kTruncate | kSpeakToDevice);
  const bool ok = ruleset && allow(ruleset.get(), "/dev/null", device_access) &&
                  (needs.device_files == nullptr ||
                   allow_devices(ruleset.get(), needs.device_files, device_access)) &&
                  (!limits_reading || allow_reading(ruleset.get(), rules.readable)) &&
                  (rules.scratch.empty() ||
                   allow(ruleset.get(), rules.scratch.c_str(), attributes.handled_access_fs)) &&
                  syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
  if (!ok) refusals.add_errno(layer::kWriteProtection, "Landlock");
}

}  // namespace thresher::referee
