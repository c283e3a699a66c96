// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/einsum.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/format.h"

namespace octet {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// `hidden`: axes that the ellipsis stands for.
Result<EinsumLabels> parse_term(std::string_view term, int64_t hidden) {
  EinsumLabels out;
  for (size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      out.push_back(term[i]);
    } else if (term.substr(i, 3) == "...") {
      for (int64_t k = hidden; k > 0; --k)
        out.push_back(static_cast<int>(-k));
      i += 2;
    } else {
      return error("equation: \"{}\" is no letter; use letters, commas, ... and ->", term[i]);
    }
  }
  return out;
}

int64_t letters(std::string_view term) {
  return std::count_if(term.begin(), term.end(), is_letter);
}

/// Without `->`: the hidden axes, then the labels that occur once, sorted.
EinsumLabels implicit_output(const std::vector<EinsumLabels>& inputs) {
  std::map<int, int> count;
  for (const EinsumLabels& labels : inputs)
    for (int label : labels)
      ++count[label];
  EinsumLabels out;
  for (const auto& [label, times] : count)
    if (label < 0 || times == 1) out.push_back(label);
  return out;
}

} // namespace

Result<EinsumEquation> parse_einsum(std::string equation, std::span<const int64_t> ranks) {
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  EinsumEquation e;
  int64_t most_hidden = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const size_t comma = left.find(',');
    const std::string_view term = left.substr(0, comma);
    if ((comma == std::string_view::npos) != (i + 1 == ranks.size()))
      return error("equation \"{}\" does not have {} terms; give one for each input", equation,
                   ranks.size());
    const int64_t hidden =
        term.find("...") == std::string_view::npos ? 0 : ranks[i] - letters(term);
    const auto labels = OCTET_TRY(parse_term(term, std::max<int64_t>(hidden, 0)));
    if (static_cast<int64_t>(labels.size()) != ranks[i])
      return error("equation: term {} has {} labels for rank {}; name every axis", i, labels.size(),
                   ranks[i]);
    most_hidden = std::max(most_hidden, hidden);
    e.inputs.push_back(labels);
    if (comma != std::string_view::npos) left.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos)
    e.output = implicit_output(e.inputs);
  else
    e.output = OCTET_TRY(parse_term(std::string_view(equation).substr(arrow + 2), most_hidden));
  return e;
}

} // namespace octet
