// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize_options.h"

#include <algorithm>
#include <limits>

#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/range_files.h"
#include "cli/terminal.h"
#include "cli/watched_data.h"
#include "core/format.h"
#include "core/string_util.h"
#include "data/dataset_hash.h"
#include "quant/no_effect.h"
#include "quant/prepare.h"
#include "quant/see/trials.h"
#include "quant/steps/step.h"
#include "quant/weight_plans.h"
#include "targets/tables.h"
#include <CLI/CLI.hpp>

#include "octet/export.h"
#include "octet/quantize.h"
#include "octet/target.h"

namespace octet::cli {
namespace {

/// A file of ranges may name what a runtime has fused away, so another name is no error.
void note_unknown_ranges(const std::map<std::string, Range>& ranges,
                         const std::string& file,
                         const Graph& graph) {
  std::vector<std::string> unknown;
  for (const auto& [name, range] : ranges)
    if (!graph.find_value(name)) unknown.push_back(name);
  if (unknown.empty()) return;
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs())
    names.push_back(graph.value(id).name);
  for (const NodeId id : graph.nodes())
    for (const ValueId out : graph.node(id).outputs)
      if (out.valid()) names.push_back(graph.value(out).name);
  const auto near = nearest_match(unknown.front(), names);
  fmt::print(stderr,
             "{}: {} of {} ranges are of tensors that the model does not have, such as \"{}\"{}\n",
             file, unknown.size(), ranges.size(), unknown.front(),
             near ? fmt::format("; is it \"{}\"?", *near) : "");
}

/// --embeddings is a wish that a target may not be able to fulfil.
void note_float_tables(const QuantizationPlan& plan) {
  const NodePlan* first = nullptr;
  for (const NodePlan& node : plan.nodes) {
    if (node.op != "Gather") continue;
    if (node.quantized) return;
    if (first == nullptr || node.rule == Placed::kFloat) first = &node;
  }
  fmt::print(stderr, "--embeddings: no table is stored in 8 bits for {}: {}\n", plan.target,
             first == nullptr ? "the model gathers no rows of one" : first->why);
}

/// Blocks go where the target takes them.
void note_weights_without_blocks(const QuantizationPlan& plan, const std::string& model) {
  std::vector<std::string> names;
  for (const NodePlan& node : plan.nodes)
    if (node.weight && node.why.find(kWithoutBlocks) != std::string::npos)
      names.push_back(node.node);
  if (names.empty()) return;
  fmt::print(stderr,
             "{}: {} without blocks, which for {} divide one of the last two axes of a weight; a "
             "scale for each channel instead: {}\n",
             model, counted(std::ssize(names), "layer"), plan.target, join_some(names));
}

/// Below so many decibels, measured on so many examples, a warning is due.
double least_decibels(int64_t examples) {
  return decibels(collapsed(examples));
}

/// Says it where `auto` found nothing that keeps the outputs.
void warn_of_collapse(const QuantizationPlan& plan, const std::string& model) {
  const auto sqnr = plan.sqnr();
  if (!sqnr || *sqnr >= least_decibels(plan.held_back)) return;
  std::string text = fmt::format(
      "{}: warning: with the best ranges found the outputs are at {:.1f} dB, power over squared "
      "error, on {}",
      model, *sqnr,
      plan.held_back > 0 ? counted(plan.held_back, "example") + " held back"
                         : "what calibration saw");
  std::vector<std::string> costs, names;
  for (const LayerCost& layer : plan.costly) {
    costs.push_back(fmt::format("{} ({:.1f} dB)", layer.node, layer.sqnr));
    names.push_back(layer.node);
  }
  if (!names.empty())
    text += fmt::format("; layers that alone cost most: {}; --exclude '{}' leaves them in float",
                        fmt::join(costs, ", "), fmt::join(names, ","));
  fmt::print(stderr, "{}\n", text);
}

/// Layers that `auto` left in float, and what they would cost in codes.
void note_layers_in_float(const QuantizationPlan& plan, const std::string& model) {
  double before = -std::numeric_limits<double>::infinity();
  for (const PlanTrial& trial : plan.trials) {
    if (trial.what.starts_with(kLayersInFloat))
      fmt::print(stderr,
                 "{}: {}; with them in codes the outputs are at {:.1f} dB, so at {:.1f} dB\n",
                 model, trial.what, before, trial.sqnr);
    before = std::max(before, trial.sqnr);
  }
}

/// Steps that were asked for, with which the outputs would be worse.
void note_steps_left_out(const QuantizationPlan& plan, const std::string& model) {
  for (const PlanTrial& trial : plan.trials)
    if (trial.what.starts_with(kStepsLeftOut))
      fmt::print(stderr, "{}: {}; with them the outputs are at {:.1f} dB, without at {:.1f} dB\n",
                 model, trial.what, trial.sqnr, plan.sqnr().value_or(0));
}

/// Nodes that are left in float, with every number as before.
void note_no_effect(const Graph& graph, const QuantizeOptions& options) {
  if (options.exclude.empty()) return;
  const auto placement = find_placement(options.target);
  if (!placement.ok()) return;
  const Result<Graph> prepared = prepare_for_quantization(graph, **placement);
  if (!prepared.ok()) return;
  const auto found = excluded_without_effect(*prepared, **placement, options);
  if (!found.ok()) return;
  for (const NoEffect& each : *found)
    fmt::print(stderr, "--keep-float '{}' changes no number: {}\n", each.pattern,
               each.readers.empty()
                   ? "what it names is in float anyway"
                   : fmt::format("{} quantizes what it reads all the same; --keep-float '{}' does",
                                 join_some(each.readers, 3), fmt::join(each.readers, ",")));
}

/// Where what is chosen for a layer begins: behind the last colon before a word and "=", as names
/// and calibrators may hold colons. Npos: nowhere.
size_t colon_of_layer(std::string_view text) {
  for (size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", colon + 1);
    if (end != std::string_view::npos && end > colon + 1 && text[end] == '=') return colon;
  }
  return text.rfind(':');
}

/// Activations whose scale is 1 whatever they are.
bool takes_as_it_is(const QuantizeOptions& o) {
  return o.activations && o.direct_activations &&
         (o.activations->type == DType::kFloat8E5M2 ||
          o.activations->type == DType::kFloat8E5M2FNUZ);
}

/// A number is bits in 8-bit codes, a word a format.
Status parse_layer_format(std::string_view item,
                          std::optional<int>& bits,
                          std::optional<NumberFormat>& format) {
  const size_t equals = item.find('=');
  const std::string_view text = item.substr(equals + 1);
  if (text.find_first_not_of("0123456789") != std::string_view::npos) {
    format = OCTET_TRY_WITH(parse_number_format(text), std::string(item.substr(0, equals)));
    return ok_status();
  }
  const int64_t number = whole_number(text);
  if (number < 2 || number > 8)
    return error("{}: {} have 2 to 8 bits", item, item.substr(0, equals));
  bits = static_cast<int>(number);
  return ok_status();
}

Status parse_layer_item(std::string_view item, LayerFormat& out) {
  if (item.starts_with("weights=")) {
    OCTET_TRY(parse_layer_format(item, out.weight_bits, out.weights));
  } else if (item == "activations=dynamic") {
    out.dynamic = true;
  } else if (item.starts_with("activations=")) {
    OCTET_TRY(parse_layer_format(item, out.activation_bits, out.activations));
  } else if (item.starts_with("calibrator=")) {
    out.calibrator = OCTET_TRY(parse_calibrator(item.substr(item.find('=') + 1)));
  } else if (item == "per=tensor" || item == "per=channel") {
    out.per_channel = item == "per=channel";
  } else {
    return error("\"{}\" says nothing that can be chosen for a layer; there are weights=BITS "
                 "or FORMAT, per=tensor, per=channel, activations=BITS, FORMAT or "
                 "dynamic, and calibrator=NAME",
                 item);
  }
  return ok_status();
}

/// PATTERN:KEY=VALUE,...: how layers are stored.
Result<LayerFormat> parse_layer(const std::string& text) {
  const size_t colon = colon_of_layer(text);
  if (colon == std::string::npos || colon == 0)
    return error("--layer: \"{}\" names no pattern; write PATTERN:weights=4 or "
                 "PATTERN:weights=4,per=tensor,activations=6,calibrator=mse",
                 text);
  LayerFormat out{.pattern = text.substr(0, colon)};
  for (const std::string_view item : split(std::string_view(text).substr(colon + 1), ','))
    OCTET_TRY_WITH(parse_layer_item(item, out), fmt::format("--layer: \"{}\"", text));
  return out;
}

} // namespace

