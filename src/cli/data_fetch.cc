// SPDX-License-Identifier: Apache-2.0
// octet data fetch: downloads a public data set into the cache, checked and resumable.
#include <map>

#include "cli/command.h"
#include "cli/download_progress.h"
#include "core/json.h"
#include "data/fetch.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class DataFetch final : public Command {
 public:
  std::string_view name() const override { return "data fetch"; }
  std::string_view summary() const override { return "download a public data set"; }
  std::string_view example() const override { return "octet data fetch fashion-mnist"; }

  void define(CLI::App& app) override {
    app.add_option("name", name_, "fashion-mnist, mnist, imdb or sst2")->required();
    app.add_option("-o,--output", folder_, "folder; default: the user's cache");
    app.add_option("--url", url_, "take the files from this address");
  }

  Result<Answer> run(const Common& common) override {
    if (folder_.empty()) folder_ = OCTET_TRY(dataset_cache_folder(name_));
    DownloadProgress progress;
    const std::string spec = OCTET_TRY(fetch_dataset(name_, folder_, url_, progress.callbacks()));
    if (common.json)
      fmt::print("{}\n", json_text(nlohmann::ordered_json{
                             {"name", name_}, {"folder", folder_}, {"data", spec}}));
    else
      fmt::print("{}: use it as --data {}\n", folder_, spec);
    return Answer::kDone;
  }

 private:
  std::string name_, folder_, url_;
};

} // namespace

Command& data_fetch_command() {
  static DataFetch command;
  return command;
}

} // namespace octet::cli
