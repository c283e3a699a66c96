// SPDX-License-Identifier: Apache-2.0
// The engine inspector's JSON. What differs between versions, and is all read here: a layer is an
// object, or only its name where the engine was built without details (8.4 and newer); from 8.6 on
// "Metadata" may name the ONNX nodes, "[ONNX Layer: NAME | FUNCTION (CALL)]" one after another with
// control characters between them, before that only the layer's name does ("conv1.weight +
// QuantizeLinear_7 + Conv_9", "PWN(Clip_16)", "{ForeignNode[first...last]}"); the type of a tensor
// stands in "Format/Datatype" up to 10 and apart from the format in 11.
// Source: NVIDIA's TensorRT documentation (engine inspector; migration from 10 to 11), the parser's
// sources (metadata), and the engine files beside its tool trex.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "core/format.h"
#include "core/json.h"
#include <nlohmann/json.hpp>

#include "octet/engine_layers.h"

namespace octet {
namespace {

using Json = nlohmann::json;

/// The text under the first of the keys that has one.
std::string text_at(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_string()) return found->get<std::string>();
  }
  return {};
}

struct TypeWord {
  std::string_view word, type;
};
// A word that contains another one stands before it.
constexpr TypeWord kTypeWords[] = {
    {"bfloat16", "bf16"}, {"bf16", "bf16"},   {"float16", "fp16"}, {"fp16", "fp16"},
    {"half", "fp16"},     {"float8", "fp8"},  {"fp8", "fp8"},      {"e8m0", "e8m0"},
    {"fp4", "fp4"},       {"uint8", "uint8"}, {"int8", "int8"},    {"int4", "int4"},
    {"int64", "int64"},   {"int32", "int32"}, {"int16", "int16"},  {"bool", "bool"},
    {"double", "fp64"},   {"fp64", "fp64"},   {"float", "fp32"},   {"fp32", "fp32"}};

/// The element type that TensorRT's words name: "Thirty-two wide channel vectorized row major Int8
/// format", "Half", "Row major linear FP32".
std::string type_in(std::string_view words) {
  std::string lower(words);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const TypeWord& known : kTypeWords)
    if (lower.find(known.word) != std::string::npos) return std::string(known.type);
  return {};
}

bool counts(std::string_view type) {
  return type.starts_with("int") ? type == "int8" || type == "int4"
                                 : !type.empty() && type != "bool" && type != "uint8";
}

std::vector<EngineTensor> tensors_at(const Json& layer, const char* key) {
  std::vector<EngineTensor> out;
  const auto list = layer.find(key);
  if (list == layer.end() || !list->is_array()) return out;
  for (const Json& tensor : *list) {
    if (!tensor.is_object()) continue;
    EngineTensor& t = out.emplace_back();
    t.name = text_at(tensor, {"Name"});
    t.format = text_at(tensor, {"Format", "Format/Datatype", "Format/DataType"});
    t.type = type_in(
        text_at(tensor, {"Datatype", "DataType", "Format/Datatype", "Format/DataType", "Format"}));
  }
  return out;
}

/// The type of the first input that holds values, else of the first output that does.
std::string precision_of(const EngineLayer& layer) {
  for (const auto* tensors : {&layer.inputs, &layer.outputs})
    for (const EngineTensor& t : *tensors)
      if (counts(t.type)) return t.type;
  for (const auto* tensors : {&layer.inputs, &layer.outputs})
    for (const EngineTensor& t : *tensors)
      if (!t.type.empty()) return t.type;
  return {};
}

/// Without spaces and the control characters that stand between nodes at its ends.
std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c >= '\0' && c <= ' '; };
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back()))
    text.remove_suffix(1);
  return text;
}

/// The nodes that "Metadata" names.
std::vector<std::string> nodes_in_metadata(std::string_view metadata) {
  constexpr std::string_view kMark = "[ONNX Layer: ";
  std::vector<std::string> out;
  size_t at = metadata.find(kMark);
  while (at != std::string_view::npos) {
    const size_t begin = at + kMark.size();
    at = metadata.find(kMark, begin);
    std::string_view name = trimmed(metadata.substr(begin, at - begin));
    if (name.ends_with(']')) name.remove_suffix(1);
    name = trimmed(name.substr(0, name.find(" | "))); // functions that the node was called from
    if (!name.empty()) out.emplace_back(name);
  }
  return out;
}

/// `name` without "PWN(" around it; it may be a part of such a list.
std::string_view without_pointwise(std::string_view name) {
  constexpr std::string_view kPointwise = "PWN(";
  size_t open = 0;
  for (; name.starts_with(kPointwise); ++open)
    name.remove_prefix(kPointwise.size());
  const auto surplus =
      std::count(name.begin(), name.end(), ')') - std::count(name.begin(), name.end(), '(');
  for (std::ptrdiff_t i = 0; i < surplus && name.ends_with(')'); ++i)
    name.remove_suffix(1);
  return name;
}

/// First and last node of a region; empty for any other layer.
std::vector<std::string> region_ends(std::string_view name) {
  constexpr std::string_view kMark = "ForeignNode[", kBetween = "...";
  const size_t begin = name.find(kMark);
  const size_t end = name.rfind(']');
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  const size_t first = begin + kMark.size();
  if (end < first) return {};
  const std::string_view inside = name.substr(first, end - first);
  const size_t between = inside.find(kBetween);
  if (between == std::string_view::npos) return {std::string(inside)};
  return {std::string(inside.substr(0, between)),
          std::string(inside.substr(between + kBetween.size()))};
}

