// SPDX-License-Identifier: Apache-2.0
// The folder that a coordinator and its tasks share. All there is to know about what was asked for
// and what came back lies in it, as files that are whole or absent:
//
//   orders/ID.json      what to do
//   lists/N.json        the ids of an array's tasks, by index; with the job's number once it is
//                       submitted
//   records/ID.json     what a task found. The first one stays: a task that is played twice,
//   because
//                       its node was given up too early, is counted once
//   failures/ID.*.json  why a task found nothing
//   logs/               what tasks printed
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "referee/sandbox/scratch.hpp"

namespace thresher::cluster {

// Throws Error when another process has the file, on any machine that shares it. `what` it is then
// said to be playing.
referee::UniqueFd hold_file(const std::filesystem::path& path, const std::string& what);

struct ArrayList {
  std::string name;  // "N"
  std::vector<std::string> ids;
  std::string job;  // empty: nobody knows whether it was submitted
};

struct TaskFailure {
  std::string node;
  std::string text;
  // Not empty: nothing was tried, because the node is of none of these classes of machines.
  std::vector<std::string> refused_for = {};
};

class Spool {
 public:
  // Makes the folder where there is none. Throws Error.
  explicit Spool(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path logs() const { return folder_ / "logs"; }

  // While it is held no other coordinator plays from this folder, on any machine.
  // Throws Error when one does.
  referee::UniqueFd hold() const;

  void put_order(const std::string& id, const nlohmann::json& order) const;
  nlohmann::json order(const std::string& id) const;

  // Returns the new list's name.
  std::string put_list(const std::vector<std::string>& ids) const;
  void set_job(const std::string& list, const std::string& job) const;
  std::vector<ArrayList> lists() const;
  // Of a list; throws Error when there is none, or no such index.
  std::string id_of_task(const std::string& list, int index) const;

  // False: there was one already, which stays.
  bool put_record(const std::string& id, const nlohmann::json& record) const;
  bool has_record(const std::string& id) const;
  // Nothing: there is none yet. One that cannot be read is moved out of the way.
  std::optional<nlohmann::json> record(const std::string& id) const;
  // Looks at the folder itself: a network's file system may remember that a file was not there.
  std::set<std::string> recorded_ids() const;

  // What was found or went wrong is to be found again: nothing of it counts any more.
  void forget(const std::string& id) const;

  void put_failure(const std::string& id, const TaskFailure& failure) const;
  std::map<std::string, std::vector<TaskFailure>> failures() const;  // by id

 private:
  std::filesystem::path folder_;
};

}  // namespace thresher::cluster
