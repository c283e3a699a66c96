// SPDX-License-Identifier: Apache-2.0
#include "train_runner/gradients.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/infer.h"
#include "ops/parameters.h"
#include "runner/arrays.h"
#include "support/differences.h"
#include "train/executor/program.h"
#include "train/executor/torch_executor.h"
#include "train/runtime.h"
#include "train_runner/in_double.h"
#include "train_runner/straight_through.h"

namespace octet::differential {
namespace {

using test::random_tensor, test::weighted_sum;

constexpr int64_t kElements = 12; // of each tensor
constexpr int kDisturbed = 4;
constexpr double kWide = 1e-4, kNarrow = 1e-5;                 // steps, as shares of an element
constexpr double kShare = 1e-5;                                // of a gradient that it may be off
constexpr double kShareOfSingle = 2e-3, kNoiseOfSingle = 1e-4; // the same in f32, and beside it

/// What becomes of a graph: nothing, or why its gradient cannot be held against differences.
using NotTried = std::string;

double or_nan(const Result<double>& number) {
  return number.ok() ? *number : NAN;
}

bool is_finite(const Tensor& x) {
  if (x.type() != DType::kFloat64) return true;
  for (int64_t i = 0; i < x.count(); ++i)
    if (!std::isfinite(x.at(i))) return false;
  return true;
}

/// A graph with its inputs.
struct Subject {
  Graph graph;
  std::vector<Tensor> inputs;
};

/// The gradient of one graph by the torch executor, and differences of another one, which is all in
/// double; both have the same inputs and trained constants.
class Gradients {
 public:
  /// What differs, and would nearby too if it were confirmed; and what needs no confirmation.
  std::vector<std::string> findings, sure;

  Gradients(const Subject& torch, const Subject& wide, int64_t variant, Answers& answers)
      : torch_(torch), straight_(has_codes(torch.graph)), graph_(wide.graph), inputs_(wide.inputs),
        random_(13, static_cast<uint64_t>(variant)), answers_(answers) {}

  NotTried compare() {
    auto made = make_reference_executor(graph_);
    if (!made.ok()) return "the reference has it in float alone";
    reference_ = std::move(made).value();
    const auto outputs = reference_->run(inputs_);
    if (!outputs.ok()) return "the reference has it in float alone";
    outputs_ = *outputs;
    if (!straight_)
      if (NotTried why = compare_values(); !why.empty()) return why;
    draw_weights();
    if (!std::isfinite(magnitude_) || !is_finite_inside()) return "values that are not finite";
    if (NotTried why = find_wrt(); !why.empty()) return why;
    const auto gradients = train::graph_gradients(
        torch_.graph,
        {.inputs = torch_.inputs, .output_gradients = output_gradients(), .wrt = wrt_});
    if (!gradients.ok()) {
      find("gradient refused: " + gradients.error().text());
      return {};
    }
    ++answers_.counts[straight_ ? "straight-through gradients tried" : "gradients tried"];
    for (size_t i = 0; i < wrt_.size(); ++i)
      compare_tensor(wrt_[i], (*gradients)[i]);
    return {};
  }

 private:
  void find(std::string text) { findings.push_back(std::move(text)); }

  /// Behind infinities a gradient of 0 is no number.
  bool is_finite_inside() const {
    Graph open = graph_;
    std::vector<ValueId> values;
    for (const NodeId id : open.nodes())
      for (const ValueId v : open.node(id).outputs)
        if (v.valid() && open.value(v).type.type == DType::kFloat64) values.push_back(v);
    for (const ValueId v : open.constants())
      if (!is_finite(open.value(v).constant)) return false;
    open.set_outputs(values);
    const auto executor = make_reference_executor(open);
    if (!executor.ok()) return false;
    const auto made = (*executor)->run(inputs_);
    return made.ok() && std::all_of(made->begin(), made->end(), is_finite) &&
           std::all_of(inputs_.begin(), inputs_.end(), is_finite);
  }

