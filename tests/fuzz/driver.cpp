// SPDX-License-Identifier: Apache-2.0
// A small fuzzer for compilers without libFuzzer. It links with one LLVMFuzzerTestOneInput.
//
//   suite_fuzz --seconds 10 [--seed 42] suites/*.toml    mutates the files until the time is up
//   suite_fuzz FILE...                                   runs each file once, as it is
//
// Inputs are tried in a child process that keeps the current one in shared memory: whatever ends
// the child (a signal, a sanitizer, an exception, the timer of a hang), the parent still has the
// input, writes it to a file and prints the command that repeats it. Such files are tried first the
// next time, so that another seed does not hide what one has found.
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/mutate.hpp"
#include "gemm/random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using thresher::fuzz::kInputBytesMax;

constexpr int kHangSeconds = 20;

struct Shared {
  std::uint64_t execution_count;
  std::size_t input_bytes;
  char input[kInputBytesMax];
};

// Of this process's own time: on a machine that stood still, nothing hangs.
void start_hang_timer() {
  itimerval timer{};
  timer.it_value.tv_sec = kHangSeconds;
  setitimer(ITIMER_PROF, &timer, nullptr);
}

void execute(std::string_view text, Shared& shared) {
  std::memcpy(shared.input, text.data(), text.size());
  shared.input_bytes = text.size();
  start_hang_timer();
  // A copy on the heap, so that a sanitizer sees a read past its end.
  const std::vector<std::uint8_t> input(text.begin(), text.end());
  LLVMFuzzerTestOneInput(input.data(), input.size());
  ++shared.execution_count;
}

struct Arguments {
  double seconds = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> paths;
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(2);
}

Shared& map_shared() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return *static_cast<Shared*>(memory);  // zeroed by the system
}

void run_child(const Arguments& arguments, const std::vector<std::string>& corpus, Shared& shared) {
  for (const std::string& text : corpus) execute(text, shared);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(arguments.seconds);
  thresher::Random random(arguments.seed);
  while (std::chrono::steady_clock::now() < end) {
    execute(thresher::fuzz::mutate(random, corpus), shared);
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path.c_str());
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.resize(std::min(text.size(), kInputBytesMax));
  return text;
}

std::string failure_prefix(const char* program) {
  return std::filesystem::path(program).filename().string() + "_failure_";
}

// The inputs that earlier runs in this folder failed on.
std::vector<std::string> kept_failures(const char* program) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(".")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(failure_prefix(program))) paths.push_back(name);
  }
  return paths;
}

// Keeps the input that ended the child and says how to run it again.
void report_failure(const char* program, const Arguments& arguments, const Shared& shared,
                    int status) {
  const std::string path = failure_prefix(program) + std::to_string(arguments.seed);
  std::ofstream(path, std::ios::binary)
      .write(shared.input, static_cast<std::streamsize>(shared.input_bytes));
  const bool signalled = WIFSIGNALED(status);
  std::fprintf(stderr, "execution %llu failed (%s %d); repeat with: %s %s\n",
               static_cast<unsigned long long>(shared.execution_count + 1),
               signalled ? "signal" : "exit code",
               signalled ? WTERMSIG(status) : WEXITSTATUS(status), program, path.c_str());
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments{.seconds = 0, .seed = std::random_device{}(), .paths = {}};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--seconds" && has_value) {
      arguments.seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--seed" && has_value) {
      arguments.seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      arguments.paths.emplace_back(argument);
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  if (arguments.paths.empty()) {
    std::fprintf(stderr, "usage: %s [--seconds N] [--seed N] FILE...\n", argv[0]);
    return 2;
  }
  std::vector<std::string> corpus;
  for (const std::string& path : arguments.paths) corpus.push_back(read_file(path));
  std::vector<std::string> failures;
  if (arguments.seconds > 0) {
    for (const std::string& path : kept_failures(argv[0])) failures.push_back(read_file(path));
  }

  Shared& shared = map_shared();
  std::printf("seed %llu\n", static_cast<unsigned long long>(arguments.seed));
  std::fflush(stdout);

  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    for (const std::string& text : failures) execute(text, shared);
    run_child(arguments, corpus, shared);
    return 0;  // and not _exit, so that a leak is found
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("%llu executions\n", static_cast<unsigned long long>(shared.execution_count));
  std::fflush(stdout);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  report_failure(argv[0], arguments, shared, status);
  return 1;
}
