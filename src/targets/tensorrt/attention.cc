// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/attention.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr int kMaxHops =
    12; // from a product to the softmax or the next Q: far more than exporters write

bool moves(const Node& node) {
  constexpr std::array<std::string_view, 6> kMoves = {"Transpose", "Reshape", "Squeeze",
                                                      "Unsqueeze", "Flatten", "Identity"};
  return node.domain.empty() &&
         std::find(kMoves.begin(), kMoves.end(), node.op_type) != kMoves.end();
}

std::optional<int64_t> dim_from_end(const TypeInfo& type, int64_t back) {
  if (!type.has_rank() || type.rank() < back) return std::nullopt;
  return (*type.shape)[static_cast<size_t>(type.rank() - back)].maybe_value();
}

class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  std::optional<Attention> at(const Node& softmax) const {
    Attention out;
    out.softmax = softmax.id;
    if (!find_scores(softmax, out) || !find_context(softmax, out)) return std::nullopt;
    const Node& scores = graph_.node(out.scores);
    const Node& context = graph_.node(out.context);
    out.query_codes = from_codes(scores.input(0), out);
    out.key_codes = from_codes(scores.input(1), out);
    out.value_codes = from_codes(context.input(1), out);
    out.output_codes = into_codes(context.output(0), out);
    out.head_size = dim_from_end(type(scores.input(0)), 1);
    out.query_length = dim_from_end(type(scores.output(0)), 2);
    out.key_length = dim_from_end(type(scores.output(0)), 1);
    return out;
  }

 private:
  const TypeInfo& type(ValueId id) const { return graph_.value(id).type; }

  void note_type(const Node& qdq, Attention& out) const {
    const DType codes = type(codes_of_qdq(qdq)).type;
    if (std::find(out.code_types.begin(), out.code_types.end(), codes) == out.code_types.end())
      out.code_types.push_back(codes);
  }

  bool from_codes(ValueId id, Attention& out) const {
    const Node* before = graph_.producer(id);
    if (before == nullptr || !is_dequantize(*before)) return false;
    note_type(*before, out);
    return true;
  }

  bool into_codes(ValueId id, Attention& out) const {
    for (int hops = 0; hops < kMaxHops; ++hops) {
      const NodeId next = uses_.single_consumer(id);
      if (!next.valid()) return false;
      const Node& node = graph_.node(next);
      if (is_quantize(node)) {
        note_type(node, out);
        return true;
      }
      if (!moves(node)) return false;
      id = node.output(0);
    }
    return false;
  }

  /// Back over mask, scale, casts, Q and DQ; the side of Add and Mul that is no constant counts.
  bool find_scores(const Node& softmax, Attention& out) const {
    ValueId at = softmax.input(0);
    for (int hops = 0; hops < kMaxHops; ++hops) {
      const Node* before = graph_.producer(at);
      if (before == nullptr) return false;
      if (before->is("MatMul")) {
        out.scores = before->id;
        return true;
      }
      if (before->is("Mul") || before->is("Div")) {
        const bool constant = graph_.constant(before->input(1)) != nullptr;
        if (!constant && graph_.constant(before->input(0)) == nullptr) return false;
        out.scale_after_scores = true;
        out.between.push_back(before->id);
        at = before->input(constant ? 0 : 1);
      } else if (before->is("Add")) {
        out.between.push_back(before->id);
        at = reaches_product(before->input(0)) ? before->input(0) : before->input(1);
      } else if (before->is("Cast") || before->is("Where") || is_qdq(*before)) {
        if (!is_qdq(*before)) out.between.push_back(before->id);
        if (is_qdq(*before)) note_type(*before, out);
        if (is_dequantize(*before)) out.score_codes.push_back(at);
        at = before->input(before->is("Where") ? 1 : 0);
      } else {
        return false;
      }
    }
    return false;
  }

  /// Whether a product lies behind a value, past a scale, casts, Q and DQ.
  bool reaches_product(ValueId id) const {
    for (int hops = 0; hops < kMaxHops; ++hops) {
      const Node* before = graph_.producer(id);
      if (before == nullptr) return false;
      if (before->is("MatMul")) return true;
      if (!before->is("Mul") && !before->is("Div") && !before->is("Cast") && !is_qdq(*before))
        return false;
      id = before->input(graph_.constant(before->input(0)) != nullptr ? 1 : 0);
    }
    return false;
  }

  /// On over casts, dropout, Q and DQ, and the guard IsNaN-Where, to the product with V.
  bool find_context(const Node& softmax, Attention& out) const {
    ValueId at = softmax.output(0);
    for (int hops = 0; hops < kMaxHops; ++hops) {
      const Node* next = nullptr;
      for (const Uses::Use& use : uses_.of(at)) {
        const Node& node = graph_.node(use.node);
        if (node.is("IsNaN")) continue;
        if (next != nullptr) return false;
        next = &node;
      }
      if (next == nullptr) return false;
      if (next->is("MatMul")) {
        out.context = next->id;
        return next->input(0) == at;
      }
      if (is_qdq(*next)) note_type(*next, out);
      if (is_quantize(*next))
        out.probability_codes = true;
      else if (!is_dequantize(*next)) {
        if (!next->is("Cast") && !next->is("Dropout") && !next->is("Where")) return false;
        out.between.push_back(next->id);
      }
      at = next->output(0);
    }
    return false;
  }

  const Graph& graph_;
  const Uses& uses_;
};