  /// How far each output moves when inputs are a hair off; nothing where that jumps.
  std::optional<std::vector<std::vector<double>>> conditions() {
    std::vector<std::vector<double>> out;
    for (const Tensor& y : outputs_)
      out.emplace_back(static_cast<size_t>(y.count()), 0.0);
    for (int i = 0; i < kDisturbed; ++i) {
      std::vector<Tensor> inputs = inputs_;
      for (Tensor& x : inputs) {
        if (x.type() != DType::kFloat64) continue;
        x = x.clone();
        for (double& v : x.mutable_data<double>())
          v += std::max(std::abs(v), 1e-3) * random_.uniform(-1e-10, 1e-10);
      }
      const auto other = reference_->run(inputs);
      if (!other.ok()) return std::nullopt;
      for (size_t k = 0; k < out.size(); ++k) {
        if ((*other)[k].shape() != outputs_[k].shape()) return std::nullopt;
        for (int64_t j = 0; j < outputs_[k].count(); ++j) {
          const double a = outputs_[k].at(j), b = (*other)[k].at(j);
          if (a == b || (std::isnan(a) && std::isnan(b))) continue;
          const double off = std::abs(a - b);
          if (!(off <= 1e-6 * std::max(1.0, std::abs(a)))) return std::nullopt;
          double& most = out[k][static_cast<size_t>(j)];
          most = std::max(most, off);
        }
      }
    }
    return out;
  }

  NotTried compare_values() {
    const auto moves = conditions();
    if (!moves) return "rounding alone changes it";
    const auto torch = train::make_torch_executor(graph_, {.threads = 1});
    if (!torch.ok()) {
      find("refused in double: " + torch.error().text());
      return "refused";
    }
    const auto outputs = (*torch)->run(inputs_);
    if (!outputs.ok()) {
      find("refused in double: " + outputs.error().text());
      return "refused";
    }
    for (size_t k = 0; k < outputs->size(); ++k) {
      const Tensor &got = (*outputs)[k], &want = outputs_[k];
      if (got.type() != want.type() || got.shape() != want.shape()) {
        find(fmt::format("in double, output {}: {}{}, expected {}{}", k, name(got.type()),
                         to_string(got.shape()), name(want.type()), to_string(want.shape())));
        return "other values";
      }
      if (want.type() == DType::kString) continue;
      double largest = 0;
      for (int64_t j = 0; j < want.count(); ++j)
        if (std::isfinite(want.at(j))) largest = std::max(largest, std::abs(want.at(j)));
      for (int64_t j = 0; j < want.count(); ++j) {
        const double a = got.at(j), b = want.at(j);
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        if (std::abs(a - b) <= 1e-6 * largest + 1e-12 + (*moves)[k][static_cast<size_t>(j)])
          continue;
        find(fmt::format("in double, output {}: {} of {}, expected {}, at {}", k, a, want.count(),
                         b, j));
        return "other values";
      }
    }
    return {};
  }

  void draw_weights() {
    magnitude_ = 0;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      weights_.emplace_back();
      if (outputs_[i].type() != DType::kFloat64) continue;
      weights_[i] = random_tensor(outputs_[i].shape(), -1, 1, 100 + i);
      for (int64_t k = 0; k < outputs_[i].count(); ++k)
        magnitude_ += std::abs(outputs_[i].at(k) * weights_[i].at(k));
    }
  }

  /// `weights_` at the places of the float outputs among those of torch's graph.
  std::vector<Tensor> output_gradients() const {
    std::vector<Tensor> out;
    size_t next = 0;
    for (const ValueId y : torch_.graph.outputs()) {
      const bool real = is_float(torch_.graph.value(y).type.type);
      const Tensor none = Tensor::zeros(DType::kFloat64, {}).value();
      if (straight_)
        out.push_back(real ? weights_.at(next++) : none);
      else
        out.push_back(weights_.at(out.size()).empty() ? none : weights_.at(out.size()));
    }
    return out;
  }

