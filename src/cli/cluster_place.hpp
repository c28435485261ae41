// SPDX-License-Identifier: Apache-2.0
// A season's machine that is many: everything a season asks of a machine becomes an order, and
// Slurm's nodes carry it out. The season, its ledger and its clock stay here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/cluster_options.hpp"
#include "cluster/coordinator.hpp"
#include "tank/season/season.hpp"

namespace thresher::cli {

class ClusterPlace {
 public:
  // `report` shows how far things are, `announce` what should stay in sight.
  struct Voice {
    std::function<void(const std::string&)> report = [](const std::string&) {};
    std::function<void(const std::string&)> announce = [](const std::string&) {};
  };

  ClusterPlace(const ClusterOptions& options, const std::filesystem::path& ledger);

  void set_voice(Voice voice) { voice_ = std::move(voice); }

  // From here on nobody else begins or plays a season of this name. Before the ledger is read: of
  // two that find no season there, both would begin one. Throws Error when somebody does.
  void claim(const std::string& season);

  // Fills in what a season is started with, as a node has it, and leaves out the pitches that
  // cannot be played there.
  void survey(SeasonSetup& setup);
  // Of pitches that enter a season which goes on.
  void leave_out_unplayable(SeasonSetup& setup);

  // From here on for the season that began so. Throws Error when somebody else plays it.
  void open(const std::string& season, const nlohmann::json& start);
  bool is_open() const { return coordinator_ != nullptr; }
  const std::string& job_name() const { return name_; }

  void play_all(const std::vector<MatchOrder>& orders, const TakeReport& take);
  std::vector<std::string> findings(const Contestant& champion, const SeasonRules& rules,
                                    const MachineRates& rates);
  void finish();

  // The season's clock: the longest of the matches that were played together counts, waiting in a
  // queue does not.
  double seconds_now() const;

 private:
  nlohmann::json ask_once(nlohmann::json order, double seconds_max);
  nlohmann::json survey_order(const SeasonSetup& setup) const;
  void leave_out(const nlohmann::json& missing, SeasonSetup& setup) const;
  std::unique_ptr<cluster::Coordinator> coordinator_for(const std::string& folder_name,
                                                        const std::string& job_name) const;
  MatchReport report_of(const MatchOrder& order, const cluster::TaskResult& result);
  void note_class(const nlohmann::json& machine);

  const ClusterOptions options_;
  const std::filesystem::path folder_;
  const cluster::SlurmOptions slurm_;
  Voice voice_;
  std::string name_;
  std::string season_class_;
  std::vector<std::string> other_classes_;
  referee::UniqueFd claim_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  int failures_ = 0;  // one after the other
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double offset_seconds_ = 0;
};

}  // namespace thresher::cli
