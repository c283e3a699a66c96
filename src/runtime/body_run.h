// SPDX-License-Identifier: Apache-2.0
// The bodies of If, Loop and Scan as prepared graphs: what a body captures are inputs behind its
// own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan.h"

namespace octet::runtime {

struct PreparedBody {
  const Graph* source = nullptr; ///< in the attribute of the node
  std::string key;               ///< of the attribute
  /// An error is met when the body runs: a branch may not fit the types at hand and never be taken.
  Result<std::shared_ptr<const PreparedGraph>> prepared;
  std::vector<size_t> captures; ///< of the inputs behind its own: index in Node::captures
};

/// One for each body of `node`, which is outer.node or a copy that lives longer.
std::vector<PreparedBody> prepare_bodies(const PrepareContext& outer, const Node& node);

/// One thread's place to run a body.
class BodyRun {
 public:
  explicit BodyRun(const PreparedBody& body) : body_(&body) {}
  const Graph* source() const { return body_->source; }
  /// `captured`: in the order of Node::captures. The results are valid until the next call. Errors:
  /// types other than the body was prepared for.
  Result<std::span<const Tensor>> operator()(std::span<const Tensor> inputs,
                                             std::span<const Tensor> captured,
                                             ParallelFor& parallel);
  /// How its nodes ran last, or will run; nothing where the body could not be prepared.
  std::vector<PlannedNode> planned() const;

 private:
  const PreparedBody* body_;
  std::unique_ptr<Plan> plan_; ///< made in the first run
};

} // namespace octet::runtime
