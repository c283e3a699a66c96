// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <map>

#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "octet/version.h"

namespace octet::cli {
namespace {

/// Text as troff reads it: nothing in it is a request or an escape.
std::string troff(std::string_view text) {
  std::string out;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    starts_line = c == '\n';
  }
  return out;
}

/// The name of a page: `octet-train-cnn`.
std::string page_name(const CLI::App& app) {
  std::string name = command_words(app);
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

std::string spellings(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    names.push_back("--" + name);
  return join(names, ", ");
}

/// `TEXT=auto ...`, and whether it has to be given.
std::string value_of(const CLI::Option& option) {
  std::string out;
  if (option.get_items_expected_max() > 0) {
    out += " " + option.get_type_name();
    if (!option.get_default_str().empty()) out += "=" + option.get_default_str();
    if (option.get_expected_max() > 1) out += " ...";
  }
  if (option.get_required()) out += " (required)";
  return out;
}

std::string troff_entry(std::string_view head, std::string_view rest, std::string_view text) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", troff(head), troff(rest), troff(text));
}

std::string synopsis_of(const CLI::App& app) {
  std::string out =
      fmt::format(".SH SYNOPSIS\n\\fB{}\\fR [\\fIoptions\\fR]", troff(command_words(app)));
  if (!subcommands(app).empty()) out += " \\fIcommand\\fR";
  for (const CLI::Option* o : app.get_options())
    if (o->get_positional() && o->get_lnames().empty())
      out += fmt::format(" {}\\fI{}\\fR{}", o->get_required() ? "" : "[",
                         troff(o->get_single_name()), o->get_required() ? "" : "]");
  return out + "\n";
}

std::string arguments_and_options(const CLI::App& app) {
  std::string arguments;
  for (const CLI::Option* o : app.get_options())
    if (o->get_positional() && o->get_lnames().empty() && !o->get_group().empty())
      arguments += troff_entry(o->get_single_name(), value_of(*o), o->get_description());
  std::string out = arguments.empty() ? "" : ".SH ARGUMENTS\n" + arguments;
  std::vector<std::string> groups;
  std::map<std::string, std::string> entries;
  for (const CLI::Option* o : named_options(app)) {
    if (!entries.contains(o->get_group())) groups.push_back(o->get_group());
    entries[o->get_group()] += troff_entry(spellings(*o), value_of(*o), o->get_description());
  }
  for (const std::string& group : groups)
    out += fmt::format(".SH {}\n{}", group == "Options" ? "OPTIONS" : "COMMON OPTIONS",
                       entries[group]);
  return out;
}

std::string commands_under(const CLI::App& app) {
  std::string out;
  for (const CLI::App* sub : subcommands(app))
    out += troff_entry(command_words(*sub), "", sub->get_description());
  return out.empty() ? "" : ".SH COMMANDS\n" + out;
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n0: done. 1: the answer is no. 2: usage or input error. 3: internal error. "
    "130: stopped by SIGINT or SIGTERM.\n";

ManualPage page_of(const CLI::App& app) {
  const std::string name = page_name(app);
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"octet {}\"\n.SH NAME\n{} \\- {}\n", name,
                                 version(), troff(name), troff(app.get_description()));
  text += synopsis_of(app) + commands_under(app) + arguments_and_options(app);
  const std::string footer = app.get_footer();
  constexpr std::string_view kExample = "Example:\n";
  if (footer.starts_with(kExample))
    text += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", troff(footer.substr(kExample.size())));
  text += kExitStatus;
  if (const CLI::App* parent = app.get_parent())
    text += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", troff(page_name(*parent)));
  return {name, text};
}

} // namespace

std::string command_words(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : command_words(*parent) + " " + app.get_name();
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> named_options(const CLI::App& app) {
  std::vector<const CLI::Option*> out;
  for (const CLI::Option* o : app.get_options())
    if (!o->get_group().empty() && !(o->get_lnames().empty() && o->get_snames().empty()))
      out.push_back(o);
  return out;
}

std::vector<ManualPage> manual_pages(const CLI::App& app) {
  std::vector<ManualPage> pages = {page_of(app)};
  for (const CLI::App* sub : subcommands(app))
    for (ManualPage& page : manual_pages(*sub))
      pages.push_back(std::move(page));
  return pages;
}

} // namespace octet::cli
