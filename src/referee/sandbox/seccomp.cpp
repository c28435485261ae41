// SPDX-License-Identifier: Apache-2.0
// A filter over system calls. Everything is allowed but what no kernel needs and a cheat does:
// reaching other processes, the network, namespaces, mounts; leaving the process group by which the
// referee stops and kills; and signals that the kernel would send later, because a timer that sends
// SIGCONT would wake a contestant that the referee has stopped.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "referee/sandbox/sandbox.hpp"

namespace thresher::referee {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

// Other numbers for the same calls: x86-64 kernels also take those of the x32 ABI.
constexpr std::uint32_t kX32Bit = 0x40000000;

constexpr int kDenied[] = {
    // Other processes.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_rt_tgsigqueueinfo, SYS_rt_sigqueueinfo,
    SYS_setpriority, SYS_ioprio_set, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
    SYS_setsid, SYS_setpgid, SYS_perf_event_open, SYS_bpf, SYS_userfaultfd, SYS_migrate_pages,
    SYS_move_pages,
    // Signals, and work of the kernel, for later.
    SYS_timer_create, SYS_mq_notify, SYS_io_setup, SYS_io_submit, SYS_readahead,
    // The network, and whatever else an address could reach. Pairs of sockets stay allowed.
    SYS_connect, SYS_accept, SYS_accept4, SYS_io_uring_setup, SYS_io_uring_enter,
    SYS_io_uring_register,
    // Namespaces, mounts, the machine.
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_move_mount, SYS_open_tree, SYS_mount_setattr,
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_add_key, SYS_request_key, SYS_keyctl,
    SYS_reboot, SYS_kexec_load, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_swapon,
    SYS_swapoff, SYS_quotactl, SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_syslog};

// Allowed to a backend that needs sockets; whoever may not connect or accept gets nowhere with
// them.
constexpr int kMakingSockets[] = {SYS_socket, SYS_bind, SYS_listen};

constexpr int kChangingAttributes[] = {
#if defined(__x86_64__)
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    // Newer than many a header: fchmodat2, setxattrat, removexattrat.
    452, 463, 466};

// Files in memory, secret ones (newer than many a header), and System V's segments.
constexpr int kMakingSharedMemory[] = {SYS_memfd_create, 447, SYS_shmget};

constexpr std::uint32_t kNamespaceFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                          CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                          CLONE_NEWNET;
constexpr std::uint32_t kSetSignal = 10;                         // fcntl's F_SETSIG
constexpr std::uint32_t kSetOwner[] = {8, 15};                   // F_SETOWN, F_SETOWN_EX
constexpr std::uint32_t kSetOwnerOfSocket[] = {0x8901, 0x8902};  // FIOSETOWN, SIOCSPGRP
constexpr std::uint32_t kWillNeed = 3;                           // fadvise's and madvise's WILLNEED
constexpr std::uint32_t kMergeMemory = 67;                       // prctl's PR_SET_MEMORY_MERGE
constexpr std::uint32_t kShareCores = 62;                        // prctl's PR_SCHED_CORE

constexpr std::uint32_t denial(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
}

// The low half of an argument; the tests below need no more.
constexpr std::uint32_t argument_offset(int index) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + sizeof(std::uint64_t) * index);
}