  /// Float inputs and what training trains, where the library says that gradients reach them.
  NotTried find_wrt() {
    Graph held = torch_.graph;
    train::ProgramOptions options;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].type() != DType::kFloat64) continue;
      const ValueId id = torch_.graph.inputs()[i];
      wrt_.push_back(held.value(id).name);
      held.set_constant(id, torch_.inputs[i]);
      options.parameters.push_back(id);
    }
    const auto parameters = trainable_parameters(torch_.graph);
    if (!parameters.ok()) return "no parameters: " + parameters.error().text();
    for (const Parameter& parameter : *parameters) {
      const std::string& name = held.value(parameter.value).name;
      if (!graph_.find_value(name)) continue; // it reaches no float output
      wrt_.push_back(name);
      options.parameters.push_back(parameter.value);
    }
    if (wrt_.empty()) return "nothing is float";
    const auto program = train::Program::create(held, options);
    if (!program.ok()) return "inputs as constants: " + program.error().text();
    if (!(*program)->without_gradient().empty()) return "an operator without gradient";
    return {};
  }

  /// The weighted sum with one element moved; not a number where the reference does not run.
  double value_at(const std::string& name, int64_t element, double change) {
    const ValueId id = *graph_.find_value(name);
    if (graph_.value(id).is_constant()) {
      Graph other = graph_;
      other.set_constant(id, test::moved(graph_.value(id).constant, element, change));
      const auto executor = make_reference_executor(other);
      if (!executor.ok()) return NAN;
      return or_nan(weighted_sum(**executor, inputs_, weights_));
    }
    std::vector<Tensor> inputs = inputs_;
    const auto& names = graph_.inputs();
    Tensor& x =
        inputs[static_cast<size_t>(std::find(names.begin(), names.end(), id) - names.begin())];
    x = test::moved(x, element, change);
    return or_nan(weighted_sum(*reference_, inputs, weights_));
  }

  const Tensor& tensor(const std::string& name) const {
    const ValueId id = *graph_.find_value(name);
    if (graph_.value(id).is_constant()) return graph_.value(id).constant;
    const auto& names = graph_.inputs();
    return inputs_[static_cast<size_t>(std::find(names.begin(), names.end(), id) - names.begin())];
  }

  void compare_tensor(const std::string& name, const Tensor& gradient) {
    const int64_t count = tensor(name).count();
    if (gradient.shape() != tensor(name).shape()) {
      find(fmt::format("gradient: of shape {} for {}", to_string(gradient.shape()),
                       to_string(tensor(name).shape())));
      return;
    }
    for (int64_t i = 0; i < std::min(count, kElements); ++i)
      if (!compare_element(name, count <= kElements ? i : random_.below(count), gradient)) return;
  }

  /// False where it differs: the first of a tensor is enough.
  bool compare_element(const std::string& name, int64_t k, const Tensor& gradient) {
    const double size = std::max(1e-2, std::abs(tensor(name).at(k)));
    const double middle = value_at(name, k, 0);
    struct Sides {
      double central, gap;
    };
    const auto sides = [&](double step) {
      const double up = value_at(name, k, step), down = value_at(name, k, -step);
      return Sides{(up - down) / (2 * step), std::abs(up - 2 * middle + down) / step};
    };
    const Sides wide = sides(kWide * size), narrow = sides(kNarrow * size);
    const double noise = 4e-15 * magnitude_ / (kNarrow * size);
    const double scale = std::abs(narrow.central) + noise + 1e-7 * (1 + magnitude_);
    const double bend = std::abs(wide.central - narrow.central);
    // A smooth function's slopes on both sides come together with the step.
    const bool smooth = bend <= 1e-3 * scale + 10 * noise &&
                        narrow.gap <= 0.3 * wide.gap + 10 * noise + 1e-7 * scale;
    if (!smooth) {
      ++answers_.counts["elements at kinks"];
      return true;
    }
    ++answers_.counts["elements tried"];
    const double off = std::abs(gradient.at(k) - narrow.central);
    double most = kShare * scale + 10 * noise + 2 * bend;
    if (straight_)
      most += kShareOfSingle * (std::abs(narrow.central) + largest(gradient)) +
              kNoiseOfSingle * (1 + magnitude_);
    if (off <= most) return true;
    std::vector<std::string>& found = std::isfinite(gradient.at(k)) ? findings : sure;
    found.push_back(
        fmt::format("gradient: {:.9g} of {}[{}], by differences {:.9g} (at a wider step {:.9g})",
                    gradient.at(k), name, k, narrow.central, wide.central));
    return false;
  }

  const Subject& torch_;
  const bool straight_; ///< torch's is of floats, with Q/DQ
  Graph graph_;
  std::vector<Tensor> inputs_, outputs_, weights_;
  Philox random_;
  Answers& answers_;
  std::unique_ptr<Executor> reference_;
  std::vector<std::string> wrt_;
  double magnitude_ = 0; ///< of the sum's terms
};

