// SPDX-License-Identifier: Apache-2.0
#include "lock/parts.h"

#include <algorithm>
#include <unordered_map>

#include "core/format.h"
#include "core/hash.h"
#include "graph/label.h"

#include "octet/graph_text.h"

namespace octet {

namespace {

constexpr std::string_view kConstant = "const ";

/// `const w`, `input x`, or the values that a node makes.
std::string_view part_name(std::string_view line) {
  for (const std::string_view kind :
       {kConstant, std::string_view("input "), std::string_view("output ")})
    if (line.starts_with(kind)) return line.substr(0, line.find(": "));
  return line.substr(0, line.find(" = "));
}

/// Continues the statement of the line before it: graphs in attributes are indented.
bool continues(std::string_view line) {
  return line.empty() || line.front() == ' ' || line.front() == '}';
}

/// What a constant is to the node that reads it first; empty: nobody does.
std::string role(const Graph& graph, const Uses& uses, ValueId value) {
  const auto& readers = uses.of(value);
  if (readers.empty()) return "";
  const Node& node = graph.node(readers.front().node);
  const bool codes = node.is("QuantizeLinear") || node.is("DequantizeLinear");
  const size_t input = readers.front().input;
  const std::string what = codes && input == 1   ? "scale"
                           : codes && input == 2 ? "zero point"
                                                 : fmt::format("input {}", input);
  return fmt::format(" ({} of {})", what, label(graph, node));
}

} // namespace

std::vector<LockedHash> parts_of(const Graph& graph) {
  const std::string text = print(graph, {.max_elements = 0, .types = false});
  std::vector<LockedHash> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (continues(line) && !parts.empty())
      parts.back().hash = hash_bytes(line, parts.back().hash);
    else
      parts.push_back({std::string(part_name(line)), hash_bytes(line)});
  }
  return parts;
}

LockFindings changed_parts(const Lock& lock, const Graph& graph, size_t most) {
  std::unordered_map<std::string_view, uint64_t> before;
  for (const LockedHash& part : lock.parts)
    before.emplace(part.name, part.hash);
  const std::vector<LockedHash> now = parts_of(graph);
  const Uses uses(graph);
  const auto named = [&](const std::string& part) {
    if (!part.starts_with(kConstant)) return part;
    std::string_view value = std::string_view(part).substr(kConstant.size());
    if (value.size() > 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    const auto id = graph.find_value(value);
    return part + (id ? role(graph, uses, *id) : "");
  };
  LockFindings changed, added, gone;
  for (const LockedHash& part : now) {
    const auto found = before.find(part.name);
    if (found == before.end())
      added.push_back(fmt::format("{} is new", named(part.name)));
    else if (found->second != part.hash)
      changed.push_back(fmt::format("{} is another", named(part.name)));
    if (found != before.end()) before.erase(found);
  }
  for (const LockedHash& part : lock.parts)
    if (before.contains(part.name)) gone.push_back(fmt::format("{} is gone", part.name));
  LockFindings out;
  for (LockFindings* some : {&changed, &added, &gone}) {
    const size_t shown = std::min(most, some->size());
    std::move(some->begin(), some->begin() + static_cast<std::ptrdiff_t>(shown),
              std::back_inserter(out));
    if (some->size() > shown)
      out.push_back(fmt::format("and {} more that {}", some->size() - shown,
                                some == &changed ? "changed"
                                : some == &added ? "are new"
                                                 : "are gone"));
  }
  return out;
}

} // namespace octet