/// What a layer's name is put together from; constants are among it.
std::vector<std::string> parts_of_name(std::string_view name) {
  std::vector<std::string> out;
  constexpr std::array<std::string_view, 3> kSeparators = {" + ", " || ", ", "};
  while (!name.empty()) {
    size_t end = name.size(), next = name.size();
    for (const std::string_view separator : kSeparators) {
      const size_t at = name.find(separator);
      if (at < end) {
        end = at;
        next = at + separator.size();
      }
    }
    const std::string_view part = without_pointwise(trimmed(name.substr(0, end)));
    if (!part.empty()) out.emplace_back(part);
    name.remove_prefix(next);
  }
  return out;
}

EngineWork work_of(const EngineLayer& layer) {
  constexpr std::string_view kMoving[] = {"Reformat",   "NoOp",   "Constant", "Shuffle",
                                          "shape_call", "signal", "wait",     "TrainStation"};
  if (layer.type == "Myelin" || layer.name.find("ForeignNode[") != std::string::npos)
    return EngineWork::kRegion;
  const bool moves =
      std::find(std::begin(kMoving), std::end(kMoving), layer.type) != std::end(kMoving) ||
      layer.name.starts_with("Reformatting CopyNode");
  return moves ? EngineWork::kMoves : EngineWork::kComputes;
}

/// The layers of the second and later optimization profiles repeat those of the first.
bool of_later_profile(std::string_view name) {
  const size_t at = name.rfind("[profile ");
  return at != std::string_view::npos && name.ends_with(']');
}

Result<EngineLayer> read_layer(const Json& json, size_t index) {
  EngineLayer out;
  if (json.is_string()) {
    out.name = json.get<std::string>();
  } else if (json.is_object()) {
    out.name = text_at(json, {"Name"});
    // "Convolution" of a "CaskConvolution": the kind of kernel says more.
    out.type = text_at(json, {"LayerType", "ParameterType"});
    out.tactic = text_at(json, {"TacticName"});
    out.inputs = tensors_at(json, "Inputs");
    out.outputs = tensors_at(json, "Outputs");
  } else {
    return error("layer {} of the engine's layers is neither an object nor a name", index);
  }
  if (out.name.empty()) return error("layer {} of the engine's layers has no \"Name\"", index);
  out.work = work_of(out);
  if (out.work != EngineWork::kRegion) out.precision = precision_of(out);
  if (json.is_object()) out.origin = nodes_in_metadata(text_at(json, {"Metadata"}));
  if (!out.origin.empty() || out.name.starts_with("Reformatting CopyNode")) return out;
  out.origin = region_ends(out.name);
  if (out.origin.empty()) out.origin = parts_of_name(out.name);
  return out;
}

/// The inspector writes the separators of "Metadata" as they are, which JSON forbids in a string.
std::string without_separators(std::string_view json) {
  std::string out(json);
  std::replace(out.begin(), out.end(), '\x1e', ' ');
  std::replace(out.begin(), out.end(), '\x1f', ' ');
  return out;
}

} // namespace

Result<std::vector<EngineLayer>> parse_engine_layers(std::string_view text) {
  const Result<Json> parsed = parse_json(without_separators(text));
  if (!parsed.ok())
    return error("the engine's layers: {}; write them with octet engine build --layers or "
                 "trtexec --exportLayerInfo",
                 parsed.error().message());
  const Json& json = *parsed;
  const auto found = json.is_object() ? json.find("Layers") : json.end();
  const Json* list = json.is_array()                           ? &json
                     : json.is_object() && found != json.end() ? &*found
                                                               : nullptr;
  if (list == nullptr || !list->is_array())
    return Error("the engine's layers are a JSON object without a list \"Layers\"; write them with "
                 "octet engine build --layers or trtexec --exportLayerInfo");
  std::vector<EngineLayer> out;
  out.reserve(list->size());
  for (size_t i = 0; i < list->size(); ++i) {
    EngineLayer layer = OCTET_TRY(read_layer((*list)[i], i));
    if (!of_later_profile(layer.name)) out.push_back(std::move(layer));
  }
  return out;
}

Result<std::vector<LayerTime>> parse_engine_profile(std::string_view text) {
  const Json json = OCTET_TRY_WITH(parse_json(text), "the engine's times");
  if (!json.is_array())
    return Error("the engine's times are not a list in JSON; write them with octet engine profile "
                 "--times or trtexec --exportProfile");
  std::vector<LayerTime> out;
  for (size_t i = 0; i < json.size(); ++i) {
    const Json& entry = json[i];
    if (entry.is_object() && entry.contains("count") && !entry.contains("name")) continue;
    const auto ms = entry.is_object() ? entry.find("averageMs") : entry.end();
    const std::string name = entry.is_object() ? text_at(entry, {"name"}) : std::string();
    if (name.empty() || ms == entry.end() || !ms->is_number())
      return error("entry {} of the engine's times has no \"name\" or no \"averageMs\"", i);
    const double value = ms->get<double>();
    if (!std::isfinite(value) || value < 0)
      return error("entry {} of the engine's times, \"{}\", has the time {} ms", i, name, value);
    out.push_back({name, value});
  }
  return out;
}

} // namespace octet
