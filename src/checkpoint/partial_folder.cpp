// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/partial_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "thresher/error.hpp"

namespace thresher::checkpoint {
namespace {

[[noreturn]] void throw_refusal(const std::filesystem::path& path, const char* what) {
  throw Error(fmt::format("{}: cannot {} it: {}", path.string(), what, std::strerror(errno)));
}

std::string partial_stem(const std::filesystem::path& final) {
  return fmt::format(".{}.partial-", final.filename().string());
}

bool is_alive(pid_t process) { return kill(process, 0) == 0 || errno != ESRCH; }

// Names end in the number of the process that writes there.
void remove_abandoned(const std::filesystem::path& folder, const std::string& stem) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(stem)) continue;
    pid_t process = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + stem.size(), end, process);
    const bool is_number = error == std::errc() && rest == end && process > 0;
    if (is_number && !is_alive(process)) std::filesystem::remove_all(entry.path());
  }
}

// So that a name survives a loss of power.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

}  // namespace

PartialFolder::PartialFolder(const std::filesystem::path& final)
    : final_(std::filesystem::absolute(final).lexically_normal()) {
  if (!final_.has_filename()) final_ = final_.parent_path();  // "out/"
  if (std::filesystem::exists(std::filesystem::symlink_status(final_))) {
    throw Error(fmt::format("{}: is there already; name a folder that is not", final.string()));
  }
  if (!std::filesystem::is_directory(final_.parent_path())) {
    throw Error(fmt::format("{}: there is no such folder", final_.parent_path().string()));
  }
  const std::string stem = partial_stem(final_);
  remove_abandoned(final_.parent_path(), stem);
  partial_ = final_.parent_path() / fmt::format("{}{}", stem, getpid());
  if (mkdir(partial_.c_str(), 0777) != 0) throw_refusal(partial_, "make");
}

PartialFolder::~PartialFolder() {
  std::error_code ignored;
  if (!finished_) std::filesystem::remove_all(partial_, ignored);
}

void PartialFolder::finish() {
  sync_folder(partial_);
  if (rename(partial_.c_str(), final_.c_str()) != 0) throw_refusal(final_, "give its name to");
  finished_ = true;
  sync_folder(final_.parent_path());
}

NewFile::NewFile(const std::filesystem::path& path) : path_(path) {
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw_refusal(path, "make");
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void NewFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kWriteBytesMax = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kWriteBytesMax));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw_refusal(path_, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void NewFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void NewFile::close() {
  if (fsync(descriptor_) != 0) throw_refusal(path_, "write");
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) throw_refusal(path_, "write");
}

}  // namespace thresher::checkpoint