void QuantizeFlags::define(CLI::App& app, For use) {
  const bool trains = use == For::kTraining;
  trains_ = trains;
  app.add_option("--data", data, "calibration data, kind:path (its training part)");
  target_option_ = app.add_option("--target", target_,
                                  "what will run the file: octet, onnxruntime, tensorrt-10, ...");
  app.add_option("--mode", mode_,
                 trains ? "static: training observes ranges" : "static, dynamic or weight-only");
  calibrator_option_ =
      app.add_option(
             "--calibrator", calibrator_,
             "auto (the best of the next four on examples held back), min-max, percentile[:p], "
             "entropy, mse, moving-average[:momentum]")
          ->capture_default_str();
  weight_calibrator_option_ = app.add_option("--weight-calibrator", weight_calibrator_,
                                             "of weights: min-max, percentile[:p], entropy, "
                                             "mse[:3], which clips what costs more than "
                                             "it is worth")
                                  ->capture_default_str();
  add_count_option(app, "--samples", samples_, "examples for calibration, 0: all");
  add_max_length(app, max_length_);
  add_zeros(app, zeros_);
  constexpr CountRange kBits = {2, 8};
  add_count_option(app, "--weight-bits", weight_bits_, "bits of weights, 2 to 8", kBits);
  add_count_option(app, "--activation-bits", activation_bits_,
                   "bits of activations, 2 to 8; below 8 a Clip follows each quantizer", kBits);
  const std::string formats = fmt::format("{}", fmt::join(number_format_names(), ", "));
  app.add_option("--weights", weights_,
                 fmt::format("format of weights: {}; blocks as in int4/32", formats));
  app.add_option("--activations", activations_,
                 "format of activations, of the same: fp8-e4m3fn, int16, ...");
  add_list_option(app, "--layer", layers_,
                  "PATTERN:weights=BITS|FORMAT,per=tensor,activations=BITS|FORMAT|dynamic,"
                  "calibrator=NAME: what differs for nodes or operators like this (* and ?), the "
                  "last one wins");
  app.add_flag("--per-tensor", per_tensor_, "one scale for all output channels of a weight");
  app.add_flag("--symmetric", symmetric_, "symmetric activations whatever the target prefers");
  app.add_flag("--asymmetric", asymmetric_, "asymmetric activations whatever the target prefers");
  app.add_flag("--softmax", softmax_, "quantize Softmax too");
  app.add_flag("--embeddings", embeddings_, "store embedding tables in 8 bits too");
  if (!trains)
    app.add_flag(
        "--reduce-range", reduce_range_,
        "weights of which no two products exceed 16 bits: the same numbers in ONNX Runtime "
        "on x64 with and without VNNI");
  if (!trains)
    app.add_option(
           "--correct-biases", correct_biases_,
           "by the means of what products read: auto (where --calibrator auto measures that "
           "it helps), yes, no")
        ->check(CLI::IsMember({"auto", "yes", "no"}))
        ->capture_default_str();
  if (!trains) // there it counts updates; a plan with steps comes by --plan
    add_list_option(app, "--steps", steps_,
                    fmt::format("what the plan does beside ranges, where it helps: {}",
                                fmt::join(step_names(), ", "))
                        .c_str(),
                    ',');
  add_list_option(app, "--exclude-steps", exclude_steps_,
                  "leave steps with ids like this out (* and ?)", ',');
  app.add_option("--mask-input", mask_input_, "input that is 0 where the others hold padding");
  add_list_option(app, "--include,--quantize", include_,
                  "quantize only nodes or operators like this (* and ?)", ',');
  add_list_option(app, "--exclude,--keep-float", exclude_,
                  "leave nodes or operators like this in float", ',');
  app.add_option(
      "--ranges", ranges_file,
      "ranges of activations: a TensorRT calibration cache, ONNX Runtime's table or JSON "
      "(octet calibrate)");
  app.add_option("--plan", plan_file, "apply this plan (JSON) instead of making one");
}

