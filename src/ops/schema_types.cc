// SPDX-License-Identifier: Apache-2.0
#include "ops/schema_types.h"

#include <algorithm>
#include <charconv>

#include "core/check.h"
#include "core/format.h"

namespace octet {

namespace {

constexpr uint32_t kAnyType = ~uint32_t{0};

uint32_t type_bit(DType type) {
  return uint32_t{1} << static_cast<uint32_t>(type);
}

void read_positions(std::string_view text, OperatorTypes::Version& version) {
  std::vector<uint32_t> all;
  std::string_view outputs = text;
  std::string_view inputs = next_part(outputs, '>');
  for (auto [part, side] : {std::pair{inputs, &version.inputs}, {outputs, &version.outputs}}) {
    *side = {};
    if (part.ends_with('+')) {
      side->repeats = true;
      part.remove_suffix(1);
    }
    while (!part.empty()) {
      const std::string_view set = next_part(part, ',');
      uint32_t types = set == "?" ? kAnyType : 0;
      if (!set.empty() && set.front() >= '0' && set.front() <= '9')
        types = all.at(static_cast<size_t>(table_number(set)));
      else if (types == 0)
        for (const char letter : set)
          types |= type_bit(type_of_letter(letter));
      all.push_back(types);
      side->types.push_back(types);
    }
  }
}

} // namespace

int64_t table_number(std::string_view text) {
  int64_t out = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out);
  OCTET_CHECK(result.ec == std::errc{} && result.ptr == text.data() + text.size());
  return out;
}

std::string_view next_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view out = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return out;
}

DType type_of_letter(char letter) {
  switch (letter) {
  case 'f':
    return DType::kFloat32;
  case 'h':
    return DType::kFloat16;
  case 'd':
    return DType::kFloat64;
  case 'b':
    return DType::kBfloat16;
  case 'c':
    return DType::kInt8;
  case 'C':
    return DType::kUint8;
  case 's':
    return DType::kInt16;
  case 'S':
    return DType::kUint16;
  case 'i':
    return DType::kInt32;
  case 'I':
    return DType::kUint32;
  case 'l':
    return DType::kInt64;
  case 'L':
    return DType::kUint64;
  case 'o':
    return DType::kBool;
  case 't':
    return DType::kString;
  case 'z':
    return DType::kComplex64;
  case 'Z':
    return DType::kComplex128;
  case 'e':
    return DType::kFloat8E4M3FN;
  case 'E':
    return DType::kFloat8E4M3FNUZ;
  case 'm':
    return DType::kFloat8E5M2;
  case 'M':
    return DType::kFloat8E5M2FNUZ;
  case 'n':
    return DType::kInt4;
  case 'N':
    return DType::kUint4;
  case 'q':
    return DType::kFloat4E2M1;
  case 'w':
    return DType::kInt2;
  case 'W':
    return DType::kUint2;
  case 'x':
    return DType::kFloat8E8M0;
  default:
    return DType::kUndefined;
  }
}

bool OperatorTypes::Positions::takes(size_t position, DType type) const {
  if (type == DType::kUndefined || types.empty()) return true;
  if (position >= types.size() && !repeats) return true;
  return (types[std::min(position, types.size() - 1)] & type_bit(type)) != 0;
}

OperatorTypes::OperatorTypes(std::string_view table) {
  while (!table.empty()) {
    std::string_view line = next_part(table, '\n');
    if (line.empty()) continue;
    const std::string_view name = next_part(line, ' ');
    std::vector<Version>& versions = operators_[name];
    while (!line.empty()) {
      std::string_view part = next_part(line, ';');
      Version version = versions.empty() ? Version{} : versions.back();
      version.since = table_number(next_part(part, ':'));
      const std::string_view types = part.substr(0, part.find(':'));
      version.missing = types == "-";
      version.unknown = types == "*";
      if (types.size() != 1 || types.find_first_of("-*=") == std::string_view::npos)
        read_positions(types, version);
      if (part.size() > types.size()) {
        std::string_view names = part.substr(types.size() + 1);
        version.attributes.clear();
        while (!names.empty())
          version.attributes.push_back(next_part(names, ' '));
      }
      versions.push_back(std::move(version));
    }
  }
}

const std::vector<OperatorTypes::Version>* OperatorTypes::versions(std::string_view op) const {
  const auto found = operators_.find(op);
  return found == operators_.end() ? nullptr : &found->second;
}

const OperatorTypes::Version* OperatorTypes::find(std::string_view op, int64_t opset) const {
  const std::vector<Version>* all = versions(op);
  const Version* out = nullptr;
  for (size_t i = 0; all != nullptr && i < all->size() && (*all)[i].since <= opset; ++i)
    out = &(*all)[i];
  return out;
}

std::optional<TypeFault> type_fault(const Graph& graph,
                                    const Node& node,
                                    const OperatorTypes::Version& version,
                                    std::pair<DType, DType> as_if) {
  if (version.missing || version.unknown) return std::nullopt;
  for (const bool is_input : {true, false}) {
    const OperatorTypes::Positions& rule = is_input ? version.inputs : version.outputs;
    const std::vector<ValueId>& values = is_input ? node.inputs : node.outputs;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].valid()) continue;
      DType type = graph.value(values[i]).type.type;
      if (type == as_if.first) type = as_if.second;
      if (!rule.takes(i, type)) return TypeFault{is_input, i, type};
    }
  }
  return std::nullopt;
}

int64_t takes_types_from(const Graph& graph,
                         const Node& node,
                         int64_t opset,
                         std::pair<DType, DType> as_if) {
  const auto* now = node.domain.empty() ? onnx_schemas().find(node.op_type, opset) : nullptr;
  if (now == nullptr || !type_fault(graph, node, *now, as_if)) return opset;
  for (const auto& version : *onnx_schemas().versions(node.op_type))
    if (version.since > opset && !type_fault(graph, node, version, as_if)) return version.since;
  return 0;
}

std::string text_of(const Graph& graph, const Node& node, const TypeFault& fault) {
  const ValueId value = fault.is_input ? node.inputs[fault.index] : node.outputs[fault.index];
  return fmt::format("{} as {} \"{}\"", name(fault.type), fault.is_input ? "input" : "output",
                     graph.value(value).name);
}

} // namespace octet
