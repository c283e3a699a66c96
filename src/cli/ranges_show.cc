// SPDX-License-Identifier: Apache-2.0
// octet ranges show: the ranges in a file, and what they make of codes.
#include "cli/command.h"
#include "cli/range_files.h"
#include "core/json.h"
#include "quant/scheme.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

class RangesShow final : public Command {
 public:
  std::string_view name() const override { return "ranges show"; }
  std::string_view summary() const override {
    return "the ranges in a file, with the scales of 8-bit codes";
  }
  std::string_view example() const override { return "octet ranges show ranges.json"; }

  void define(CLI::App& app) override {
    app.add_option("ranges", file_, "JSON, a TensorRT cache, ONNX Runtime's table, or a shard")
        ->required();
    app.add_flag("--asymmetric", asymmetric_, "scales of codes with a zero point");
  }

  Result<Answer> run(const Common& common) override {
    const auto [ranges, shard] = OCTET_TRY(read_ranges_or_shard(file_));
    const bool symmetric = !asymmetric_ && (!shard || shard->run.scheme.symmetric);
    const Scheme scheme{DType::kInt8, symmetric, false};
    std::vector<Row> rows;
    for (size_t i = 0; i < ranges.size(); ++i)
      rows.push_back({ranges[i], parameters_for(scheme, ranges[i].range),
                      shard ? &shard->tensors[i].second : nullptr});
    if (common.json) {
      print_ranges_json(rows, shard);
      return Answer::kDone;
    }
    if (shard)
      fmt::print("shard {} of {}: {} of {} samples of {}, {}, {}\n", shard->shard.index,
                 shard->shard.count, shard->samples, shard->run.samples, shard->run.data,
                 octet::name(shard->run.calibrator), symmetric ? "symmetric" : "asymmetric");
    print_ranges(rows, symmetric, shard.has_value());
    return Answer::kDone;
  }

 private:
  struct Row {
    const TensorRange& range;
    QuantParameters parameters;
    const Observer* observer; ///< null: the file does not say what was observed
  };

  static void print_ranges(const std::vector<Row>& rows, bool symmetric, bool observed) {
    std::vector<std::string> header = {"tensor", "least", "largest", "scale"};
    if (!symmetric) header.emplace_back("zero point");
    if (observed) header.insert(header.end(), {"observed", "infinities", "masked"});
    Table table(header);
    for (const auto& [r, parameters, observer] : rows) {
      std::vector<std::string> row = {r.tensor, fmt::format("{:.6g}", r.range.lo),
                                      fmt::format("{:.6g}", r.range.hi),
                                      fmt::format("{:.6g}", parameters.scale)};
      if (!symmetric) row.push_back(fmt::format("{}", parameters.zero_point));
      if (observer != nullptr)
        for (const int64_t count :
             {observer->observed(), observer->infinities(), observer->masked()})
          row.push_back(fmt::format("{}", count));
      table.add(std::move(row));
    }
    fmt::print("{}", table.text());
  }

  static void print_ranges_json(const std::vector<Row>& rows,
                                const std::optional<RangeShard>& shard) {
    auto tensors = nlohmann::ordered_json::array();
    for (const auto& [r, parameters, observer] : rows) {
      tensors.push_back({{"tensor", r.tensor},
                         {"range", {r.range.lo, r.range.hi}},
                         {"scale", parameters.scale},
                         {"zero_point", parameters.zero_point}});
      if (observer != nullptr)
        tensors.back().update({{"observed", observer->observed()},
                               {"infinities", observer->infinities()},
                               {"masked", observer->masked()}});
    }
    nlohmann::ordered_json out = nlohmann::ordered_json::object();
    if (shard)
      out.update({{"shard", shard->shard.index},
                  {"of", shard->shard.count},
                  {"seen", shard->samples},
                  {"samples", shard->run.samples},
                  {"data", shard->run.data},
                  {"calibrator", octet::name(shard->run.calibrator)}});
    out["tensors"] = std::move(tensors);
    fmt::print("{}\n", json_text(out));
  }

  std::string file_;
  bool asymmetric_ = false;
};

} // namespace

Command& ranges_show_command() {
  static RangesShow command;
  return command;
}

} // namespace octet::cli
