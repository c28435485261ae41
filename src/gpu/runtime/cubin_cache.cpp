// SPDX-License-Identifier: Apache-2.0
// An entry is one line of text per field, then the bytes they announce:
//
//   thresher kernel 1
//   <key>
//   <SHA-256 of all that follows>
//   <bytes of the cubin> <bytes of the log> <seconds>
//   <cubin><log>
#include "gpu/runtime/cubin_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "digest/sha256.hpp"
#include "write_all.hpp"

namespace thresher::gpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "thresher kernel 1";

// Lengths keep two lists of texts apart whose concatenations are equal.
void add_field(std::string& message, std::string_view field) {
  message += fmt::format("{}:", field.size());
  message += field;
}

std::string encode(const std::string& key, const Compilation& compilation) {
  std::string body = fmt::format("{} {} {:.6f}\n", compilation.cubin.size(), compilation.log.size(),
                                 compilation.seconds);
  body.append(reinterpret_cast<const char*>(compilation.cubin.data()), compilation.cubin.size());
  body += compilation.log;
  return fmt::format("{}\n{}\n{}\n", kFormat, key, sha256_hex(body)) + body;
}

std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<Compilation> decode(const std::string& key, std::string_view entry) {
  if (take_line(entry) != kFormat || take_line(entry) != key) return std::nullopt;
  const std::optional<std::string_view> checksum = take_line(entry);
  if (!checksum.has_value() || *checksum != sha256_hex(entry)) return std::nullopt;
  const std::optional<std::string_view> sizes = take_line(entry);
  if (!sizes.has_value()) return std::nullopt;

  std::size_t cubin_bytes = 0;
  std::size_t log_bytes = 0;
  Compilation compilation;
  std::istringstream fields{std::string(*sizes)};
  if (!(fields >> cubin_bytes >> log_bytes >> compilation.seconds)) return std::nullopt;
  if (cubin_bytes > entry.size() || log_bytes != entry.size() - cubin_bytes) return std::nullopt;

  const auto* cubin = reinterpret_cast<const std::byte*>(entry.data());
  compilation.cubin.assign(cubin, cubin + cubin_bytes);
  compilation.log = entry.substr(cubin_bytes);
  PtxasReport report = parse_ptxas_log(compilation.log);
  compilation.kernels = std::move(report.kernels);
  compilation.notes = std::move(report.notes);
  compilation.from_cache = true;
  return compilation;
}

}  // namespace

std::string CubinCache::key(const Compiler& compiler, const CompileRequest& request,
                            int driver_version) {
  std::string message;
  add_field(message, kFormat);
  add_field(message, compiler.version());
  add_field(message, fmt::format("{} {}", compiler.file_bytes(), driver_version));
  add_field(message, request.name);  // stands in the log
  add_field(message, request.source);
  for (const std::string& option : Compiler::all_options(request)) add_field(message, option);
  for (const NamedSource& header : request.headers) {
    add_field(message, header.name);
    add_field(message, header.text);
  }
  return sha256_hex(message);
}

fs::path CubinCache::entry_path(const std::string& key) const {
  return folder_ / (key + ".kernel");
}

std::optional<Compilation> CubinCache::load(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(entry_path(key), std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) return std::nullopt;
  return decode(key, bytes.view());
}

bool CubinCache::store(const std::string& key, const Compilation& compilation) const {
  if (folder_.empty()) return false;
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path target = entry_path(key);
  // A name of chance: process ids come again, in containers all the time.
  std::string temporary = target.string() + ".XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write_all(file, encode(key, compilation));
  const bool closed = close(file) == 0;
  if (written && closed && std::rename(temporary.c_str(), target.c_str()) == 0) return true;
  unlink(temporary.c_str());
  return false;
}

Compilation CubinCache::get(const Compiler& compiler, const CompileRequest& request,
                            int driver_version) const {
  const std::string request_key = key(compiler, request, driver_version);
  if (std::optional<Compilation> kept = load(request_key)) {
    note(request_key);
    return *std::move(kept);
  }
  Compilation compilation = compiler.compile(request);
  if (store(request_key, compilation)) note(request_key);
  return compilation;
}

void CubinCache::note(const std::string& key) const {
  const std::lock_guard turn(given_->turn);
  given_->files.insert(entry_path(key));
}

std::vector<fs::path> CubinCache::given() const {
  const std::lock_guard turn(given_->turn);
  return {given_->files.begin(), given_->files.end()};
}

fs::path default_cache_folder(const char* xdg_cache_home, const char* home) {
  // The specification has relative paths ignored.
  if (xdg_cache_home != nullptr && fs::path(xdg_cache_home).is_absolute()) {
    return fs::path(xdg_cache_home) / "thresher";
  }
  if (home != nullptr && fs::path(home).is_absolute()) {
    return fs::path(home) / ".cache" / "thresher";
  }
  return {};
}

}  // namespace thresher::gpu
