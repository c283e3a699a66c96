// SPDX-License-Identifier: Apache-2.0
// The command `octet`. Exit codes: 0 done, 1 the answer is "no", 2 usage or input error, 3 internal
// error, 130 stopped by SIGINT or SIGTERM.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <system_error>
#include <vector>

#include "cli/command.h"
#include "cli/config.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "core/atomic_file.h"
#include "core/string_util.h"
#include "core/threads.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "octet/version.h"

namespace octet::cli {
namespace {

constexpr int kStopped = 130;

CancelToken interrupt_token;
std::atomic<int> interruptible_parts = 0;

void on_signal(int) {
  if (interruptible_parts.load() > 0 && !interrupt_token.cancelled()) {
    interrupt_token.cancel();
    return;
  }
  remove_temporary_files();
  _exit(kStopped);
}

std::vector<Command*> commands() {
  return {
      &train_model_command(),
      &train_cnn_command(),
      &train_bert_command(),
      &pretrain_bert_command(),
      &calibrate_command(),
      &ranges_merge_command(),
      &ranges_show_command(),
      &ranges_diff_command(),
      &quantize_command(),
      &optimize_command(),
      &qat_command(),
      &eval_command(),
      &run_command(),
      &predict_command(),
      &check_command(),
      &explain_command(),
      &diff_command(),
      &repair_command(),
      &certify_command(),
      &lock_command(),
      &verify_command(),
      &inspect_command(),
      &view_command(),
      &assemble_command(),
      &debug_command(),
      &formats_command(),
      &bench_command(),
      &simplify_command(),
      &pack_command(),
      &fill_mask_command(),
      &import_hf_command(),
      &export_command(),
      &export_hf_command(),
      &engine_build_command(),
      &engine_eval_command(),
      &engine_profile_command(),
      &engine_compare_command(),
      &data_show_command(),
      &data_export_command(),
      &data_fetch_command(),
      &tokenize_command(),
      &train_vocabulary_command(),
      &fp8_outliers_command(),
      &fp8_pass_rates_command(),
      &fp8_training_command(),
      &help_command(),
  };
}

/// `data show` is `show` under `data`.
CLI::App* subcommand(CLI::App& app, std::string_view name, std::string_view summary) {
  const size_t space = name.find(' ');
  if (space == std::string_view::npos)
    return app.add_subcommand(std::string(name), std::string(summary));
  const std::string group(name.substr(0, space));
  CLI::App* parent = nullptr;
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (sub->get_name() == group) parent = sub;
  if (parent == nullptr) {
    static const std::map<std::string, const char*> summaries = {
        {"data", "show, export or fetch data sets"},
        {"engine", "TensorRT engines: build, evaluate, time, compare with what explain predicts"},
        {"ranges", "files of ranges: merge those of shards, show, compare"},
        {"pretrain", "train a language model on plain text"},
        {"import", "models of other tools to octet's"},
        {"fp8", "experiments with 8-bit floats on small networks that are trained here"}};
    parent = app.add_subcommand(group, summaries.at(group));
    parent->require_subcommand(1);
  }
  return parent->add_subcommand(std::string(name.substr(space + 1)), std::string(summary));
}

void add_common(CLI::App& app, Common& common) {
  app.add_flag("--json", common.json, "machine-readable output")->group("Common");
  app.add_flag("--force", common.force, "overwrite existing files")->group("Common");
  app.add_flag("--strict", common.strict,
               "refuse a model that declares other types than it computes")
      ->group("Common");
  add_count_option(app, "--threads", common.threads, "threads, 0: one for each core",
                   {0, kMaxThreads})
      ->group("Common");
  app.add_option("--seed", common.seed, "seed of all random numbers")->group("Common");
  app.add_option("--config", common.config, "TOML file with options; flags win over it")
      ->group("Common");
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames())
      names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : subcommands(app))
    names.push_back(sub->get_name());
  return names;
}

const CLI::App* deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty())
    at = at->get_subcommands().front();
  return at;
}

