// SPDX-License-Identifier: Apache-2.0
// OperatorTypes: for each operator of ai.onnx and each version of it, the types that its inputs and
// outputs may have and the names of its attributes. Kept as text, one line an operator:
//   Relu 6:dfh>0:;13:bdfh>0;14:bcdfhils>0
// = from operator set 6 on f64, f32 or f16 and no attributes, from 13 on bf16 too, ... Types are
// letters (type_of_letter), positions stand between commas, inputs before the > and outputs behind
// it; a number says "as position n", a + that the last one repeats, ? any type, = as the version
// before, - that the version is not there, * that nothing is known of it.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// kUndefined: no letter of a type.
DType type_of_letter(char letter);
/// Cuts off and returns what stands before `separator`, or all.
std::string_view next_part(std::string_view& text, char separator);
/// The text of a table as a number; else it is a programmer's error.
int64_t table_number(std::string_view text);

class OperatorTypes {
 public:
  struct Positions {
    std::vector<uint32_t> types; ///< of each: bit n for the DType of number n
    bool repeats = false;        ///< the last one
    bool takes(size_t position, DType type) const;
  };
  struct Version {
    int64_t since = 0;
    bool missing = false, unknown = false;
    Positions inputs, outputs;
    std::vector<std::string_view> attributes;
  };

  /// `table` outlives it. Lines that are malformed are a programmer's error.
  explicit OperatorTypes(std::string_view table);
  /// Null: an operator, or an operator set before its first, that is not in the table.
  const Version* find(std::string_view op_type, int64_t opset) const;
  /// Null: no such operator.
  const std::vector<Version>* versions(std::string_view op_type) const;

 private:
  std::map<std::string_view, std::vector<Version>, std::less<>> operators_;
};

/// What ONNX's schemas say, operator sets 7 to 26.
const OperatorTypes& onnx_schemas();

/// A value of a node whose type is not among those that it may have.
struct TypeFault {
  bool is_input = true;
  size_t index = 0;
  DType type = DType::kUndefined;
};
/// The first of the node in that version. Values of type `as_if.first` count as `as_if.second`.
std::optional<TypeFault> type_fault(const Graph& graph,
                                    const Node& node,
                                    const OperatorTypes::Version& version,
                                    std::pair<DType, DType> as_if = {DType::kUndefined,
                                                                     DType::kUndefined});
/// The first operator set, `opset` or later, in which ONNX takes the node's types; 0: none does.
/// Nodes of other domains and unknown operators are taken at once.
int64_t takes_types_from(const Graph& graph,
                         const Node& node,
                         int64_t opset,
                         std::pair<DType, DType> as_if = {DType::kUndefined, DType::kUndefined});
/// `u16 as input "zero"`.
std::string text_of(const Graph& graph, const Node& node, const TypeFault& fault);

} // namespace octet
