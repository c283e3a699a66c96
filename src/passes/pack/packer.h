// SPDX-License-Identifier: Apache-2.0
// The walk of pack_sequences: what each value of the lowered graph is in the packed one.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/format.h"
#include "core/numerics/program.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "passes/pack/mask_proof.h"

namespace octet::packing {

/// Sizes of the batch and of the padded sequences in the graph that is packed.
Dim batch_size();
Dim sequence_length();

/// A constant i64 [n].
Tensor ints(const std::vector<int64_t>& values);

/// Inputs of Attention and QAttention before those of the program.
inline constexpr size_t kOperands = 3;
bool is_attention(const Node& node);
/// Whether each element of the result is computed of those that broadcast to it alone.
bool is_elementwise(const Graph& graph, const Node& node);

/// What becomes of a value.
struct Form {
  enum class Kind {
    kNone,
    kFixed,     ///< depends on no sequence: as it is
    kTokens,    ///< [batch, length, rest], [batch * length, rest], [length, rest]: [tokens, rest]
    kSequences, ///< [batch, ..]: as it is
    kMask,      ///< one number where there is a token, another where there is padding
    kShape,     ///< follows from sizes of the batch: nobody makes it
  };
  Kind kind = Kind::kNone;
  ValueId id = {}; ///< of the packed graph
  size_t rest = 0; ///< of tokens: axes behind those of batch and length
  /// Of tokens: in the graph that is packed all elements of padding are 0.
  bool zero_padding = false;
  // Of a mask: tensors [1], and the axis that the length is, counted from the last one; none: it is
  // the same everywhere.
  Tensor real = {}, padding = {};
  std::optional<int64_t> axis = {};

  static Form fixed(ValueId id) { return {.kind = Kind::kFixed, .id = id}; }
  static Form tokens(ValueId id, size_t rest) {
    return {.kind = Kind::kTokens, .id = id, .rest = rest};
  }
  static Form sequences(ValueId id) { return {.kind = Kind::kSequences, .id = id}; }
  bool has_value() const { return id.valid(); }
  bool is(Kind k) const { return kind == k; }
};

class Packer {
 public:
  explicit Packer(const Graph& lowered);

  /// Packs a node whose inputs are packed. Errors name it.
  Status pack(NodeId id);
  const Graph& source() const { return in_; }
  Graph& out() { return out_; }
  Graph take() { return std::move(out_); }
  void set(ValueId source, Form form) {
    forms_[static_cast<size_t>(source.index)] = std::move(form);
  }
  const Form& form(ValueId source) const { return forms_[static_cast<size_t>(source.index)]; }
  void set_token_input(ValueId source, ValueId made);
  Status set_mask_input(ValueId source);
  Status add_offsets();

 private:
  using Kind = Form::Kind;

  bool any(const Node& node, Kind kind) const;
  bool all(const Node& node, std::initializer_list<Kind> kinds) const;
  template <class... Args>
  Error refuse(const Node& node, fmt::format_string<Args...> why, Args&&... args) const {
    return error(ErrorCode::kUnsupported, "node {}: {}", label(in_, node),
                 fmt::format(why, std::forward<Args>(args)...));
  }
  const TypeInfo& type(ValueId source) const { return in_.value(source).type; }
  size_t rank(ValueId source) const { return static_cast<size_t>(type(source).rank()); }
  /// Axes of a source value of tokens before its rest.
  size_t lead(ValueId source) const { return rank(source) - form(source).rest; }
  std::optional<std::vector<int64_t>> known_ints(ValueId source) const;
  bool is_number(ValueId source, int64_t number) const;
  /// Whether it is one number, the length of the batch.
  bool is_length(ValueId source) const;

  Status infer_source(const Node& node);
  Status pack_node(const Node& node);
  // False: another rule's turn.
  Result<bool> pack_positions(const Node& node);
  Result<bool> pack_mask(const Node& node);
  Result<bool> pack_reduced(const Node& node);
  Result<bool> pack_slice(const Node& node);
  Result<bool> pack_joint(const Node& node);
  Result<bool> pack_running(const Node& node);
  Result<bool> pack_reshaped(const Node& node);
  Result<bool> pack_gather(const Node& node);
  Result<bool> pack_rows(const Node& node);
  Result<bool> pack_transpose(const Node& node);
  Result<bool> pack_elementwise(const Node& node);
  Result<bool> pack_attention(const Node& node);

  enum class Where { kToken, kPadding };
  Result<Tensor> mask_result(const Node& node, Where where) const;
  /// A constant, from its first element along an axis up to the length.
  Result<bool> pack_sliced_table(const Node& node);
  Status set_perms(const Node& node, Node& made) const;
  Status add_program(const Node& node, Node& made);
  std::optional<Interval>
  score_range(const Node& node, const numerics::Program& program, Where where, double score) const;
  Status check_masked(const Node& node, const numerics::Program& program) const;

  /// Whether what the elementwise node makes of padding is 0.
  bool zeroes_padding(const Node& node) const;
  /// Of the attribute, or of that input, counted from the first one.
  std::optional<std::vector<int64_t>> axes_of(const Node& node, size_t input) const;
  Result<ValueId> lengths_like(const Node& node, const TypeInfo& wanted);
  void place_unsqueezed(const Node& node, ValueId rows);

  /// Puts `made` in the place of `node`; `form_of` says what its outputs are.
  template <class FormOf>
  void place(const Node& node, Node made, const FormOf& form_of) {
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.outputs[k].valid()) continue;
      made.outputs[k] = out_.add_value(in_.value(node.outputs[k]).name);
      set(node.outputs[k], form_of(made.outputs[k]));
    }
    out_.add_node(std::move(made));
  }
  void place_tokens(const Node& node, Node made, size_t rest);
  void place_as(const Node& node, Form::Kind kind);
  /// Inputs as they are in the packed graph; of a mask the number that stands where tokens are.
  std::vector<ValueId> packed_inputs(const Node& node);
  ValueId real_of(ValueId source);
  /// What broadcasts with [tokens, rest].
  Result<ValueId> beside_tokens(const Node& node, ValueId source, size_t rest);
  ValueId positions();
  ValueId starts();
  ValueId first_rows();

  Graph in_;
  Graph out_;
  KnownElements elements_;
  std::vector<Form> forms_;
  ValueId offsets_, positions_, starts_, first_rows_;
  ValueId any_tokens_;     ///< the first input of tokens
  bool is_masked_ = false; ///< some input is a mask
};

} // namespace octet::packing
