// SPDX-License-Identifier: Apache-2.0
// What the runners of ONNX's backend tests share: the comparison of tensors, and the list of cases
// that are not expected to pass, each with its reason.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "support/backend.h"

#include "octet/graph.h"

namespace octet::test {

/// Why two tensors differ; empty when they agree: types, shapes and integers exactly, floats within
/// the bounds of ONNX's own runner.
std::string difference(const Tensor& have, const Tensor& want);

Result<std::vector<Tensor>> read_tensors(const std::vector<std::string>& files);

/// `test_add`, with its group in front unless that is "node".
std::string full_name(const BackendCase& c);

/// Operator types of a graph and of the bodies in it; those of other domains carry theirs in front.
std::set<std::string> operators_of(const Graph& graph);

/// Lines `PATTERN : REASON` of a file. A pattern is a name, a prefix and `*`, or `uses Operator`
/// for every case with such a node.
class Expectations {
 public:
  /// `file`: relative to the source tree. A line without a reason is a test failure.
  explicit Expectations(const std::string& file);

  bool lists(const std::string& name, const std::set<std::string>& operators) const;
  /// A test failure when a case fails that is not listed, or passes though it is.
  void judge(const std::string& name, const std::set<std::string>& operators, const Status& status);
  /// A test failure for each line that named no case.
  void finish() const;

 private:
  struct Line {
    std::string pattern;
    int uses = 0;
    bool matches(const std::string& name, const std::set<std::string>& operators) const;
  };
  std::string file_;
  std::vector<Line> lines_;
};

} // namespace octet::test