/// CLI11's error in our words, with the nearest name where one was not known.
std::string usage_error(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App* where = deepest(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&e) != nullptr) {
    const std::vector<std::string> extra = where->remaining(true);
    if (!extra.empty() && extra.front().starts_with("-"))
      return fmt::format("unknown option {}{}", extra.front(),
                         suggestion(extra.front(), option_names(*where)));
    const std::vector<std::string> subs = subcommand_names(*where);
    if (!extra.empty() && !subs.empty())
      return fmt::format("unknown command \"{}\"{}", extra.front(),
                         suggestion(extra.front(), subs));
    if (!extra.empty()) return fmt::format("unexpected argument \"{}\"", extra.front());
    if (!subs.empty()) return "a command is missing; known are " + join(subs, ", ");
  }
  return e.what();
}

int exit_code(const Error& e) {
  switch (e.code()) {
  case ErrorCode::kRefused:
    return 1;
  case ErrorCode::kInternal:
    return 3;
  case ErrorCode::kCancelled:
    return kStopped;
  default:
    return 2;
  }
}

struct Parser {
  CLI::App app{"octet trains, quantizes, checks and runs 8-bit neural networks", "octet"};
  Common common;
  std::map<const CLI::App*, Command*> by_app;

  Parser() {
    app.set_version_flag("--version", std::string("octet ") + std::string(version()));
    app.require_subcommand(1);
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.footer("octet COMMAND --help shows options and an example");
    for (Command* command : commands()) {
      CLI::App* sub = subcommand(app, command->name(), command->summary());
      sub->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      command->define(*sub);
      add_common(*sub, common);
      sub->footer("Example:\n  " + std::string(command->example()));
      by_app[sub] = command;
    }
  }
};

int run(int argc, char** argv) {
  auto parser = std::make_unique<Parser>();
  std::vector<std::string> arguments(argv + 1, argv + argc);
  Result<std::vector<std::string>> expanded = expand_config(arguments, parser->app);
  if (!expanded.ok()) {
    fmt::print(stderr, "octet: {}\n", expanded.error().text());
    return exit_code(expanded.error());
  }
  const std::vector<std::string> spread = spread_lists(*expanded, parser->app);
  std::vector<std::string> reversed(spread.rbegin(), spread.rend());
  try {
    parser->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = deepest(parser->app);
    const CLI::App* parent = asked->get_parent();
    fmt::print("{}", asked->help(parent == nullptr ? "" : command_words(*parent)));
    return 0;
  } catch (const CLI::CallForVersion& e) {
    fmt::print("{}\n", e.what());
    return 0;
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "octet: {}; see {} --help\n", usage_error(parser->app, e),
               command_words(*deepest(parser->app)));
    return 2;
  }
  Command* command = parser->by_app.at(deepest(parser->app));
  parser->common.command = command->name();
  parser->common.command_line = fmt::format("octet {}", fmt::join(arguments, " "));
  const Result<Answer> answer = command->run(parser->common);
  if (answer.ok()) return static_cast<int>(*answer);
  fmt::print(stderr, "octet {}: {}\n", command->name(), answer.error().text());
  return exit_code(answer.error());
}

/// `code`, unless what was printed did not arrive: a full disk must not pass for an answer.
int finish_output(int code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "octet: standard output cannot be written{}{}; what it holds is not whole\n",
             errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
  return code == 0 || code == 1 ? 2 : code;
}

/// The exit code. What does not fit into the buffer of stdout is written by fmt::print, which throws
/// where that fails; threads that cannot be started throw too.
int run_whole(int argc, char** argv) {
  try {
    return finish_output(run(argc, argv));
  } catch (const std::system_error& e) {
    const bool output = std::ferror(stdout) != 0;
    std::fputs(output ? "octet: standard output cannot be written: " : "octet: ", stderr);
    std::fputs(e.code().message().c_str(), stderr);
    std::fputs(output ? "; what it holds is not whole\n" : "\n", stderr);
    return output ? 2 : 3;
  }
}

} // namespace

Interruptible::Interruptible() {
  ++interruptible_parts;
}

Interruptible::~Interruptible() {
  --interruptible_parts;
}

const CancelToken& Interruptible::token() const {
  return interrupt_token;
}

Status Interruptible::check() const {
  if (!stopped()) return ok_status();
  return Error("stopped by the user", ErrorCode::kCancelled);
}

} // namespace octet::cli

int main(int argc, char** argv) {
  // Scripts ask for the version often; nothing else is set up for it.
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("octet %s\n", std::string(octet::version()).c_str());
    return octet::cli::finish_output(0);
  }
  std::signal(SIGINT, octet::cli::on_signal);
  std::signal(SIGTERM, octet::cli::on_signal);
  return octet::cli::run_whole(argc, argv);
}
