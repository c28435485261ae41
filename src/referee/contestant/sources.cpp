// SPDX-License-Identifier: Apache-2.0
#include "referee/contestant/sources.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "referee/sandbox/closed_folder.hpp"
#include "referee/sandbox/sandbox.hpp"
#include "referee/sandbox/scratch.hpp"
#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = 1000;
constexpr std::size_t kFileBytesMax = std::size_t{256} << 20;

// Files are opened by this thread as the user contestants run as; for an operator who is not root
// that is himself.
class UnprivilegedRights {
 public:
  explicit UnprivilegedRights(bool wanted) : active_(wanted && geteuid() == 0) {
    if (!active_) return;
    setfsgid(kUnprivilegedId);
    setfsuid(kUnprivilegedId);
  }
  UnprivilegedRights(const UnprivilegedRights&) = delete;
  UnprivilegedRights& operator=(const UnprivilegedRights&) = delete;
  ~UnprivilegedRights() {
    if (!active_) return;
    setfsuid(geteuid());
    setfsgid(getegid());
  }

 private:
  const bool active_;
};

// Name by name, none of which may be a link.
UniqueFd open_without_links(const fs::path& absolute) {
  UniqueFd at(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const fs::path names = absolute.relative_path();
  for (auto name = names.begin(); at && name != names.end(); ++name) {
    const bool last = std::next(name) == names.end();
    // A pipe or a device would be waited for.
    const int flags = last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
    at = UniqueFd(openat(at.get(), name->c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  }
  return at;
}

std::string read_all(int fd, const fs::path& path) {
  std::string text;
  char buffer[1 << 16];
  for (ssize_t count = 0; (count = read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() <= kFileBytesMax) continue;
    throw Error(fmt::format("{} is longer than {} MiB, the most of a contestant's that is read",
                            path.string(), kFileBytesMax >> 20));
  }
  return text;
}

// By its own mode: the groups of a referee that is root may read more.
bool contestants_may_read(const struct stat& status) {
  return geteuid() != 0 || (status.st_mode & S_IROTH) != 0 || status.st_uid == kUnprivilegedId;
}

// A file of some disk. What the kernel makes up as it is read says something of the reader.
bool is_plain_file(int fd, const struct stat& status) {
  struct statfs system {};
  return S_ISREG(status.st_mode) && fstatfs(fd, &system) == 0 &&
         system.f_type != PROC_SUPER_MAGIC && system.f_type != SYSFS_MAGIC;
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  static_cast<void>(rest);
  return end == folder.end();
}

class SourceReader {
 public:
  explicit SourceReader(fs::path folder) : folder_(std::move(folder)) {}

  SourceFile read(const fs::path& path) const {
    // What lies with the pitch its author has been given to read; a single file among it may still
    // be another's secret, under another name. Elsewhere the rights of that user decide.
    const bool own = is_below(path, folder_);
    const UniqueFd fd = [&] {
      const UnprivilegedRights rights(!own);
      return open_without_links(path);
    }();
    if (!fd) refuse(path, errno);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) refuse(path, errno);
    if (!is_plain_file(fd.get(), status)) {
      throw Error(fmt::format("cannot read {}: it is no file", path.string()));
    }
    if (!contestants_may_read(status)) {
      throw Error(
          fmt::format("cannot read {}: under root contestants run as user {}, who may not "
                      "read it; chmod o+r lets them",
                      path.string(), kUnprivilegedId));
    }
    return {path, read_all(fd.get(), path)};
  }

 private:
  [[noreturn]] static void refuse(const fs::path& path, int error) {
    if (error == ELOOP || error == ENOTDIR) {
      throw Error(fmt::format("cannot read {}: it is, or lies behind, a link; name the file itself",
                              path.string()));
    }
    if (error == ENOENT) throw Error(fmt::format("cannot read {}", path.string()));
    const std::string why = error == EACCES ? why_kept_out(path) : "";
    throw Error(
        fmt::format("cannot read {}: {}", path.string(), why.empty() ? std::strerror(error) : why));
  }

  const fs::path folder_;
};

// The names of `#include "name"` and the like. Text that a preprocessor would leave out counts too:
// rather a file too many than one too few.
std::vector<std::string> included_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = text.find('#', at)) != std::string_view::npos; ++at) {
    std::string_view rest = text.substr(at + 1, 400);
    const auto skip_blanks = [&] {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    };
    skip_blanks();
    bool directive = false;
    for (const std::string_view word : {"include_next", "include", "import", "embed"}) {
      if (directive || !rest.starts_with(word)) continue;
      rest.remove_prefix(word.size());
      directive = true;
    }
    skip_blanks();
    if (!directive || rest.empty() || (rest[0] != '"' && rest[0] != '<')) continue;
    const std::size_t end = rest.find(rest[0] == '"' ? '"' : '>', 1);
    if (end != std::string_view::npos) names.emplace_back(rest.substr(1, end - 1));
  }
  return names;
}

