// SPDX-License-Identifier: Apache-2.0
// octet certify: whether a quantized model gives the same numbers in other runtimes on every CPU.
#include "octet/certify.h"

#include <algorithm>
#include <optional>

#include "cli/certificate.h"
#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/random_inputs.h"
#include "cli/terminal.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "data/batch_rows.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/session.h"

namespace octet::cli {
namespace {

constexpr int64_t kBatch = 16;

class Certify final : public Command {
 public:
  std::string_view name() const override { return "certify"; }
  std::string_view summary() const override {
    return "whether other runtimes saturate on CPUs without VNNI; exit 1: they can, or it is not "
           "known";
  }
  std::string_view example() const override {
    return "octet certify cnn.int8.onnx --data fashion-mnist:DIR -o cnn.safe.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "quantized model, folder or ONNX file")->required();
    app.add_option("--data", data_, "show the damage on this data set, kind:path");
    add_count_option(app, "--limit", limit_, "only the first examples", {1, 1 << 30})
        ->capture_default_str();
    add_max_length(app, max_length_);
    app.add_option("-o,--output", output_,
                   "write the model with coarser weights in the channels that can saturate");
    app.add_option("--certificate", certificate_,
                   "write what a safety case cites: bounds, rules, operators, memory, and that "
                   "results repeat on every instruction set here; an HTML page, or .json");
  }

  Result<Answer> run(const Common& common) override {
    if (!output_.empty())
      OCTET_TRY(
          check_model_output(output_, writes_folder(output_, model_), {model_, data_}, common));
    if (!certificate_.empty())
      OCTET_TRY(check_output(certificate_, {model_, data_, output_}, common));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    Certification certification = OCTET_TRY_WITH(Certification::create(graph), model_);
    if (!data_.empty()) OCTET_TRY(simulate(graph, certification, common));
    common.json ? print_json(certification) : print_table(certification);
    if (!certificate_.empty()) OCTET_TRY(write_certificate(graph, certification, common));
    if (output_.empty()) return certification.safe() ? Answer::kDone : Answer::kNo;
    const Graph reduced = OCTET_TRY_WITH(certification.reduced(), model_);
    const Certification after = OCTET_TRY_WITH(Certification::create(reduced), output_);
    for (const CertifiedLayer& l : after.layers())
      if (l.can_saturate())
        return error("{}: {} can still saturate; nothing was written", output_, l.node);
    OCTET_TRY(write_model(reduced, output_, common, model_));
    if (!common.json)
      fmt::print("{}: {}\n", output_,
                 after.safe() ? "no layer can saturate"
                              : "no layer that was examined can saturate");
    return after.safe() ? Answer::kDone : Answer::kNo;
  }

 private:
  /// On the first example of the data, or random numbers.
  Status write_certificate(const Graph& graph,
                           const Certification& certification,
                           const Common& common) const {
    std::vector<Tensor> inputs;
    if (data_.empty()) {
      inputs =
          OCTET_TRY_WITH(random_inputs(graph, {}, different_sizes(graph), common.seed), model_);
    } else {
      const auto data = OCTET_TRY(
          open_model_data({data_, Split::kTest, max_length_, limit_, {}}, graph, model_, common));
      inputs = OCTET_TRY(first_inputs(graph, *data, 1));
    }
    auto written = make_certificate(graph, model_, certification, inputs);
    if (!written.ok() && data_.empty())
      return error(written.error().code(),
                   "{}: {}; it was run on random inputs, at drawn sizes where the file leaves them "
                   "open: --data runs it on an example of yours",
                   model_, written.error().text());
    const Certificate made = OCTET_TRY_WITH(std::move(written), model_);
    if (!made.repeats())
      return error(ErrorCode::kInternal,
                   "{}: results differ between instruction sets or threads; nothing was written",
                   model_);
    OCTET_TRY(write_file(certificate_, certificate_text(made, certificate_),
                         common.force ? Overwrite::kYes : Overwrite::kNo));
    if (!common.json)
      fmt::print("{}: results repeat in {} runs; certificate of {} layers\n", certificate_,
                 made.runs.size(), made.layers.size());
    return ok_status();
  }

