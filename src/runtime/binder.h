// SPDX-License-Identifier: Apache-2.0
// Binds a plan to sizes: steps for the nodes that run, and places for their values. Steps whose
// operands are what they were before are kept.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/binding.h"

namespace octet::runtime {

/// What a plan keeps from one binding to the next.
class Binder {
 public:
  explicit Binder(std::shared_ptr<const PreparedGraph> prepared);

  /// Types for these inputs, which bind() and whoever reads a binding's shapes go by.
  Status follow(std::span<const Given> typed, const KnownElements& told);
  const Shapes& shapes() const { return shapes_; }
  const PreparedGraph& prepared() const { return *prepared_; }
  /// Errors: shapes that the graph does not take (the node is named).
  Result<std::unique_ptr<Binding>>
  bind(Plan& plan, const Start& start, std::span<const int64_t> key, Outputs outputs);
  /// How often memory was laid out.
  int64_t layouts_made() const { return layouts_made_; }

 private:
  /// The last step of a node.
  struct Last {
    BoundStep bound;
    const Prepared* kernel = nullptr;
    int64_t bound_at = 0; ///< Shapes::now()
  };
  struct Work; ///< at one binding

  void choose_outputs(Work& work) const;
  std::vector<Operand> ready_operands(const Work& work, const Node& node) const;
  std::shared_ptr<const ChosenKernel> chosen_for(const Node& node) const;
  bool is_as_before(const Node& node, int64_t bound_at) const;
  bool is_kept(const Work& work, const Node& node) const;
  static void make_available(Work& work, const Node& node);
  Status bind_node(Work& work, const Node& node, std::span<const Operand> in);
  Status list_steps(Work& work, const Start& start);
  Evaluation* evaluation_of(const Node& node);
  std::vector<bool> needed_by_rest(const Work& work) const;
  std::vector<Lifetime> lifetimes(const Work& work) const;
  Status place(Work& work, const Start& start);
  const ArenaPlan& laid_out(std::vector<Lifetime> values);

  std::shared_ptr<const PreparedGraph> prepared_;
  Shapes shapes_;
  std::vector<Last> last_; ///< by node id
  /// By node id: of nodes that no step can run.
  std::map<int32_t, std::unique_ptr<Evaluation>> evaluations_;
  /// The most recently used first: which values live how long may depend on sizes, too.
  std::vector<std::unique_ptr<Layout>> layouts_;
  int64_t layouts_made_ = 0;
};

} // namespace octet::runtime
