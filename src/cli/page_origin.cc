// SPDX-License-Identifier: Apache-2.0
#include "cli/page_origin.h"

#include <chrono>
#include <fstream>

#include "core/cpu.h"
#include "core/string_util.h"
#include "core/threads.h"
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "octet/version.h"

namespace octet::cli {
namespace {

/// As Linux names it; empty elsewhere.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  constexpr std::string_view kKey = "model name";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey) && line.find(':') != std::string::npos)
      return std::string(trim(std::string_view(line).substr(line.find(':') + 1)));
  return {};
}

} // namespace

std::string page_origin(const Common& common) {
  const std::string name = processor();
  const int threads = common.threads > 0 ? common.threads : available_cores();
  const Result<Isa> isa = selected_isa();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return fmt::format("{} · octet {} · {}{}, {} thread{} · {:%Y-%m-%d %H:%M} UTC",
                     common.command_line, version(), name.empty() ? "" : name + ", ",
                     isa_name(isa.ok() ? *isa : default_isa()), threads, threads == 1 ? "" : "s",
                     fmt::gmtime(now));
}

} // namespace octet::cli
