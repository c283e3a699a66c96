// SPDX-License-Identifier: Apache-2.0
#include "cli/certificate.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/cpu.h"
#include "core/hash.h"
#include "core/json.h"
#include "report/html.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/session.h"
#include "octet/version.h"

namespace octet::cli {
namespace {

constexpr int64_t kMostInt32 = std::numeric_limits<int32_t>::max();

/// docs/numerics.md in short: what holds of every integer layer.
constexpr std::string_view kRules[] = {
    "sums of products of codes are exact 32-bit integers: nothing is rounded or saturates within "
    "them",
    "codes are round half to even of value / scale, plus the zero point, held within the type's "
    "codes",
    "a layer's sum becomes its result by one expression in float32, the same on every processor",
    "float32 sums are taken in an order that does not depend on processor, threads or batch",
};

std::string yes(bool value) {
  return value ? "yes" : "no";
}

nlohmann::ordered_json layer_json(const CertifiedLayer& l) {
  return {{"node", l.node},
          {"op", l.op},
          {"channels", l.channels},
          {"terms", l.terms},
          {"lowest_code", l.lowest},
          {"highest_code", l.highest},
          {"largest_sum", l.largest_sum},
          {"fits_int32", l.fits_int32},
          {"saturates_elsewhere", l.can_saturate()},
          {"in_float", l.in_float}};
}

std::string json_of(const Certificate& c) {
  nlohmann::ordered_json out = {{"octet_certificate", 1},
                                {"octet", version()},
                                {"model", c.model},
                                {"model_hash", hash_text(c.graph)},
                                {"lowered_hash", hash_text(c.lowered)},
                                {"repeats", c.repeats()},
                                {"inputs", c.inputs},
                                {"weight_bytes", c.weight_bytes},
                                {"activation_bytes", c.activation_bytes},
                                {"rules", kRules}};
  for (const char* key : {"layers", "not_examined", "operators", "runs"})
    out[key] = nlohmann::ordered_json::array();
  for (const CertifiedLayer& l : c.layers)
    out["layers"].push_back(layer_json(l));
  for (const Unexamined& u : c.unexamined)
    out["not_examined"].push_back({{"node", u.node}, {"op", u.op}, {"why", u.why}});
  for (const Certificate::Operator& o : c.operators)
    out["operators"].push_back({{"op", o.type}, {"kernel", o.kernel}, {"count", o.count}});
  for (const RepeatedRun& r : c.runs)
    out["runs"].push_back(
        {{"isa", r.isa}, {"threads", r.threads}, {"outputs", hash_text(r.outputs)}});
  return json_text(out) + "\n";
}

void add_layers(const Certificate& c, HtmlPage& page) {
  page.heading("Sums of integer layers");
  std::vector<std::vector<std::string>> rows;
  for (const CertifiedLayer& l : c.layers)
    rows.push_back(
        {l.node, l.op, fmt::format("{} .. {}", l.lowest, l.highest), fmt::format("{}", l.terms),
         fmt::format("{}", l.largest_sum),
         fmt::format("{:.4f} %", 100.0 * static_cast<double>(l.largest_sum) / kMostInt32),
         l.fits_int32 ? "exact" : "overflows", l.can_saturate() ? "may saturate" : "exact"});
  page.table({"layer", "operator", "codes of the activation", "products a sum", "largest sum",
              "of int32", "in octet", "elsewhere"},
             rows);
  page.paragraph(
      "Largest sum: the largest magnitude that products of codes add up to for any input, "
      "without the bias. Elsewhere: in runtimes that add pairs of products in 16 bits on "
      "processors without VNNI.");
  rows.clear();
  for (const CertifiedLayer& l : c.layers)
    if (!l.in_float.empty()) rows.push_back({l.node, l.op, l.in_float});
  if (!rows.empty()) {
    page.heading("Parts of these layers in float");
    page.text_table({"layer", "operator", "what"}, rows);
  }
  if (c.unexamined.empty()) return;
  page.heading("Not examined");
  rows.clear();
  for (const Unexamined& u : c.unexamined)
    rows.push_back({u.node, u.op, u.why});
  page.text_table({"node", "operator", "why"}, rows);
}

std::string page_of(const Certificate& c) {
  HtmlPage page("Certificate of " + c.model);
  page.table({"", ""}, {{"model", c.model},
                        {"hash of the model", hash_text(c.graph)},
                        {"hash of what runs", hash_text(c.lowered)},
                        {"octet", version()},
                        {"results repeat", yes(c.repeats())},
                        {"memory of weights, bytes", fmt::format("{}", c.weight_bytes)},
                        {"memory of activations, bytes", fmt::format("{}", c.activation_bytes)},
                        {"for inputs", fmt::format("{}", fmt::join(c.inputs, ", "))}});
  add_layers(c, page);
  page.heading("Rules");
  for (const std::string_view rule : kRules)
    page.paragraph(rule);
  page.heading("Runs");
  page.paragraph(
      "The same inputs with each instruction set of this machine; the hash is of all outputs.");
  std::vector<std::vector<std::string>> rows;
  for (const RepeatedRun& r : c.runs)
    rows.push_back({r.isa, fmt::format("{}", r.threads), hash_text(r.outputs)});
  page.table({"instruction set", "threads", "outputs"}, rows);
  page.heading("Operators");
  rows.clear();
  for (const Certificate::Operator& o : c.operators)
    rows.push_back({o.type, o.kernel, fmt::format("{}", o.count)});
  page.table({"operator", "kernel", "nodes"}, rows);
  return page.text();
}

Result<uint64_t> hash_of_run(Session& session, std::span<const Tensor> inputs) {
  uint64_t hash = 0;
  for (const Tensor& output : OCTET_TRY(session.run(inputs)))
    hash = hash_value(output.content_hash(), hash);
  return hash;
}

std::vector<Certificate::Operator> operators_of(const Session& session) {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const PlannedNode& node : session.plan())
    ++counts[{node.op_type, node.kernel}];
  std::vector<Certificate::Operator> out;
  out.reserve(counts.size());
  for (const auto& [key, count] : counts)
    out.push_back({key.first, key.second, count});
  return out;
}

} // namespace

bool Certificate::repeats() const {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RepeatedRun& r) { return r.outputs == runs.front().outputs; });
}

Result<Certificate> make_certificate(const Graph& graph,
                                     const std::string& model,
                                     const Certification& certification,
                                     std::span<const Tensor> inputs) {
  Certificate out{.model = model,
                  .graph = graph.content_hash(),
                  .layers = certification.layers(),
                  .unexamined = certification.unexamined()};
  for (size_t i = 0; i < inputs.size(); ++i)
    out.inputs.push_back(fmt::format("{}: {}{}", graph.value(graph.inputs()[i]).name,
                                     name(inputs[i].type()), to_string(inputs[i].shape())));
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const int threads : {1, 2}) {
      Session session = OCTET_TRY(
          Session::create(graph, {.threads = threads, .isa = std::string(isa_name(isa))}));
      out.runs.push_back(
          {std::string(session.isa()), threads, OCTET_TRY(hash_of_run(session, inputs))});
      const SessionMemory memory = session.memory();
      out.weight_bytes = memory.packed + memory.constants + memory.mapped;
      out.activation_bytes = memory.arenas;
      out.operators = operators_of(session);
    }
  }
  const Session kept = OCTET_TRY(Session::create(graph, {.keep_weights = true}));
  out.lowered = kept.lowered().content_hash();
  return out;
}

std::string certificate_text(const Certificate& certificate, const std::string& path) {
  return path.ends_with(".json") ? json_of(certificate) : page_of(certificate);
}

} // namespace octet::cli
