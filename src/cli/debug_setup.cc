// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_setup.h"

#include <algorithm>
#include <filesystem>

#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/outputs.h"
#include "core/format.h"
#include "core/string_util.h"
#include "data/batch_rows.h"
#include "ops/infer.h"
#include "passes/rewrite.h"
#include "passes/standardize/coded_operators.h"
#include "quant/prepare.h"
#include "quant/steps/step.h"
#include "targets/multiply_adds.h"

namespace octet::cli {
namespace {

constexpr int64_t kUsualExamples = 64;

Status check_debug_options(const DebugModels& o, const Common& common) {
  const UsedFiles used = {o.float_model, o.quantized_model, o.data, o.plan};
  if (o.data.empty()) return error("two models are compared on data; use --data kind:path");
  if (o.apply == o.output.empty())
    return error("--apply and -o go together: --apply -o better.onnx");
  if (!o.apply && !o.save_plan.empty())
    return error("--save-plan writes what --apply makes; add --apply -o better.onnx");
  if (!o.output.empty())
    OCTET_TRY(check_model_output(o.output, writes_folder(o.output, o.float_model), used, common));
  for (const std::string* each : {&o.save_plan, &o.report})
    if (!each->empty()) OCTET_TRY(check_output(*each, used, common));
  if (!o.save_plan.empty()) OCTET_TRY(check_output(plan_numbers_path(o.save_plan), used, common));
  return ok_status();
}

/// A plan beside the quantized file, by its name: cnn.int8.plan.json or plan.json for cnn.int8.onnx.
std::string plan_beside(const std::string& model) {
  namespace fs = std::filesystem;
  const fs::path path(model);
  const fs::path named = path.parent_path() / (path.stem().string() + ".plan.json");
  std::error_code ignored;
  for (const fs::path& each : {named, path.parent_path() / "plan.json"})
    if (fs::is_regular_file(each, ignored)) return each.string();
  return {};
}

/// The plan that is named, or one beside the file that fits the network.
Status take_plan(const DebugModels& o, TwoModels& to) {
  const std::string path = o.plan.empty() ? plan_beside(o.quantized_model) : o.plan;
  if (path.empty()) return ok_status();
  const bool guessed = o.plan.empty();
  Result<QuantizationPlan> found = load_plan(path);
  if (!found.ok() && guessed) return ok_status();
  QuantizationPlan plan = OCTET_TRY_WITH(std::move(found), path);
  Result<PlanMismatch> compared = compare_plan(to.original, plan);
  if (!compared.ok() && guessed) return ok_status();
  const PlanMismatch difference = OCTET_TRY_WITH(std::move(compared), path);
  if (!difference.unmatched.empty()) {
    if (guessed) return ok_status();
    return error("{}: the plan is of another network than {}: it names {}", path, o.float_model,
                 join_some(difference.unmatched, 3));
  }
  OCTET_TRY_WITH(apply_steps(to.prepared, plan.steps, StepStage::kFloat), path);
  to.plan = std::move(plan);
  to.plan_from = path;
  to.plan_guessed = guessed;
  return ok_status();
}

/// Inputs of the quantized graph in the order of the float one's.
void put_in_order(const Graph& prepared, Graph& quantized) {
  std::vector<ValueId> inputs;
  for (const ValueId id : prepared.inputs())
    if (const auto same = quantized.find_value(prepared.value(id).name)) inputs.push_back(*same);
  std::vector<ValueId> sorted = inputs, all = quantized.inputs();
  std::sort(sorted.begin(), sorted.end());
  std::sort(all.begin(), all.end());
  if (sorted == all && inputs != quantized.inputs()) quantized.set_inputs(std::move(inputs));
}

} // namespace

int64_t examples_of(const DebugModels& options) {
  return options.limit > 0 ? options.limit : kUsualExamples;
}

Result<TwoModels> open_two_models(const DebugModels& o, const Common& common) {
  OCTET_TRY(check_debug_options(o, common));
  TwoModels out;
  out.original = OCTET_TRY(open_model(o.float_model, common));
  OCTET_TRY(check_float(out.original, o.float_model, "the first of two models is the float one"));
  out.quantized = OCTET_TRY(open_model(o.quantized_model, common));
  if (!holds_codes(out.quantized))
    return error("{}: holds no codes; the second of two models is the quantized one",
                 o.quantized_model);
  OCTET_TRY_WITH(infer_types(out.quantized), o.quantized_model);
  OCTET_TRY_WITH(rewrite(out.quantized, coded_operator_rules()), o.quantized_model);
  OCTET_TRY_WITH(infer_types(out.quantized), o.quantized_model);
  out.prepared = OCTET_TRY_WITH(prepare_for_quantization(out.original), o.float_model);
  OCTET_TRY(take_plan(o, out));
  out.pairs = OCTET_TRY_WITH(pair_models(out.prepared, out.quantized),
                             fmt::format("{} and {}", o.float_model, o.quantized_model));
  put_in_order(out.prepared, out.quantized);
  out.data = OCTET_TRY(open_model_data({o.data, Split::kTest, o.max_length, examples_of(o)},
                                       out.prepared, o.float_model, common));
  out.mask = padding_mask(out.prepared, "", o.data);
  return out;
}

CalibrationSource first_examples(const Graph& graph,
                                 std::shared_ptr<const Dataset> data,
                                 int64_t count,
                                 int64_t batch,
                                 std::function<Status(const Batch&)> seen) {
  const int64_t total = std::min(count, data->size());
  const BatchRows rows(graph, *data, batch);
  auto next = std::make_shared<int64_t>(0);
  return [&graph, data = std::move(data), seen = std::move(seen), total, rows,
          next]() -> Result<std::optional<std::vector<Tensor>>> {
    if (*next >= total || (rows.fixed() && *next > 0 && *next + rows.size() > total))
      return std::optional<std::vector<Tensor>>();
    const std::vector<int64_t> indices = rows.from(*next, total);
    *next += std::ssize(indices);
    const Batch examples = OCTET_TRY(data->batch(indices));
    if (seen) OCTET_TRY(seen(examples));
    return std::optional(OCTET_TRY(bind_inputs(graph, examples)));
  };
}

double work_of(const Graph& graph, std::span<const Tensor> inputs, int64_t examples) {
  Graph sized = graph;
  for (size_t i = 0; i < inputs.size(); ++i)
    sized.set_type(sized.inputs()[i], tensor_type(inputs[i].type(), inputs[i].shape()));
  if (!infer_types(sized).ok()) return 1;
  double sum = 1;
  for (const NodeId id : sized.nodes())
    sum += static_cast<double>(multiply_adds(sized, sized.node(id)));
  return sum / static_cast<double>(std::max<int64_t>(examples, 1));
}

} // namespace octet::cli
