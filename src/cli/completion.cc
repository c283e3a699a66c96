// SPDX-License-Identifier: Apache-2.0
// Completion for bash and zsh. Both scripts find the command that the words before the cursor name,
// and offer its commands or options; where a value is to come they offer what the option takes, or
// files.
#include "cli/manual.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace octet::cli {
namespace {

/// The words of a command behind `octet`, each with a space before it.
std::string command_path(const CLI::App& app) {
  return app.get_parent() == nullptr ? "" : command_path(*app.get_parent()) + " " + app.get_name();
}

void visit_commands(const CLI::App& app, const std::function<void(const CLI::App&)>& see) {
  see(app);
  for (const CLI::App* sub : subcommands(app))
    visit_commands(*sub, see);
}

std::vector<std::string> option_words(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames())
    names.push_back("--" + name);
  for (const std::string& name : option.get_snames())
    names.push_back("-" + name);
  return names;
}

/// `fp16 bf16` of an option whose type is `TEXT:{fp16,bf16}`; empty: anything.
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string choices = type.substr(begin + 1, end - begin - 1);
  for (char& c : choices)
    if (c == ',') c = ' ';
  return choices;
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Lines `" train") found ;;` of a case over all commands that something follows.
std::string command_cases(const CLI::App& app,
                          const std::function<std::string(const CLI::App&)>& what) {
  std::string out;
  visit_commands(app, [&](const CLI::App& command) {
    const std::string found = what(command);
    if (!found.empty()) out += fmt::format("    \"{}\") {} ;;\n", command_path(command), found);
  });
  return out;
}

/// Patterns of all commands.
std::string all_paths(const CLI::App& app) {
  std::vector<std::string> paths;
  visit_commands(app, [&](const CLI::App& command) {
    if (command.get_parent() != nullptr) paths.push_back("\"" + command_path(command) + "\"");
  });
  return join(paths, "|");
}

/// Lines that complete the value of the option before the cursor.
std::string value_cases(const CLI::App& app, std::string_view format) {
  std::string out;
  visit_commands(app, [&](const CLI::App& command) {
    for (const CLI::Option* o : named_options(command)) {
      if (o->get_items_expected_max() == 0) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option_words(*o))
        patterns.push_back(fmt::format("\"{} {}\"", command_path(command), name));
      out += fmt::format("    {}) {} ;;\n", join(patterns, "|"),
                         fmt::format(fmt::runtime(format), choices_of(*o)));
    }
  });
  return out;
}

} // namespace

std::string bash_completion(const CLI::App& app) {
  const auto words = [](const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::App* sub : subcommands(command))
      names.push_back(sub->get_name());
    for (const CLI::Option* o : named_options(command))
      names.push_back(option_words(*o).front());
    return fmt::format("words=\"{}\"", join(names, " "));
  };
  std::string out = "# bash completion of octet; made by octet help --completion bash\n"
                    "_octet() {\n"
                    "  local current=${COMP_WORDS[COMP_CWORD]} path=\"\" words=\"\" value=no i\n"
                    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                    "    case \"$path ${COMP_WORDS[i]}\" in\n";
  out += fmt::format("    {}) path=\"$path ${{COMP_WORDS[i]}}\" ;;\n", all_paths(app));
  out += "    esac\n"
         "  done\n"
         "  case \"$path ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
  out += value_cases(app, "value=yes words=\"{}\"");
  out += "  esac\n"
         "  [ $value = yes ] || case \"$path\" in\n";
  out += command_cases(app, words);
  out += "  esac\n"
         "  # Files, by default, where no word fits.\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _octet octet\n";
  return out;
}

std::string zsh_completion(const CLI::App& app) {
  const auto described = [](const CLI::App& command) {
    std::string commands, options;
    const auto item = [](const std::string& name, const std::string& text) {
      return " " + single_quoted(name + ":" + text);
    };
    for (const CLI::App* sub : subcommands(command))
      commands += item(sub->get_name(), sub->get_description());
    for (const CLI::Option* o : named_options(command))
      options += item(option_words(*o).front(), o->get_description());
    return fmt::format("commands=({})\n      options=({})", commands, options);
  };
  std::string out = "#compdef octet\n"
                    "# zsh completion of octet; made by octet help --completion zsh\n"
                    "_octet() {\n"
                    "  local -a commands options choices\n"
                    "  local path_=\"\" value=no i\n"
                    "  for ((i = 2; i < CURRENT; i++)); do\n"
                    "    case \"$path_ ${words[i]}\" in\n";
  out += fmt::format("    {}) path_=\"$path_ ${{words[i]}}\" ;;\n", all_paths(app));
  out += "    esac\n"
         "  done\n"
         "  case \"$path_ ${words[CURRENT - 1]}\" in\n";
  out += value_cases(app, "value=yes choices=({})");
  out += "  esac\n"
         "  case \"$path_\" in\n";
  out += command_cases(app, described);
  out += "  esac\n"
         "  if [[ $value = yes ]]; then\n"
         "    if (( $#choices )); then compadd -- $choices; else _files; fi\n"
         "  elif [[ ${words[CURRENT]} = -* ]]; then\n"
         "    _describe option options\n"
         "  elif (( $#commands )); then\n"
         "    _describe command commands\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "_octet \"$@\"\n";
  return out;
}

} // namespace octet::cli
