// SPDX-License-Identifier: Apache-2.0
#include "cluster/spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "thresher/error.hpp"
#include "write_all.hpp"

namespace thresher::cluster {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using referee::UniqueFd;

constexpr const char* kFolders[] = {"orders", "lists", "records", "failures", "logs"};
constexpr const char* kEnding = ".json";

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw Error(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// Beside its place, under a name that no other process uses; on the disk before it gets there.
fs::path write_beside(const fs::path& path, const std::string& text) {
  const fs::path beside = path.parent_path() /
                          fmt::format(".{}-{}-{}", path.filename().string(), host_name(), getpid());
  UniqueFd file(open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) fail(beside, "cannot be made");
  if (write_all(file.get(), text) && fsync(file.get()) == 0) return beside;
  const int error = errno;
  unlink(beside.c_str());
  errno = error;
  fail(beside, "cannot be written");
}

void keep_folder(const fs::path& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) fsync(fd.get());
}

void put_whole(const fs::path& path, const Json& json) {
  const fs::path beside = write_beside(path, json.dump() + "\n");
  if (rename(beside.c_str(), path.c_str()) != 0) fail(path, "cannot be put in its place");
  keep_folder(path.parent_path());
}

// By a link, which fails where there is one: unlike a rename it never replaces what somebody has
// read.
bool put_first(const fs::path& path, const Json& json) {
  const fs::path beside = write_beside(path, json.dump() + "\n");
  const bool is_first = link(beside.c_str(), path.c_str()) == 0;
  const int error = errno;
  unlink(beside.c_str());
  errno = error;
  if (!is_first && error != EEXIST) fail(path, "cannot be put in its place");
  keep_folder(path.parent_path());
  return is_first;
}

std::optional<Json> read_json(const fs::path& path) {
  std::ifstream stream(path);
  if (!stream) return std::nullopt;
  return Json::parse(stream, nullptr, /*allow_exceptions=*/false);
}

// Stems of the files of a folder that are in their place, in order.
std::vector<std::string> stems(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".") || entry.path().extension() != kEnding) continue;
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ArrayList list_from(const std::string& name, const Json& json) {
  ArrayList list{.name = name, .ids = {}, .job = {}};
  if (!json.is_object()) return list;
  list.job = json.value("job", "");
  for (const Json& id : json.value("ids", Json::array())) {
    list.ids.push_back(id.is_string() ? id.get<std::string>() : "");
  }
  return list;
}

}  // namespace

UniqueFd hold_file(const fs::path& path, const std::string& what) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) fail(path, "cannot be made");
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    std::string owner;
    std::getline(std::ifstream(path), owner);
    throw Error(fmt::format("{} is being played already, by {}; one coordinator is enough", what,
                            owner.empty() ? "another process" : owner));
  }
  const std::string owner = fmt::format("pid {} on {}\n", getpid(), host_name());
  if (ftruncate(file.get(), 0) != 0 ||
      pwrite(file.get(), owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    fail(path, "cannot be written");
  }
  return file;
}

Spool::Spool(fs::path folder) : folder_(std::move(folder)) {
  for (const char* name : kFolders) {
    std::error_code error;
    fs::create_directories(folder_ / name, error);
    if (error) {
      throw Error(fmt::format("the folder '{}', which a cluster's nodes share, cannot be made: {}",
                              (folder_ / name).string(), error.message()));
    }
  }
}

UniqueFd Spool::hold() const { return hold_file(folder_ / "lock", folder_.filename().string()); }

void Spool::put_order(const std::string& id, const Json& order) const {
  put_whole(folder_ / "orders" / (id + kEnding), order);
}

Json Spool::order(const std::string& id) const {
  const fs::path path = folder_ / "orders" / (id + kEnding);
  const std::optional<Json> json = read_json(path);
  if (!json || !json->is_object()) throw Error(fmt::format("{} is no order", path.string()));
  return *json;
}

