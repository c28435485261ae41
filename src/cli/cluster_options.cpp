// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/backend_option.hpp"
#include "cli/selection.hpp"
#include "digest/sha256.hpp"

namespace thresher::cli {
namespace {

constexpr double kJobsMax = 10000;

}  // namespace

std::vector<Option> cluster_options(ClusterOptions& options) {
  return {{.name = "--on",
           .value = &options.on,
           .what = "Where matches are played: on this machine, or as jobs of a cluster",
           .words = {kHere, kSlurm}},
          {.name = "--partition",
           .value = &options.partition,
           .what = "Slurm's partition to play in",
           .default_text = "its default one"},
          {.name = "--gres",
           .value = &options.gres,
           .what = "What a node has to give, in Slurm's words: gpu:h200:1",
           .default_text = "nothing but itself"},
          {.name = "--jobs",
           .value = &options.jobs,
           .what = "Matches that are begun together, before the title is decided",
           .range = {{1, kJobsMax}},
           .default_text = "1; on a cluster one for each of its nodes"},
          {.name = "--spool",
           .value = &options.spool,
           .what = "Folder that this machine and the nodes share",
           .default_text = "beside the ledger or the plan"},
          {.name = "--classes",
           .value = &options.classes,
           .what = "Only nodes of these classes of machines: parts of the names that 'thresher "
                   "doctor --on slurm' shows",
           .default_text = "any"}};
}

void check_cluster(const ClusterOptions& options) {
  if (options.is_remote()) return;
  const bool has_more = !options.partition.empty() || !options.gres.empty() ||
                        !options.spool.empty() || !options.classes.empty();
  if (has_more) throw UsageError("--partition, --gres, --spool and --classes are for --on slurm");
}

int job_count(const ClusterOptions& options) {
  if (options.jobs > 0) return options.jobs;
  return options.is_remote() ? std::max(1, cluster::usable_node_count(options.partition)) : 1;
}

cluster::SlurmOptions slurm_options(const ClusterOptions& options) {
  return {.partition = options.partition, .gres = options.gres, .jobs = job_count(options)};
}

const Backend* backend_given(const ClusterOptions& options) {
  return find_backend(options.gres.substr(0, options.gres.find(':')));
}

const Backend& backend_there(const ClusterOptions& options, const std::string& word,
                             const std::vector<std::string>& variants) {
  if (const Backend* asked = backend_asked_for(word, variants)) return *asked;
  const Backend* given = backend_given(options);
  return given == nullptr ? host_backend() : *given;
}

bool is_of_class(const std::vector<std::string>& classes, const std::string& machine_class) {
  const auto small = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  const std::string here = small(machine_class);
  return classes.empty() ||
         std::any_of(classes.begin(), classes.end(), [&](const std::string& one) {
           return here.find(small(one)) != std::string::npos;
         });
}

cluster::CoordinatorOptions coordinator_options(const std::filesystem::path& folder,
                                                const std::string& job_name) {
  namespace fs = std::filesystem;
  return {.name = job_name,
          .command = {fs::read_symlink("/proc/self/exe").string(), "task", folder.string()},
          .folder = fs::current_path()};
}

std::string plain_name(std::string name) {
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '-' && c != '_' && c != '.') c = '_';
  }
  return name;
}

std::string digits_of(const std::string& text) {
  constexpr std::size_t kDigits = 12;
  return sha256_hex(text).substr(0, kDigits);
}

std::string cluster_words(const ClusterOptions& options) {
  std::string words = options.jobs > 0 ? fmt::format(" --jobs {}", options.jobs) : "";
  if (!options.is_remote()) return words;
  words += " --on " + options.on;
  const std::pair<const char*, std::string> named[] = {{"--partition", options.partition},
                                                       {"--gres", options.gres},
                                                       {"--spool", options.spool.string()}};
  for (const auto& [name, value] : named) {
    if (!value.empty()) words += fmt::format(" {} {}", name, shell_quoted(value));
  }
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    words += fmt::format("{} {}", i == 0 ? " --classes" : "", shell_quoted(options.classes[i]));
  }
  return words;
}

std::filesystem::path spool_folder(const ClusterOptions& options,
                                   const std::filesystem::path& beside) {
  namespace fs = std::filesystem;
  return fs::absolute(options.spool.empty() ? fs::path(beside.string() + ".cluster")
                                            : options.spool);
}

}  // namespace thresher::cli