void QuantizeFlags::define_batch(CLI::App& app) {
  add_count_option(app, "--batch", batch_, "calibration examples a run: fewer take less memory",
                   {1, 65536})
      ->capture_default_str();
}

void QuantizeFlags::prefer_target(const char* target) {
  if (target_option_->count() == 0) target_ = target;
}

Result<QuantizeOptions> QuantizeFlags::options(const Common& common) const {
  QuantizeOptions o;
  o.target = OCTET_TRY(parse_target(target_));
  o.mode = OCTET_TRY(parse_quant_mode(mode_));
  o.calibrator = OCTET_TRY(parse_calibrator(calibrator_));
  o.weight_calibrator = OCTET_TRY(parse_calibrator(weight_calibrator_));
  o.weight_bits = weight_bits_;
  o.activation_bits = activation_bits_;
  if (!weights_.empty()) o.weights = OCTET_TRY_WITH(parse_number_format(weights_), "--weights");
  if (!activations_.empty())
    o.activations = OCTET_TRY_WITH(parse_number_format(activations_), "--activations");
  if ((o.weights && weight_bits_ != 8) || (o.activations && activation_bits_ != 8))
    return error("bits are those of 8-bit codes: leave --{} out beside a format",
                 o.weights && weight_bits_ != 8 ? "weight-bits" : "activation-bits");
  o.direct_weights = weight_calibrator_option_->count() == 0;
  o.direct_activations = calibrator_option_->count() == 0;
  o.per_channel = !per_tensor_;
  o.reduce_range = reduce_range_;
  o.float_where_collapsed = !trains_; // training may win such layers back
  if (trains_)
    o.correct_biases = false; // they are trained
  else if (correct_biases_ != "auto")
    o.correct_biases = correct_biases_ == "yes";
  if (symmetric_ && asymmetric_) return error("--symmetric and --asymmetric exclude each other");
  if (symmetric_ || asymmetric_) o.symmetric = symmetric_;
  o.include = include_;
  o.exclude = exclude_;
  for (const std::string& layer : layers_)
    o.layers.push_back(OCTET_TRY(parse_layer(layer)));
  o.softmax = softmax_;
  o.embeddings = embeddings_;
  o.steps = steps_;
  o.threads = common.threads;
  o.exclude_steps = exclude_steps_;
  o.samples = samples_;
  o.batch_size = batch_;
  o.mask_input = mask_input_;
  if (!ranges_file.empty()) {
    for (const TensorRange& r : OCTET_TRY(read_ranges(ranges_file)))
      o.ranges[r.tensor] = r.range;
  }
  o.executor = measuring_executor(common, true);
  o.learn_rounding = [](const RoundingRequest& request) -> Result<LearnedRounding> {
    return OCTET_TRY(rounding_learner())(request);
  };
  return o;
}

