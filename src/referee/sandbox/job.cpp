// SPDX-License-Identifier: Apache-2.0
#include "referee/sandbox/job.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "thresher/error.hpp"

namespace thresher::referee {
namespace {

using Json = nlohmann::json;

std::vector<std::string> texts_of(const std::vector<std::filesystem::path>& paths) {
  return {paths.begin(), paths.end()};
}

std::vector<std::filesystem::path> paths_of(const Json& texts) {
  const auto strings = texts.get<std::vector<std::string>>();
  return {strings.begin(), strings.end()};
}

}  // namespace

std::string to_text(const WorkOrder& order) {
  const SandboxLimits& limits = order.limits;
  const CudaSetting& cuda = order.job.cuda;
  const Json json{{"kind", static_cast<int>(order.job.kind)},
                  {"variant", order.job.variant},
                  {"library", order.job.library.string()},
                  {"command", order.job.command},
                  {"folder", order.job.folder.string()},
                  {"backend", order.job.backend},
                  {"cuda",
                   {{"device_index", cuda.device_index},
                    {"kernel_folder", cuda.kernel_folder.string()},
                    {"compiler_folders", cuda.compiler_folders},
                    {"architecture", cuda.architecture},
                    {"origin", cuda.origin.string()},
                    {"launches", to_text(cuda.launches)}}},
                  {"limits",
                   {limits.cpu_seconds, limits.memory_bytes, limits.file_bytes, limits.open_files,
                    limits.processes}},
                  {"scratch", order.scratch.string()},
                  {"referee_pid", order.referee_pid},
                  {"doors", order.doors},
                  {"memory_is_counted", order.memory_is_counted},
                  {"processes_are_caged", order.processes_are_caged},
                  {"leaves_files", order.leaves_files},
                  {"readable", texts_of(order.readable)},
                  {"hidden", texts_of(order.confinement.hidden)},
                  {"without", order.confinement.without},
                  {"is_operators", order.confinement.is_operators}};
  // Paths are bytes to the kernel and need not be UTF-8.
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

WorkOrder work_order_from_text(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const Json& limits = json.at("limits");
    const Json& cuda = json.at("cuda");
    return {.job = {.kind = static_cast<JobKind>(json.at("kind").get<int>()),
                    .variant = json.at("variant").get<std::string>(),
                    .library = json.at("library").get<std::string>(),
                    .command = json.at("command").get<std::vector<std::string>>(),
                    .folder = json.at("folder").get<std::string>(),
                    .backend = json.at("backend").get<std::string>(),
                    .cuda = {.device_index = cuda.at("device_index").get<int>(),
                             .kernel_folder = cuda.at("kernel_folder").get<std::string>(),
                             .compiler_folders =
                                 cuda.at("compiler_folders").get<std::vector<std::string>>(),
                             .architecture = cuda.at("architecture").get<std::string>(),
                             .origin = cuda.at("origin").get<std::string>(),
                             .launches =
                                 cuda_launches_from_text(cuda.at("launches").get<std::string>())}},
            .limits = {.cpu_seconds = limits.at(0).get<std::int64_t>(),
                       .memory_bytes = limits.at(1).get<std::int64_t>(),
                       .file_bytes = limits.at(2).get<std::int64_t>(),
                       .open_files = limits.at(3).get<std::int64_t>(),
                       .processes = limits.at(4).get<std::int64_t>()},
            .scratch = json.at("scratch").get<std::string>(),
            .leaves_files = json.at("leaves_files").get<bool>(),
            .readable = paths_of(json.at("readable")),
            .referee_pid = json.at("referee_pid").get<std::int64_t>(),
            .doors = json.at("doors").get<std::vector<std::string>>(),
            .memory_is_counted = json.at("memory_is_counted").get<bool>(),
            .processes_are_caged = json.at("processes_are_caged").get<bool>(),
            .confinement = {.hidden = paths_of(json.at("hidden")),
                            .without = json.at("without").get<std::vector<std::string>>(),
                            .is_operators = json.at("is_operators").get<bool>()}};
  } catch (const Json::exception& error) {
    throw Error(fmt::format("the work order cannot be read: {}", error.what()));
  }
}

}  // namespace thresher::referee