FusedAttention refuse(bool quantized, std::string condition, std::string mend) {
  return {false, quantized, DType::kUndefined, std::move(condition), std::move(mend)};
}

constexpr const char* kTakeCodesOut = "take Q/DQ out of the attention: it runs fused in 16 bits";

/// The sizes that the kernel of these codes takes.
FusedAttention with_codes(const Attention& a, DType codes) {
  if (codes == DType::kFloat8E4M3FN) {
    if (a.head_size && (*a.head_size <= 8 || *a.head_size > 256))
      return refuse(true, fmt::format("the head size is {}, FP8 takes 9 to 256", *a.head_size),
                    kTakeCodesOut);
    return {true, true, codes, "", ""};
  }
  if (!is_byte(codes) && codes != DType::kUndefined)
    return refuse(true, fmt::format("its codes are {}, it takes INT8 and FP8", name(codes)),
                  kTakeCodesOut);
  if (!int8_takes_head(a.head_size))
    return refuse(true, fmt::format("the head size is {}, int8 takes 16, 32 and 64", *a.head_size),
                  kTakeCodesOut);
  for (const auto& length : {a.query_length, a.key_length})
    if (length && *length > kInt8AttentionLength)
      return refuse(true, fmt::format("the length is {}, int8 takes 512 at most", *length),
                    kTakeCodesOut);
  return {true, true, codes, "", ""};
}

} // namespace

std::vector<Attention> find_attention(const Graph& graph, const Uses& uses) {
  std::vector<Attention> out;
  const Finder finder(graph, uses);
  for (const NodeId id : graph.nodes())
    if (graph.node(id).is("Softmax"))
      if (auto found = finder.at(graph.node(id))) out.push_back(std::move(*found));
  return out;
}

std::optional<Attention>
find_attention_at(const Graph& graph, const Uses& uses, const Node& softmax) {
  return Finder(graph, uses).at(softmax);
}

FusedAttention tensorrt_attention(const Attention& a) {
  const bool any = a.query_codes || a.key_codes || a.value_codes || a.probability_codes ||
                   !a.score_codes.empty();
  if (a.scale_after_scores)
    return refuse(any, "the scale is applied to the scores, behind the first product",
                  "multiply Q or K by it instead (octet simplify)");
  if (!a.score_codes.empty())
    return refuse(true, "Q/DQ stands between the first product and the softmax",
                  "take it away (octet repair --attention int8)");
  const auto known = [](const std::optional<int64_t>& dim) { return dim.has_value(); };
  if (!any) {
    if (known(a.head_size) && (*a.head_size < 16 || *a.head_size > 256 || *a.head_size % 8 != 0))
      return refuse(false, fmt::format("the head size is {}", *a.head_size),
                    "use a head size from 16 to 256 that 8 divides");
    return {true, false, DType::kUndefined, "", ""};
  }
  struct Place {
    bool present;
    const char* where;
  };
  for (const Place& place : {Place{a.query_codes, "before the first product, on Q"},
                             Place{a.key_codes, "before the first product, on K"},
                             Place{a.probability_codes, "behind the softmax"},
                             Place{a.value_codes, "before the second product, on V"},
                             Place{a.output_codes, "behind the second product"}})
    if (!place.present)
      return refuse(
          true, fmt::format("no Q/DQ {}", place.where),
          fmt::format(
              "put Q/DQ {}, or take all of them away (octet repair --attention int8 or float)",
              place.where));
  if (a.code_types.size() > 1)
    return refuse(
        true, fmt::format("its codes are {} and {}", name(a.code_types[0]), name(a.code_types[1])),
        "use codes of one type in all of it");
  return with_codes(a, a.code_types.front());
}

} // namespace octet