Result<QuantizationPlan>
QuantizeFlags::make_plan(const Graph& graph, const std::string& model, const Common& common) const {
  if (!plan_file.empty()) {
    QuantizationPlan plan = OCTET_TRY(load_plan(plan_file));
    if (!steps_.empty()) return error("{} has its steps already; leave --steps out", plan_file);
    const std::vector<std::string> dependent =
        OCTET_TRY_WITH(exclude_steps(plan, exclude_steps_), plan_file);
    if (!dependent.empty())
      fmt::print(stderr, "left out too, as they were fitted behind a step that is: {}\n",
                 fmt::join(dependent, ", "));
    return plan;
  }
  QuantizeOptions o = OCTET_TRY(options(common));
  note_no_effect(graph, o);
  note_unknown_ranges(o.ranges, ranges_file, graph);
  const bool needs_ranges = o.mode == QuantMode::kStatic && o.ranges.empty() && !takes_as_it_is(o);
  if (!needs_ranges && data.empty()) return plan_quantization(graph, CalibrationSource{}, o);
  if (data.empty())
    return error(
        "static quantization needs calibration data; use --data kind:path, --ranges FILE, or "
        "--mode dynamic");
  // Texts beyond the samples need no tokens.
  const WatchedData examples(OCTET_TRY(open_model_data(
      {data, Split::kTrain, max_length_, samples_, {}, zeros_}, graph, model, common)));
  o.mask_input = padding_mask(graph, o.mask_input, data);
  ProgressLine progress("calibrate", "examples");
  const Interruptible interruptible;
  o.progress = [&](int64_t done, int64_t total) {
    progress.update(done, total);
    return !interruptible.stopped();
  };
  QuantizationPlan plan = OCTET_TRY(examples.with_infinity(plan_quantization(graph, examples, o)));
  examples.tell_constant(zeros_);
  plan.data_hash = dataset_hash(examples, o.samples);
  return plan;
}

