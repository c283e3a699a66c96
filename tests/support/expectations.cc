// SPDX-License-Identifier: Apache-2.0
#include "support/expectations.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "support/paths.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"

namespace octet::test {
namespace {

/// ONNX's own bounds (backend/test/case/model runner defaults).
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;

void collect_operators(const Graph& graph, std::set<std::string>& out) {
  for (const NodeId id : graph.nodes()) {
    const Node& n = graph.node(id);
    out.insert(n.domain.empty() ? n.op_type : n.domain + "." + n.op_type);
    for (const auto& [key, attribute] : n.attributes)
      if (const auto* body = std::get_if<GraphPtr>(&attribute.value))
        collect_operators(**body, out);
  }
}

} // namespace

std::string difference(const Tensor& have, const Tensor& want) {
  std::ostringstream why;
  if (have.type() != want.type()) {
    why << "type " << name(have.type()) << " for " << name(want.type());
  } else if (have.shape() != want.shape()) {
    why << "shape " << to_string(have.shape()) << " for " << to_string(want.shape());
  } else if (have.type() == DType::kString) {
    if (have.string_values() != want.string_values()) why << "strings differ";
  } else if (!is_float(have.type())) {
    const auto a = have.bytes(), b = want.bytes();
    const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end());
    if (!same) why << name(have.type()) << " elements differ";
    for (int64_t i = 0; !same && i < std::min<int64_t>(have.count(), 8); ++i)
      why << " " << have.at(i) << "/" << want.at(i);
  } else {
    for (int64_t i = 0; i < have.count(); ++i) {
      const double a = have.at(i), b = want.at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (std::abs(a - b) <= kAbsolute + kRelative * std::abs(b)) continue;
      why << "element " << i << " is " << a << " for " << b;
      break;
    }
  }
  return why.str();
}

Result<std::vector<Tensor>> read_tensors(const std::vector<std::string>& files) {
  std::vector<Tensor> out;
  out.reserve(files.size());
  for (const std::string& file : files)
    out.push_back(OCTET_TRY(read_tensor_proto(file)).tensor);
  return out;
}

std::string full_name(const BackendCase& c) {
  return c.group == "node" ? c.name : c.group + "/" + c.name;
}

std::set<std::string> operators_of(const Graph& graph) {
  std::set<std::string> out;
  collect_operators(graph, out);
  return out;
}

bool Expectations::Line::matches(const std::string& name,
                                 const std::set<std::string>& operators) const {
  if (pattern.starts_with("uses ")) return operators.count(pattern.substr(5)) > 0;
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

Expectations::Expectations(const std::string& file) : file_(file) {
  std::ifstream in(std::string(source_dir()) + "/" + file);
  EXPECT_TRUE(in.good()) << "cannot read " << file;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(" : ");
    if (colon == std::string::npos || colon + 3 == line.size()) {
      ADD_FAILURE() << file << ": no ` : reason` in: " << line;
      continue;
    }
    lines_.push_back({.pattern = line.substr(0, line.find_last_not_of(' ', colon) + 1)});
  }
}

bool Expectations::lists(const std::string& name, const std::set<std::string>& operators) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const Line& line) { return line.matches(name, operators); });
}

void Expectations::judge(const std::string& name,
                         const std::set<std::string>& operators,
                         const Status& status) {
  const Line* listed = nullptr;
  for (Line& line : lines_) {
    if (!line.matches(name, operators)) continue;
    ++line.uses;
    listed = &line;
  }
  if (status.ok() && listed != nullptr)
    ADD_FAILURE() << name << " passes but is listed (" << listed->pattern << "); take it out of "
                  << file_;
  if (!status.ok() && listed == nullptr) ADD_FAILURE() << name << ": " << status.error().text();
}

void Expectations::finish() const {
  for (const Line& line : lines_)
    if (line.uses == 0) ADD_FAILURE() << file_ << " names no case: " << line.pattern;
}

} // namespace octet::test
