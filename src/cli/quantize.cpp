// SPDX-License-Identifier: Apache-2.0
// thresher quantize: an NVFP4 checkpoint of one in bf16, fp16 or fp32.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/requantize.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/progress.hpp"

namespace thresher::cli {
namespace {

struct QuantizeCommandOptions {
  std::filesystem::path from;
  std::filesystem::path to;
  std::string format;
  std::string modules = "experts";
  int thread_count = 0;
  bool json = false;
};

int run_quantize(const QuantizeCommandOptions& options) {
  checkpoint::Requantization job{.from = options.from,
                                 .to = options.to,
                                 .format = options.format == "modelopt"
                                               ? CheckpointFormat::kModelOpt
                                               : CheckpointFormat::kCompressedTensors,
                                 .linears = options.modules == "linears",
                                 .thread_count = options.thread_count};
  const auto start = std::chrono::steady_clock::now();
  std::optional<Progress> progress;
  job.begin = [&](std::int64_t tensor_count) { progress.emplace(tensor_count); };
  job.progress = [&](const std::string& tensor) { progress->begin_step(tensor); };
  const checkpoint::RequantizationReport report = checkpoint::requantize(job);
  progress.reset();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options.json) {
    const nlohmann::ordered_json json = {
        {"path", options.to.string()},       {"format", options.format},
        {"matrices", report.matrix_count},   {"elements", report.element_count},
        {"copied", report.copied_count},     {"bytes_before", report.bytes_before},
        {"bytes_after", report.bytes_after}, {"seconds", seconds}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "{}: {} matrices as NVFP4 ({}), {} tensors as they were; {:.3f} GB of {:.3f}, {:.1f} s\n",
        options.to.string(), report.matrix_count, options.format, report.copied_count,
        1e-9 * static_cast<double>(report.bytes_after),
        1e-9 * static_cast<double>(report.bytes_before), seconds);
  }
  return kExitOk;
}

}  // namespace

Command quantize_command() {
  const auto options = std::make_shared<QuantizeCommandOptions>();
  return {.name = "quantize",
          .what = "Make an NVFP4 checkpoint of one in bf16, fp16 or fp32",
          .options = {{.name = "in",
                       .value = &options->from,
                       .what = "A folder with safetensors files, its index, or one file",
                       .required = true},
                      {.name = "out",
                       .value = &options->to,
                       .what = "The folder to make; it must not be there yet",
                       .required = true},
                      {.name = "--format",
                       .value = &options->format,
                       .what = "Whose names, layout and rounding",
                       .required = true,
                       .words = {"compressed-tensors", "modelopt"}},
                      {.name = "--modules",
                       .value = &options->modules,
                       .what = "What is rounded: experts, or all linear layers but routers",
                       .words = {"experts", "linears"}},
                      {.name = "--threads",
                       .value = &options->thread_count,
                       .what = "Threads",
                       .range = {{0, 1024}},
                       .default_text = "all cores"},
                      json_flag(options->json)},
          .run = [options] { return run_quantize(*options); }};
}

}  // namespace thresher::cli
