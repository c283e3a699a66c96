// SPDX-License-Identifier: Apache-2.0
#include "cli/config.h"

#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>
#include <toml++/toml.h>

namespace octet::cli {
namespace {

std::string config_path(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    if (arguments[i].starts_with("--config=")) return arguments[i].substr(9);
  }
  return {};
}

Result<std::string> scalar(const toml::node& node, const std::string& key) {
  if (const auto* s = node.as_string()) return s->get();
  if (const auto* i = node.as_integer()) return fmt::format("{}", i->get());
  if (const auto* f = node.as_floating_point()) return fmt::format("{}", f->get());
  return error("key \"{}\": wants a string or a number", key);
}

Status append(std::vector<std::string>& out, const std::string& key, const toml::node& node) {
  if (const auto* flag = node.as_boolean()) {
    if (flag->get()) out.push_back("--" + key);
    return ok_status();
  }
  if (const auto* list = node.as_array()) {
    for (const toml::node& item : *list)
      out.push_back("--" + key + "=" + OCTET_TRY(scalar(item, key)));
    return ok_status();
  }
  out.push_back("--" + key + "=" + OCTET_TRY(scalar(node, key)));
  return ok_status();
}

Status
take_table(const toml::table& table, const CLI::App& command, std::vector<std::string>& out) {
  std::vector<std::string> known;
  for (const CLI::Option* o : command.get_options())
    for (const std::string& name : o->get_lnames())
      if (name != "help" && name != "config") known.push_back(name);
  for (const auto& [key, node] : table) {
    const std::string text(key.str());
    if (node.is_table()) continue;
    if (std::find(known.begin(), known.end(), text) == known.end())
      return error("key \"{}\" is no option of \"{}\"{}", text, command.get_name(),
                   suggestion(text, known));
    OCTET_TRY(append(out, text, node));
  }
  return ok_status();
}

} // namespace

const CLI::App*
find_command(const std::vector<std::string>& arguments, const CLI::App& app, size_t& words) {
  const CLI::App* at = &app;
  for (words = 0; words < arguments.size(); ++words) {
    const CLI::App* next = nullptr;
    for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; }))
      if (sub->get_name() == arguments[words]) next = sub;
    if (next == nullptr) break;
    at = next;
  }
  return at;
}

Result<std::vector<std::string>> expand_config(const std::vector<std::string>& arguments,
                                               const CLI::App& app) {
  const std::string path = config_path(arguments);
  if (path.empty()) return arguments;
  size_t words = 0;
  const CLI::App* command = find_command(arguments, app, words);
  if (words == 0) return arguments;
  toml::table root;
  try {
    root = toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    const std::string what(e.description());
    if (e.source().begin.line == 0) return error("{}: {}", path, what);
    return error("{}: line {}: {}", path, e.source().begin.line, what);
  }
  std::vector<std::string> out(arguments.begin(),
                               arguments.begin() + static_cast<std::ptrdiff_t>(words));
  // Tables of other commands may share the file; keys at the top are for whoever reads it.
  OCTET_TRY_WITH(take_table(root, *command, out), path);
  const toml::table* table = &root;
  for (size_t i = 0; i < words && table != nullptr; ++i)
    table = (*table)[arguments[i]].as_table();
  if (table != nullptr) OCTET_TRY_WITH(take_table(*table, *command, out), path);
  out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(words), arguments.end());
  return out;
}

} // namespace octet::cli