Tensor stirred(const Tensor& x, Philox& random) {
  if (!is_float(x.type())) return x;
  std::vector<double> values = x.to_doubles().value();
  for (double& v : values)
    v += std::max(std::abs(v), 1e-2) * random.uniform(-1e-3, 1e-3);
  return Tensor::from_doubles(x.type(), x.shape(), values).value();
}

/// Inputs, and what training trains, at a point nearby.
Subject moved(Subject from) {
  Philox random(17);
  for (Tensor& x : from.inputs)
    x = stirred(x, random);
  const auto parameters = trainable_parameters(from.graph);
  for (size_t i = 0; parameters.ok() && i < parameters->size(); ++i) {
    const ValueId id = (*parameters)[i].value;
    from.graph.set_constant(id, stirred(from.graph.value(id).constant, random));
  }
  return from;
}

/// What the gradient of a graph is held against, and what is differentiated.
Result<std::pair<Subject, Subject>> subjects_of(const Subject& from) {
  const bool straight = has_codes(from.graph);
  Subject wide{
      OCTET_TRY(straight ? straight_through(from.graph, from.inputs) : in_double(from.graph)), {}};
  for (const Tensor& x : from.inputs)
    wide.inputs.push_back(in_double(x));
  return std::pair(straight ? from : wide, wide);
}

} // namespace

void answer_gradients(const Graph& graph,
                      const InputSets& sets,
                      int64_t variant,
                      Answers& answers) {
  const auto not_tried = [&](const std::string& why) { ++answers.counts["not tried: " + why]; };
  Subject given{graph, sets[static_cast<size_t>(variant) % sets.size()]};
  if (const Status held = train::absorb_constant_nodes(given.graph); !held.ok())
    return not_tried(held.error().text());
  if (const Status typed = infer_types(given.graph); !typed.ok())
    return not_tried(typed.error().text());
  const auto subjects = subjects_of(given);
  if (!subjects.ok()) return not_tried(subjects.error().text());
  Gradients here(subjects->first, subjects->second, variant, answers);
  if (NotTried why = here.compare(); !why.empty()) not_tried(why);
  answers.findings.insert(answers.findings.end(), here.sure.begin(), here.sure.end());
  if (here.findings.empty()) return;
  // Where several elements are the largest one, or at a bound, gradients are shared out in ways that
  // no difference along one of them shows. Nearby they are apart.
  const auto other = subjects_of(moved(given));
  if (!other.ok()) return;
  Answers unused;
  Gradients nearby(other->first, other->second, variant, unused);
  nearby.compare();
  if (nearby.findings.empty())
    ++answers.counts["graphs that differ at a tie alone"];
  else
    answers.findings.insert(answers.findings.end(), here.findings.begin(), here.findings.end());
}

} // namespace octet::differential
