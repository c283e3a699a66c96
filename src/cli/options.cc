// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "cli/config.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace octet::cli {
namespace {

/// The tokens that follow the first argument of a list option.
struct Tail {
  size_t begin = 0, end = 0; ///< within the arguments
  std::string option;
};

bool is_list(const CLI::Option& option) {
  return !option.get_positional() && option.get_items_expected_max() > 1;
}

bool is_name(const std::string& token) {
  return token.size() > 1 && token[0] == '-';
}

size_t end_of_values(const std::vector<std::string>& arguments, size_t begin) {
  while (begin < arguments.size() && !is_name(arguments[begin]))
    ++begin;
  return begin;
}

/// The tails of all lists, and how many tokens are surely arguments without a name.
std::vector<Tail> find_tails(const std::vector<std::string>& arguments,
                             size_t at,
                             const CLI::App& command,
                             int64_t& free) {
  std::vector<Tail> tails;
  while (at < arguments.size()) {
    const std::string& token = arguments[at++];
    if (token == "--") {
      free += static_cast<int64_t>(arguments.size() - at);
      break;
    }
    if (!is_name(token)) {
      ++free;
      continue;
    }
    const size_t equals = token.find('=');
    const CLI::Option* option = command.get_option_no_throw(token.substr(0, equals));
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    if (equals == std::string::npos) ++at;
    if (!is_list(*option)) continue;
    const size_t end = end_of_values(arguments, at);
    if (at < end) tails.push_back({at, end, token.substr(0, equals)});
    at = std::max(at, end);
  }
  return tails;
}

/// Gives the ends of tails back to arguments without a name, of which `least` lack and `most` have
/// room.
void leave_arguments(const std::vector<std::string>& arguments,
                     int64_t least,
                     int64_t most,
                     std::vector<Tail>& tails) {
  std::error_code ignored;
  for (auto tail = tails.rbegin(); tail != tails.rend(); ++tail)
    for (; most > 0 && tail->end > tail->begin; --most, --least) {
      if (!std::filesystem::exists(arguments[tail->end - 1], ignored)) break;
      --tail->end;
    }
  for (auto tail = tails.rbegin(); tail != tails.rend(); ++tail)
    for (; least > 0 && tail->end > tail->begin; --least)
      --tail->end;
}

template <class T>
CLI::Validator within(T least, T most, bool open_end, const char* what) {
  const std::string range = open_end        ? fmt::format("{} or more", least)
                            : least == most ? fmt::format("{}", least)
                                            : fmt::format("{} to {}", least, most);
  return CLI::Validator(
      [=](const std::string& text) {
        T value{};
        if (!CLI::detail::lexical_cast(text, value))
          return fmt::format("\"{}\" is no {}; give {}", text, what, range);
        if (value >= least && value <= most) return std::string();
        return fmt::format("{} is out of range; give {}", text,
                           value > most && open_end ? fmt::format("{} to {}", least, most) : range);
      },
      range);
}

template <class T>
CLI::Option* add_count(CLI::App& app, const char* name, T& to, const char* text, CountRange range) {
  constexpr int64_t kMost = std::numeric_limits<T>::max();
  return app.add_option(name, to, text)
      ->check(within<int64_t>(range.least, std::min(range.most, kMost),
                              range.most == CountRange::kNoLimit, "whole number"));
}

} // namespace

CLI::Option* add_list_option(CLI::App& app,
                             const char* name,
                             std::vector<std::string>& to,
                             const char* text,
                             char separator) {
  return app.add_option(name, to, text)
      ->delimiter(separator)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_list_argument(CLI::App& app,
                       const char* name,
                       std::vector<std::string>& to,
                       const char* text) {
  app.add_option(name, to, text)->required()->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::vector<std::string> spread_lists(const std::vector<std::string>& arguments,
                                      const CLI::App& app) {
  size_t words = 0;
  const CLI::App& command = *find_command(arguments, app, words);
  int64_t free = 0, least = 0, most = 0;
  std::vector<Tail> tails = find_tails(arguments, words, command, free);
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    ++least;
    most += option->get_items_expected_max();
  }
  leave_arguments(arguments, least - free, most - free, tails);
  std::vector<std::string> out;
  size_t at = 0;
  for (const Tail& tail : tails) {
    for (; at < tail.begin; ++at)
      out.push_back(arguments[at]);
    for (; at < tail.end; ++at) {
      out.push_back(tail.option);
      out.push_back(arguments[at]);
    }
  }
  out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  return out;
}

CLI::Option*
add_count_option(CLI::App& app, const char* name, int64_t& to, const char* text, CountRange range) {
  return add_count(app, name, to, text, range);
}

CLI::Option*
add_count_option(CLI::App& app, const char* name, int& to, const char* text, CountRange range) {
  return add_count(app, name, to, text, range);
}

CLI::Option* add_number_option(
    CLI::App& app, const char* name, double& to, const char* text, double least, double most) {
  return app.add_option(name, to, text)->check(within(least, most, false, "number"));
}

} // namespace octet::cli
