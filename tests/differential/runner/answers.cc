// SPDX-License-Identifier: Apache-2.0
#include "runner/answers.h"

#include <cmath>
#include <set>

#include "core/cpu.h"
#include "core/format.h"
#include "ops/infer.h"
#include "runner/bounds.h"

#include "octet/export.h"
#include "octet/onnx.h"
#include "octet/passes.h"
#include "octet/session.h"
#include "octet/target.h"

namespace octet::differential {
namespace {

Result<OutputSets> run_session(Session& session, const InputSets& sets) {
  return run_sets(sets, [&](const std::vector<Tensor>& inputs) { return session.run(inputs); });
}

std::string difference(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape())
    return fmt::format("{}{} and {}{}", name(a.type()), to_string(a.shape()), name(b.type()),
                       to_string(b.shape()));
  int64_t count = 0, first = -1;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if ((x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y)))
      continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return {};
  return fmt::format("{} of {} elements, the first {}: {} and {}", count, a.count(), first,
                     a.at(first), b.at(first));
}

class Asker {
 public:
  Asker(const Graph& graph, const InputSets& sets) : graph_(graph), sets_(sets) {}

  Answers answers;

  bool keep(const std::string& what, Result<OutputSets> outputs) {
    if (!outputs.ok()) {
      answers.refusals[what] = outputs.error().text();
      return false;
    }
    answers.outputs[what] = std::move(outputs).value();
    return true;
  }

  /// On every instruction set with one thread, and on one with two.
  void native(int64_t variant) {
    auto made = Session::create(graph_, {.threads = 1, .keep_weights = true});
    if (!made.ok()) {
      answers.refusals["native"] = made.error().text();
      return;
    }
    const Graph lowered = made->lowered();
    if (!keep("lowered", run_reference(lowered, sets_))) return;
    const std::string best(made->isa());
    same_bits("native on " + best, run_session(*made, sets_));
    std::vector<Isa> isas;
    for (const Isa isa : known_isas())
      if (isa_supported(isa)) isas.push_back(isa);
    for (const Isa isa : isas)
      if (isa_name(isa) != best) same_bits(lowered, isa, 1);
    same_bits(lowered, isas[static_cast<size_t>(variant) % isas.size()], 2);
  }

  void literal() {
    auto made = Session::create(graph_, {.threads = 1, .integer = false});
    if (!made.ok())
      answers.refusals["literal"] = made.error().text();
    else
      keep("literal", run_session(*made, sets_));
  }

  void simplified() {
    Graph copy = graph_;
    if (const auto steps = simplify(copy); !steps.ok())
      answers.refusals["simplified"] = steps.error().text();
    else
      rewritten("simplified", copy);
  }

  void exported(FileForm form) {
    Graph copy = graph_;
    const std::string what(name(form));
    if (const auto notes = convert_form(copy, form); !notes.ok()) {
      answers.refusals[what] = notes.error().text();
      return;
    }
    rewritten(what, copy);
    const auto findings = check(copy, "onnxruntime");
    if (findings.ok() && accepted(*findings)) return;
    std::string why = findings.ok() ? "" : findings.error().text();
    if (findings.ok())
      for (const Finding& f : *findings)
        if (f.severity == Severity::kError) why += f.rule + ": " + f.message + "; ";
    answers.refusals["check " + what] = why;
  }

 private:
  void rewritten(const std::string& what, const Graph& graph) {
    auto file = serialize_onnx(graph);
    if (!file.ok()) {
      answers.refusals[what] = file.error().text();
      return;
    }
    answers.files[what] = std::move(file).value();
    keep(what + " by the reference", run_reference(graph, sets_));
    auto session = Session::create(graph, {.threads = 1});
    if (!session.ok())
      answers.refusals[what + " natively"] = session.error().text();
    else
      keep(what + " natively", run_session(*session, sets_));
  }

  void same_bits(const Graph& lowered, Isa isa, int threads) {
    const std::string what = fmt::format("native on {}, {} threads", isa_name(isa), threads);
    auto made = Session::create(
        lowered, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = false});
    if (!made.ok())
      answers.refusals["native"] = what + ": " + made.error().text();
    else
      same_bits(what, run_session(*made, sets_));
  }

  void same_bits(const std::string& what, const Result<OutputSets>& outputs) {
    if (!outputs.ok()) {
      answers.refusals["native"] = what + ": " + outputs.error().text();
      return;
    }
    const std::string text = differing_bits(*outputs, answers.outputs.at("lowered"));
    if (!text.empty())
      answers.findings.push_back(what + " and the reference on the lowered graph: " + text);
  }

  const Graph& graph_;
  const InputSets& sets_;
};

} // namespace

Result<OutputSets> run_reference(const Graph& graph, const InputSets& sets) {
  const auto executor = OCTET_TRY(make_reference_executor(graph));
  return run_sets(sets, [&](const std::vector<Tensor>& inputs) { return executor->run(inputs); });
}

std::string differing_bits(const OutputSets& a, const OutputSets& b) {
  for (size_t set = 0; set < a.size(); ++set)
    for (size_t k = 0; k < a[set].size(); ++k)
      if (std::string text = difference(a[set][k], b[set][k]); !text.empty())
        return fmt::format("inputs {}, output {}: {}", set, k, text);
  return {};
}

void answer_bounds(const Graph& graph, const InputSets& sets, Answers& answers) {
  for (const auto& [name, rounding] :
       {std::pair{"float", Rounding::kFloat}, std::pair{"codes", Rounding::kCodes}}) {
    OutputSets values, errors;
    for (const std::vector<Tensor>& inputs : sets) {
      const auto bounded = bound_outputs(graph, inputs, rounding);
      if (!bounded.ok()) {
        answers.refusals["bounds"] = bounded.error().text();
        return;
      }
      values.emplace_back();
      errors.emplace_back();
      for (const Bounded& output : *bounded) {
        values.back().push_back(output.value);
        errors.back().push_back(output.error);
      }
    }
    answers.outputs["value " + std::string(name)] = std::move(values);
    answers.outputs["error " + std::string(name)] = std::move(errors);
  }
}

Answers answer(const Graph& graph, const InputSets& sets, int64_t variant, bool bounds) {
  Asker ask(graph, sets);
  if (bounds) answer_bounds(graph, sets, ask.answers);
  ask.keep("reference", run_reference(graph, sets));
  ask.native(variant);
  ask.literal();
  ask.simplified();
  for (const FileForm form : {FileForm::kQOperator, FileForm::kFused, FileForm::kQcdq})
    ask.exported(form);
  return std::move(ask.answers);
}

} // namespace octet::differential