std::string Spool::put_list(const std::vector<std::string>& ids) const {
  for (std::size_t number = stems(folder_ / "lists").size();; ++number) {
    std::string name = fmt::format("{:06}", number);
    if (put_first(folder_ / "lists" / (name + kEnding), {{"ids", ids}})) return name;
  }
}

void Spool::set_job(const std::string& list, const std::string& job) const {
  const fs::path path = folder_ / "lists" / (list + kEnding);
  Json json = read_json(path).value_or(Json::object());
  json["job"] = job;
  put_whole(path, json);
}

std::vector<ArrayList> Spool::lists() const {
  std::vector<ArrayList> all;
  for (const std::string& name : stems(folder_ / "lists")) {
    all.push_back(
        list_from(name, read_json(folder_ / "lists" / (name + kEnding)).value_or(Json())));
  }
  return all;
}

std::string Spool::id_of_task(const std::string& list, int index) const {
  const ArrayList found =
      list_from(list, read_json(folder_ / "lists" / (list + kEnding)).value_or(Json()));
  const bool is_there = index >= 0 && index < static_cast<int>(found.ids.size());
  if (!is_there || found.ids[static_cast<std::size_t>(index)].empty()) {
    throw Error(fmt::format("{}: list {} has no task {}", folder_.string(), list, index));
  }
  return found.ids[static_cast<std::size_t>(index)];
}

bool Spool::put_record(const std::string& id, const Json& record) const {
  return put_first(folder_ / "records" / (id + kEnding), record);
}

bool Spool::has_record(const std::string& id) const {
  std::error_code ignored;
  return fs::exists(folder_ / "records" / (id + kEnding), ignored);
}

std::optional<Json> Spool::record(const std::string& id) const {
  const fs::path path = folder_ / "records" / (id + kEnding);
  std::optional<Json> json = read_json(path);
  if (!json || json->is_object()) return json;
  fs::rename(path, path.string() + ".unreadable");
  return std::nullopt;
}

std::set<std::string> Spool::recorded_ids() const {
  const std::vector<std::string> names = stems(folder_ / "records");
  return {names.begin(), names.end()};
}

// It leaves its lists too, so that earlier tries are none. A task of such a list has nothing to do.
void Spool::forget(const std::string& id) const {
  std::error_code ignored;
  for (ArrayList& list : lists()) {
    const auto at = std::find(list.ids.begin(), list.ids.end(), id);
    if (at == list.ids.end()) continue;
    at->clear();
    put_whole(folder_ / "lists" / (list.name + kEnding), {{"ids", list.ids}, {"job", list.job}});
  }
  fs::remove(folder_ / "records" / (id + kEnding), ignored);
  for (const std::string& stem : stems(folder_ / "failures")) {
    if (stem.substr(0, stem.find_last_of('.')) == id) {
      fs::remove(folder_ / "failures" / (stem + kEnding), ignored);
    }
  }
}

// Several tries may fail on several nodes at the same time.
void Spool::put_failure(const std::string& id, const TaskFailure& failure) const {
  const fs::path folder = folder_ / "failures";
  for (int number = 0;; ++number) {
    const fs::path path = folder / fmt::format("{}.{:03}{}", id, number, kEnding);
    if (put_first(path, {{"node", failure.node},
                         {"text", failure.text},
                         {"refused_for", failure.refused_for}})) {
      return;
    }
  }
}

std::map<std::string, std::vector<TaskFailure>> Spool::failures() const {
  std::map<std::string, std::vector<TaskFailure>> found;
  for (const std::string& stem : stems(folder_ / "failures")) {
    const std::optional<Json> json = read_json(folder_ / "failures" / (stem + kEnding));
    if (!json || !json->is_object()) continue;
    TaskFailure failure{json->value("node", ""), json->value("text", "")};
    for (const Json& one : json->value("refused_for", Json::array())) {
      if (one.is_string()) failure.refused_for.push_back(one);
    }
    found[stem.substr(0, stem.find_last_of('.'))].push_back(std::move(failure));
  }
  return found;
}

}  // namespace thresher::cluster
