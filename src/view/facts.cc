// SPDX-License-Identifier: Apache-2.0
#include "view/facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/format.h"

namespace octet::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostText = 240; ///< of an attribute
constexpr size_t kMostListed = 32;
constexpr int64_t kMostElements = 16;
constexpr size_t kMostChannels = 64;

template <class T, class Text>
std::string listed(const std::vector<T>& items, Text&& text) {
  std::string out = "[";
  for (size_t i = 0; i < std::min(items.size(), kMostListed); ++i)
    out += (i > 0 ? ", " : "") + text(items[i]);
  if (items.size() > kMostListed) out += fmt::format(", ... {} in all", items.size());
  return out + "]";
}

std::string tensor_text(const Tensor& tensor) {
  std::string out = tensor_type(tensor.type(), tensor.shape()).text();
  if (tensor.count() > kMostElements || !(is_float(tensor.type()) || is_integer(tensor.type())))
    return out;
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.count(); ++i)
    numbers.push_back(tensor.at(i));
  return out + " " + listed(numbers, [](double v) { return fmt::format("{:.6g}", v); });
}

std::string graph_text(const GraphPtr& body) {
  return body == nullptr ? "no graph" : fmt::format("a graph of {} nodes", body->nodes().size());
}

struct AttributeText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(float v) const { return fmt::format("{:.6g}", v); }
  std::string operator()(const std::string& v) const { return '"' + v + '"'; }
  std::string operator()(const Tensor& v) const { return tensor_text(v); }
  std::string operator()(const GraphPtr& v) const { return graph_text(v); }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    return listed(v, *this);
  }
  std::string operator()(const std::shared_ptr<const SerializedAttribute>&) const {
    return "kept as it is in the file";
  }
};

/// Scales, or of many the least and the largest of neighbours.
Json numbers_json(const std::vector<double>& all) {
  Json out = Json::array();
  const size_t each = (all.size() + kMostChannels - 1) / kMostChannels;
  for (size_t i = 0; i < all.size(); i += std::max<size_t>(each, 1)) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(i),
               end = all.begin() + static_cast<ptrdiff_t>(std::min(i + each, all.size()));
    out.push_back(shown(*std::max_element(begin, end)));
  }
  return out;
}

} // namespace

std::string clipped(std::string text) {
  if (text.size() <= kMostText) return text;
  size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // not within a character
  return text.substr(0, end) + "...";
}

Json attributes_json(const Node& node) {
  Json out = Json::array();
  for (const auto& [key, attribute] : node.attributes)
    out.push_back(
        {key, clipped(attribute.reference.empty() ? std::visit(AttributeText{}, attribute.value)
                                                  : "of the function: " + attribute.reference)});
  return out;
}

Json finding_json(const Finding& finding) {
  return {{"rule", finding.rule},
          {"error", finding.severity == Severity::kError},
          {"message", finding.message},
          {"fix", finding.fix},
          {"source", finding.source}};
}

Json on_target(const GraphView::Node& node) {
  Json out = Json::object();
  if (node.layer) {
    const LayerForm& layer = *node.layer;
    out = {{"precision", layer.precision_name()}, {"form", layer.form}};
    for (const auto& [key, text] : {std::pair{"fusion", &layer.fusion},
                                    {"why", &layer.why},
                                    {"mend", &layer.mend},
                                    {"source", &layer.source}})
      if (!text->empty()) out[key] = *text;
  }
  for (const Finding& finding : node.findings)
    out["findings"].push_back(finding_json(finding));
  return out;
}

Json grid_json(const qdq::Grid& grid) {
  const std::vector<double> scales = grid.scales(), zeros = grid.zeros();
  const auto [least, largest] = std::minmax_element(scales.begin(), scales.end());
  Json out = {{"codes", octet::name(grid.codes)}, {"scale", {shown(*least), shown(*largest)}}};
  const auto [low, high] = std::minmax_element(zeros.begin(), zeros.end());
  if (!zeros.empty()) out["zero"] = {shown(*low), shown(*high)};
  const Range range = grid.real_range();
  if (std::isfinite(range.lo) && std::isfinite(range.hi))
    out["range"] = {shown(range.lo), shown(range.hi)};
  if (grid.count() > 1) {
    out["count"] = grid.count();
    if (grid.axis) out["axis"] = *grid.axis;
    if (grid.block > 0) out["block"] = grid.block;
    out["scales"] = numbers_json(scales);
  }
  return out;
}

double shown(double number) {
  if (!std::isfinite(number)) return number;
  return std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr);
}

} // namespace octet::view
