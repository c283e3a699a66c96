// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ DQ                    =>   x ─▶ Q ─▶ Clip(lowest, highest) ─▶ DQ
//   codes of a weight ─▶ DQ         =>   codes ─▶ Clip(lowest, highest) ─▶ DQ
// Exact. The bounds of an activation are those of its type, or what a Clip of the plan says already
// (below 8 bits); of a weight those of the fewest bits, 2 to 8, that hold its codes. Source: what
// Brevitas exports, and docs/targets.md 9.
#include "export/qcdq.h"

#include <algorithm>
#include <map>

#include "core/format.h"
#include "ops/infer.h"
#include "ops/qdq/quant_layout.h"
#include "targets/checks.h"

namespace octet {

namespace {

struct CodeBounds {
  CodeRange range;
  int bits;
};

std::optional<CodeBounds> byte_range(DType type) {
  const auto range = code_range(type);
  if (!range || bits(type) != 8) return std::nullopt;
  return CodeBounds{*range, 8};
}

/// Signed codes leave out the lowest one where the weight does.
std::optional<CodeBounds> range_of(const Tensor& codes) {
  const auto full = byte_range(codes.type());
  if (!full || codes.count() == 0) return std::nullopt;
  int32_t lowest = 255, highest = -128;
  for (int64_t i = 0; i < codes.count(); ++i) {
    lowest = std::min(lowest, static_cast<int32_t>(codes.at(i)));
    highest = std::max(highest, static_cast<int32_t>(codes.at(i)));
  }
  for (int bits = 2; bits <= 8; ++bits) {
    const int32_t top = codes.type() == DType::kUint8 ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
    const int32_t bottom = codes.type() == DType::kUint8 ? 0 : -top;
    if (lowest >= bottom && highest <= top) return CodeBounds{{bottom, top}, bits};
    if (codes.type() == DType::kInt8 && lowest == bottom - 1 && highest <= top)
      return CodeBounds{{bottom - 1, top}, bits};
  }
  return full;
}

class QcdqWriter {
 public:
  explicit QcdqWriter(Graph& graph) : graph_(graph) {}

  std::vector<ExportNote> run() {
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (!is_dequantize(node) || !node.domain.empty()) continue;
      const ValueId codes = node.input(0);
      const Node* before = graph_.producer(codes);
      if (const Tensor* stored = graph_.constant(codes)) {
        if (const auto bounds = range_of(*stored)) put(id, codes, *bounds);
      } else if (before != nullptr && is_quantize(*before)) {
        if (const auto bounds = byte_range(graph_.value(codes).type.type)) put(id, codes, *bounds);
      }
    }
    return std::move(notes_);
  }

 private:
  void put(NodeId dequantize, ValueId codes, const CodeBounds& bounds) {
    const auto found = clipped_.find(codes);
    if (found != clipped_.end()) return graph_.set_node_input(dequantize, 0, found->second);
    const std::string name = graph_.value(codes).name;
    const DType type = graph_.value(codes).type.type;
    const ValueId y =
        graph_.emit("Clip", {codes, bound(type, bounds.range.lo), bound(type, bounds.range.hi)}, {},
                    graph_.unique_name(name + "_clip"));
    graph_.set_type(y, graph_.value(codes).type);
    graph_.set_node_input(dequantize, 0, y);
    clipped_.emplace(codes, y);
    notes_.push_back(
        {"clip", name,
         fmt::format("{} bits: codes {} to {}", bounds.bits, bounds.range.lo, bounds.range.hi),
         true});
  }

  ValueId bound(DType type, int32_t code) {
    const auto [found, is_new] = bounds_.try_emplace({static_cast<int32_t>(type), code});
    if (is_new)
      found->second = graph_.add_constant(
          graph_.unique_name(fmt::format("clip_{}", code)),
          Tensor::from_doubles(type, {}, std::vector<double>{static_cast<double>(code)}).value());
    return found->second;
  }

  Graph& graph_;
  std::map<ValueId, ValueId> clipped_;
  std::map<std::pair<int32_t, int32_t>, ValueId> bounds_;
  std::vector<ExportNote> notes_;
};

} // namespace

std::vector<ExportNote> write_qcdq(Graph& graph) {
  return QcdqWriter(graph).run();
}

} // namespace octet
