// SPDX-License-Identifier: Apache-2.0
// octet help: the help of a command, and what is made of all help: manual pages, shell completion.
#include <filesystem>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/outputs.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class Help final : public Command {
 public:
  std::string_view name() const override { return "help"; }
  std::string_view summary() const override {
    return "help of a command, manual pages, completion of bash and zsh";
  }
  std::string_view example() const override { return "octet help train cnn"; }

  void define(CLI::App& app) override {
    root_ = app.get_parent() == nullptr ? &app : app.get_parent();
    app.add_option("command", words_, "whose help: octet help train cnn");
    app.add_option("--man", man_, "folder to write the manual pages of all commands to");
    app.add_option("--completion", completion_,
                   "print the completion script of a shell: octet help --completion bash > "
                   "~/.local/share/bash-completion/completions/octet")
        ->check(CLI::IsMember({"bash", "zsh"}));
  }

  Result<Answer> run(const Common& common) override {
    if (!man_.empty()) OCTET_TRY(write_pages(common));
    if (!completion_.empty())
      fmt::print("{}", completion_ == "bash" ? bash_completion(*root_) : zsh_completion(*root_));
    if (man_.empty() && completion_.empty()) OCTET_TRY(print_help());
    return Answer::kDone;
  }

 private:
  Status print_help() const {
    const CLI::App* at = root_;
    for (const std::string& word : words_) {
      std::vector<std::string> known;
      const CLI::App* next = nullptr;
      for (const CLI::App* sub : subcommands(*at)) {
        known.push_back(sub->get_name());
        if (sub->get_name() == word) next = sub;
      }
      if (next == nullptr)
        return error("{} has no command \"{}\"{}", command_words(*at), word,
                     suggestion(word, known));
      at = next;
    }
    // App::help of the root would be that of the command that runs, which is this one.
    fmt::print("{}",
               at->get_formatter()->make_help(at, command_words(*at), CLI::AppFormatMode::Normal));
    return ok_status();
  }

  Status write_pages(const Common& common) const {
    const std::filesystem::path folder = man_;
    const std::vector<ManualPage> pages = manual_pages(*root_);
    const auto path = [&](const ManualPage& page) {
      return (folder / (page.name + ".1")).string();
    };
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return error("{}: {}", man_, failed.message());
    for (const ManualPage& page : pages)
      OCTET_TRY(check_output(path(page), {}, common));
    for (const ManualPage& page : pages)
      OCTET_TRY(write_file(path(page), page.text, common.force ? Overwrite::kYes : Overwrite::kNo));
    if (common.json)
      fmt::print("{}\n", nlohmann::json{{"folder", man_}, {"pages", pages.size()}}.dump());
    else if (completion_.empty())
      fmt::print("{} pages in {}\n", pages.size(), man_);
    return ok_status();
  }

  const CLI::App* root_ = nullptr;
  std::vector<std::string> words_;
  std::string man_, completion_;
};

} // namespace

Command& help_command() {
  static Help command;
  return command;
}

} // namespace octet::cli