class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    answer_unless_equal(kArchitecture, SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    add(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1);
    answer(denial(ENOSYS));
#endif
  }

  void deny(int call, int error = EPERM) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
    answer(denial(error));
  }

  void deny_with_bits(int call, int argument, std::uint32_t bits) {
    deny_if(call, argument, BPF_JMP | BPF_JSET | BPF_K, bits, true);
  }
  void deny_with_value(int call, int argument, std::uint32_t value) {
    deny_if(call, argument, BPF_JMP | BPF_JEQ | BPF_K, value, true);
  }
  void deny_without_value(int call, int argument, std::uint32_t value) {
    deny_if(call, argument, BPF_JMP | BPF_JEQ | BPF_K, value, false);
  }

  void deny_with_all_bits(int call, int argument, std::uint32_t bits) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 5);
    load(argument_offset(argument));
    add(BPF_ALU | BPF_AND | BPF_K, bits);
    add(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1);
    answer(denial(EPERM));
    load(offsetof(seccomp_data, nr));
  }

  // The bits of `mask` must be one of `values`.
  void deny_unless_masked(int call, int argument, std::uint32_t mask,
                          std::initializer_list<std::uint32_t> values) {
    const auto count = static_cast<int>(values.size());
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, count + 4);
    load(argument_offset(argument));
    add(BPF_ALU | BPF_AND | BPF_K, mask);
    int left = count;
    for (const std::uint32_t value : values) add(BPF_JMP | BPF_JEQ | BPF_K, value, left--, 0);
    answer(denial(EPERM));
    load(offsetof(seccomp_data, nr));
  }

  bool install() {
    answer(SECCOMP_RET_ALLOW);
    const sock_fprog program = {static_cast<unsigned short>(code_.size()), code_.data()};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
  }

 private:
  void add(int operation, std::uint32_t value, int jump_true = 0, int jump_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(operation), static_cast<std::uint8_t>(jump_true),
                     static_cast<std::uint8_t>(jump_false), value});
  }
  void load(std::uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void answer(std::uint32_t value) { add(BPF_RET | BPF_K, value); }
  void answer_unless_equal(std::uint32_t value, std::uint32_t result) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    answer(result);
  }

  // Six instructions; the last restores the call's number for the rules that follow.
  void deny_if(int call, int argument, int test, std::uint32_t value, bool wanted) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(argument_offset(argument));
    add(test, value, wanted ? 0 : 1, wanted ? 1 : 0);
    answer(denial(EPERM));
    load(offsetof(seccomp_data, nr));
  }

  std::vector<sock_filter> code_;
};

}  // namespace

void filter_system_calls(const FilterOptions& options, const SandboxNeeds& needs,
                         Refusals& refusals) {
  if (kArchitecture == 0) {
    refusals.add(layer::kSystemCallFilter, "not written for this architecture");
    return;
  }
  Filter filter;
  for (const int call : kDenied) filter.deny(call);
  if (!needs.sockets) {
    for (const int call : kMakingSockets) filter.deny(call);
  }
  // The flags of clone3 lie in memory, where a filter cannot look; callers fall back to clone.
  filter.deny(SYS_clone3, ENOSYS);
  filter.deny_with_bits(SYS_clone, 0, kNamespaceFlags);
  // A child that ends must not send its parent what would wake it.
  filter.deny_unless_masked(SYS_clone, 0, CSIGNAL, {0, SIGCHLD});
  filter.deny_with_value(SYS_fcntl, 1, kSetSignal);
  // Nor may a file that has news signal anybody.
  for (const std::uint32_t command : kSetOwner) filter.deny_with_value(SYS_fcntl, 1, command);
  for (const std::uint32_t command : kSetOwnerOfSocket)
    filter.deny_with_value(SYS_ioctl, 1, command);
  // Keeps the death signal by which a contestant goes when the referee does.
  filter.deny_with_value(SYS_prctl, 0, PR_SET_PDEATHSIG);
  // Keeps what it does in sight, and its orphans with their keeper.
  filter.deny_with_value(SYS_prctl, 0, PR_SET_DUMPABLE);
  filter.deny_with_value(SYS_prctl, 0, PR_SET_CHILD_SUBREAPER);
  // The kernel would look for equal pages while it is stopped.
  filter.deny_with_value(SYS_madvise, 2, MADV_MERGEABLE);
  filter.deny_with_value(SYS_prctl, 0, kMergeMemory);
  // Nor fetch from disks what a rival's time would be lost to.
  filter.deny_with_value(SYS_fadvise64, 3, kWillNeed);
  filter.deny_with_value(SYS_madvise, 2, kWillNeed);
  // Who shares no core with others idles the core's other half, and with it whoever runs there.
  filter.deny_with_value(SYS_prctl, 0, kShareCores);
  filter.deny_without_value(SYS_prlimit64, 0, 0);
  if (options.keeps_attributes) {
    for (const int call : kChangingAttributes) filter.deny(call);
  }
  if (options.owns_memory) {
    for (const int call : kMakingSharedMemory) filter.deny(call);
    filter.deny_with_all_bits(SYS_mmap, 3, MAP_SHARED | MAP_ANONYMOUS);
  }
  if (options.own_processes_only) {
    const auto own = static_cast<std::uint32_t>(getpid());
    for (const int call : {SYS_kill, SYS_tgkill}) filter.deny_without_value(call, 0, own);
    filter.deny(SYS_tkill);
    filter.deny_without_value(SYS_sched_setaffinity, 0, 0);
  }
  if (!filter.install()) refusals.add_errno(layer::kSystemCallFilter, "seccomp");
}

}  // namespace thresher::referee