Result<QuantizationPlan>
QuantizeFlags::plan(const Graph& graph, const std::string& model, const Common& common) const {
  QuantizationPlan out = OCTET_TRY(make_plan(graph, model, common));
  if (embeddings_) note_float_tables(out);
  note_weights_without_blocks(out, model);
  if (out.one_at_a_time) note_one_at_a_time(model);
  note_layers_in_float(out, model);
  note_steps_left_out(out, model);
  warn_of_collapse(out, model);
  return out;
}

Result<QuantizeFlags::Measured> QuantizeFlags::measure(const Graph& graph,
                                                       const QuantizationPlan& plan,
                                                       const std::string& model,
                                                       const Common& common) const {
  // As many as `auto` holds back: one run of both networks.
  constexpr int64_t kMostSamples = 32;
  const int64_t samples = samples_ > 0 ? std::min(samples_, kMostSamples) : kMostSamples;
  const auto examples = OCTET_TRY(open_model_data(
      {data, Split::kTrain, max_length_, samples, {}, zeros_}, graph, model, common));
  const auto placement = OCTET_TRY(find_placement(plan.target));
  Graph prepared = OCTET_TRY(prepare_for_quantization(graph, *placement));
  OCTET_TRY(apply_steps(prepared, plan.steps, StepStage::kFloat));
  const CalibrationSource source =
      batches_of(prepared, *examples, samples, plan.one_at_a_time ? 1 : batch_);
  HeldBack seen;
  while (auto inputs = OCTET_TRY(source()))
    seen.batches.push_back({std::move(*inputs), {}});
  PlanTrials trials(prepared, *placement, measuring_executor(common, true),
                    padding_mask(prepared, mask_input_, data));
  OCTET_TRY(trials.run_float(seen));
  return Measured{decibels(OCTET_TRY(trials.error_of(plan, seen))),
                  std::min(samples, examples->size())};
}

void QuantizeFlags::warn_if_unmeasured(const Graph& graph,
                                       const QuantizationPlan& plan,
                                       const std::string& model,
                                       const Common& common) const {
  if (data.empty() || plan.sqnr()) return;
  const Result<Measured> measured = measure(graph, plan, model, common);
  if (!measured.ok() || measured->sqnr >= least_decibels(measured->examples)) return;
  const bool by_one = plan.mode == QuantMode::kStatic && plan.calibrator != "auto";
  fmt::print(stderr,
             "{}: warning: the outputs are at {:.1f} dB, power over squared error, on {} of the "
             "calibration data{}; octet debug {} QUANTIZED --data {} names the layers that cost "
             "most\n",
             model, measured->sqnr, counted(measured->examples, "example"),
             by_one ? "; --calibrator auto looks for better ranges" : "", model, data);
}

Result<std::map<std::string, Range>> QuantizeFlags::precision_ranges(const Graph& quantized,
                                                                     const std::string& model,
                                                                     const Common& common) const {
  if (data.empty()) return std::map<std::string, Range>();
  // Every float value is looked at, not only what is quantized.
  constexpr int64_t kMostSamples = 128, kBatch = 16;
  const int64_t samples = samples_ > 0 ? std::min(samples_, kMostSamples) : kMostSamples;
  const auto examples = OCTET_TRY(open_model_data(
      {data, Split::kTrain, max_length_, samples, {}, zeros_}, quantized, model, common));
  return octet::precision_ranges(quantized, batches_of(quantized, *examples, samples, kBatch),
                                 measuring_executor(common, false));
}

} // namespace octet::cli