bool is_there(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

// As compilers look: beside the file that includes it, then beside the source.
std::optional<fs::path> find_included(const std::string& name, const fs::path& includer,
                                      const fs::path& source) {
  if (name.empty() || name[0] == '/') return std::nullopt;  // a system's file, or refused
  for (const fs::path& from : {includer, source}) {
    const fs::path path = (from.parent_path() / name).lexically_normal();
    if (is_there(path)) return path;
  }
  return std::nullopt;
}

bool is_text(const fs::path& source) {
  const std::string ending = source.extension().string();
  return ending != ".so";
}

fs::path common_folder(const std::vector<SourceFile>& sources) {
  fs::path common = sources.front().path.parent_path();
  for (const SourceFile& one : sources) {
    while (!is_below(one.path, common)) common = common.parent_path();
  }
  return common;
}

}  // namespace

std::vector<SourceFile> read_sources(const Contestant& contestant) {
  if (contestant.kind == ContestantKind::kVariant || contestant.kind == ContestantKind::kCommand) {
    return {};
  }
  // The folder is the operator's word; only what a contestant names below it is not trusted.
  std::error_code error;
  const fs::path given =
      contestant.folder.empty() ? fs::current_path() : fs::absolute(contestant.folder);
  const fs::path canonical = fs::canonical(given, error);
  const fs::path folder = error ? given : canonical;
  const fs::path source = (folder / contestant.source).lexically_normal();
  const SourceReader reader(folder);
  std::vector<SourceFile> sources{reader.read(source)};
  for (std::size_t i = 0; i < sources.size() && is_text(source); ++i) {
    for (const std::string& name : included_names(sources[i].text)) {
      const std::optional<fs::path> path = find_included(name, sources[i].path, source);
      const bool known = !path || std::any_of(sources.begin(), sources.end(),
                                              [&](const auto& one) { return one.path == *path; });
      if (known) continue;
      if (sources.size() == kFilesMax) {
        throw Error(fmt::format("{} includes more than {} files", source.string(), kFilesMax));
      }
      sources.push_back(reader.read(*path));
    }
  }
  return sources;
}

std::optional<std::string> read_named_file(const fs::path& path) {
  const UniqueFd fd = [&] {
    const UnprivilegedRights rights(true);
    return UniqueFd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }();
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0) return std::nullopt;
  if (!is_plain_file(fd.get(), status) || !contestants_may_read(status)) return std::nullopt;
  return read_all(fd.get(), path);
}

fs::path copy_sources(const std::vector<SourceFile>& sources, const fs::path& folder,
                      fs::path& root) {
  root = common_folder(sources);
  for (const SourceFile& one : sources) {
    const fs::path copy = folder / one.path.lexically_relative(root);
    std::error_code ignored;  // the stream below fails if the folder is missing
    fs::create_directories(copy.parent_path(), ignored);
    std::ofstream stream(copy, std::ios::binary);
    if (!(stream << one.text) || !stream.flush()) {
      throw Error(fmt::format("cannot copy {} to {}; is there room on that disk?",
                              one.path.string(), copy.string()));
    }
    fs::permissions(copy, fs::perms{0644}, ignored);
  }
  return folder / sources.front().path.lexically_relative(root);
}

}  // namespace thresher::referee