  Status simulate(const Graph& graph, Certification& certification, const Common& common) const {
    const auto data = OCTET_TRY(
        open_model_data({data_, Split::kTest, max_length_, limit_, {}}, graph, model_, common));
    const auto make = [&common](const Graph& taps) {
      return make_native_executor(taps, {.threads = common.threads, .isa = {}, .lower = true});
    };
    const int64_t total = std::min(limit_, data->size());
    ProgressLine progress("simulate", "examples");
    const Interruptible interruptible;
    const BatchRows rows(graph, *data, kBatch);
    for (int64_t begin = 0; begin < total; begin += rows.size()) {
      OCTET_TRY(interruptible.check());
      const Batch batch = OCTET_TRY(data->batch(rows.from(begin, total)));
      const auto inputs = OCTET_TRY(bind_inputs(graph, batch));
      OCTET_TRY_WITH(certification.simulate(inputs, make), model_);
      progress.update(begin + rows.meant(begin, total), total);
    }
    return ok_status();
  }

  static void print_json(const Certification& certification) {
    nlohmann::ordered_json out = {{"safe", certification.safe()},
                                  {"layers", nlohmann::ordered_json::array()},
                                  {"not_examined", nlohmann::ordered_json::array()}};
    for (const Unexamined& u : certification.unexamined())
      out["not_examined"].push_back({{"node", u.node}, {"op", u.op}, {"why", u.why}});
    for (const CertifiedLayer& l : certification.layers())
      out["layers"].push_back({{"node", l.node},
                               {"op", l.op},
                               {"lowest_code", l.lowest},
                               {"highest_code", l.highest},
                               {"pairs", l.pairs},
                               {"saturating_pairs", l.saturating_pairs},
                               {"largest_pair", l.largest_pair},
                               {"fits_int32", l.fits_int32},
                               {"sums", l.sums},
                               {"wrong_sums", l.wrong_sums},
                               {"largest_error", l.largest_error},
                               {"in_float", l.in_float}});
    fmt::print("{}\n", json_text(out));
  }

  void print_table(const Certification& certification) const {
    std::vector<std::string> header = {
        "node", "operator", "activation codes", "pairs", "can saturate", "largest", "int32"};
    if (!data_.empty()) header.insert(header.end(), {"sums", "wrong", "largest error"});
    Table table(std::move(header));
    int64_t saturating = 0;
    for (const CertifiedLayer& l : certification.layers()) {
      saturating += l.can_saturate() ? 1 : 0;
      std::vector<std::string> row = {l.node,
                                      l.op,
                                      fmt::format("{} .. {}", l.lowest, l.highest),
                                      fmt::format("{}", l.pairs),
                                      fmt::format("{}", l.saturating_pairs),
                                      fmt::format("{}", l.largest_pair),
                                      l.fits_int32 ? "exact" : "overflows"};
      if (!data_.empty())
        row.insert(row.end(), {fmt::format("{}", l.sums), fmt::format("{}", l.wrong_sums),
                               fmt::format("{}", l.largest_error)});
      table.add(std::move(row));
    }
    fmt::print("{}", table.text());
    for (const CertifiedLayer& l : certification.layers())
      if (!l.in_float.empty())
        fmt::print("{}: in float: {} \"{}\": {}\n", model_, l.op, l.node, l.in_float);
    for (const Unexamined& u : certification.unexamined())
      fmt::print("{}: not examined: {} \"{}\": {}\n", model_, u.op, u.node, u.why);
    if (certification.layers().empty())
      fmt::print("{}: no {}product of quantized activations and stored int8 weights\n", model_,
                 certification.unexamined().empty() ? "" : "other ");
    else
      fmt::print("{}: {} of {} layers can saturate int16 where uint8 and int8 are multiplied "
                 "without VNNI (ONNX Runtime unless session.x64quantprecision=1, OpenVINO, "
                 "oneDNN); octet adds in int32\n",
                 model_, saturating, certification.layers().size());
  }

  std::string model_, data_, output_, certificate_;
  int64_t limit_ = 256, max_length_ = 0;
};

} // namespace

Command& certify_command() {
  static Certify command;
  return command;
}

} // namespace octet::cli
