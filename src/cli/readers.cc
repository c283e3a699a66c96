// SPDX-License-Identifier: Apache-2.0
#include "cli/readers.h"

#include <algorithm>
#include <array>

#include "cli/mending.h"
#include "core/format.h"
#include <nlohmann/json.hpp>

#include "octet/certify.h"

namespace octet::cli {
namespace {

/// The newest of each family.
constexpr std::array<std::string_view, 3> kFamilies = {"octet", "onnxruntime", "tensorrt-11"};

std::string_view family_of(std::string_view target) {
  return target.substr(0, target.find('-'));
}

/// ONNX Runtime on the CPU; other readers of these files add in int32.
bool adds_in_int16(std::string_view target) {
  return family_of(target) == "onnxruntime" && target != "onnxruntime-cuda";
}

Status count_saturating(const Graph& graph, Reader& reader) {
  const Certification certification = OCTET_TRY(Certification::create(graph));
  reader.products = certification.layers().size();
  for (const CertifiedLayer& layer : certification.layers())
    reader.saturating += layer.can_saturate() ? 1 : 0;
  return ok_status();
}

Result<Reader>
reader_of(const Graph& graph, const std::string& target, const std::string& written) {
  Reader out;
  out.target = target;
  const std::vector<Finding> findings = OCTET_TRY(check(graph, target));
  if (const Finding* error = first_error(findings)) {
    out.refused_for = error->rule;
    if (const auto mended = mending(graph, written, target, findings);
        mended && accepted(mended->left))
      out.command = mended->command;
    return out;
  }
  const std::vector<LayerForm> layers = OCTET_TRY(explain(graph, target));
  out.int8 = share_in(layers, LayerPrecision::kInt8);
  out.fp8 = share_in(layers, LayerPrecision::kFp8);
  out.fp4 = share_in(layers, LayerPrecision::kFp4);
  out.has_products = std::any_of(layers.begin(), layers.end(),
                                 [](const LayerForm& layer) { return layer.work > 0; });
  // What the file itself has as MatMulNBits says in an attribute how it is computed.
  out.rounds_inputs = std::any_of(layers.begin(), layers.end(), [](const LayerForm& layer) {
    return layer.form == "MatMulNBits" && (layer.op == "MatMul" || layer.op == "Gemm");
  });
  if (adds_in_int16(target)) OCTET_TRY(count_saturating(graph, out));
  return out;
}

/// "99.4 % of the multiply-adds in 8 bits", "100.0 % of the multiply-adds in FP8".
std::string reader_shares(const Reader& reader) {
  const std::pair<double, const char*> shares[] = {
      {reader.int8, "in 8 bits"}, {reader.fp8, "in FP8"}, {reader.fp4, "in FP4"}};
  std::string out;
  for (const auto& [share, where] : shares)
    if (share > 0)
      out += out.empty() ? fmt::format("{:.1f} % of the multiply-adds {}", 100 * share, where)
                         : fmt::format(", {:.1f} % {}", 100 * share, where);
  return out.empty() ? "0.0 % of the multiply-adds in 8 bits" : out;
}

} // namespace

Result<std::vector<Reader>>
readers_of(const Graph& graph, const std::string& target, const std::string& written) {
  std::vector<std::string> targets = {target};
  for (const std::string_view family : kFamilies)
    if (family_of(family) != family_of(target)) targets.emplace_back(family);
  std::vector<Reader> out;
  out.reserve(targets.size());
  for (const std::string& one : targets)
    out.push_back(OCTET_TRY(reader_of(graph, one, written)));
  return out;
}

std::string text(const std::vector<Reader>& readers, QuantMode mode) {
  constexpr double kMostly = 0.5;
  std::string out;
  for (const Reader& reader : readers) {
    out += fmt::format("  {}: ", reader.target);
    if (!reader.refused_for.empty())
      out += fmt::format("refuses it [{}]{}\n", reader.refused_for,
                         reader.command.empty() ? ""
                                                : "; for a file that it takes: " + reader.command);
    else if (!reader.has_products)
      out += "loads it\n";
    else if (reader.int8 + reader.fp8 + reader.fp4 >= kMostly)
      out += fmt::format("loads it, {}\n", reader_shares(reader));
    else
      out += fmt::format(
          "loads it, {}: most of it in float, little or no faster than the float "
          "model{}\n",
          reader_shares(reader),
          mode == QuantMode::kWeightOnly || &reader == &readers.front()
              ? ""
              : fmt::format("; a file for it: the same with --target {}", reader.target));
    if (reader.rounds_inputs)
      out += "    it rounds the inputs of stored weights to 8 bits, unless its session has "
             "session.qdq_matmulnbits_accuracy_level = 0\n";
    if (reader.saturating > 0)
      out +=
          fmt::format("    on x64 without VNNI {} of {} products can saturate, for other numbers: "
                      "--reduce-range makes weights that cannot, session.x64quantprecision = 1 is "
                      "exact\n",
                      reader.saturating, reader.products);
  }
  return out;
}

nlohmann::ordered_json readers_json(const std::vector<Reader>& readers) {
  auto out = nlohmann::ordered_json::array();
  for (const Reader& reader : readers) {
    nlohmann::ordered_json one = {{"target", reader.target}, {"loads", reader.refused_for.empty()}};
    if (reader.refused_for.empty()) one["share_in_8_bits"] = reader.int8 + reader.fp8;
    if (reader.fp8 > 0) one["share_in_fp8"] = reader.fp8;
    if (reader.fp4 > 0) one["share_in_fp4"] = reader.fp4;
    if (reader.rounds_inputs) one["rounds_inputs"] = true;
    if (reader.saturating > 0) one["saturates_without_vnni"] = reader.saturating;
    if (!reader.refused_for.empty()) one["rule"] = reader.refused_for;
    if (!reader.command.empty()) one["command"] = reader.command;
    out.push_back(std::move(one));
  }
  return out;
}

} // namespace octet::cli
