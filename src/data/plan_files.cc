// SPDX-License-Identifier: Apache-2.0
// Plans as files: JSON, and the long vectors of their steps as NumPy arrays beside it.
#include "core/atomic_file.h"
#include "data/npz.h"
#include "quant/plan_json.h"

namespace octet {

namespace {

constexpr size_t kMaxPlanBytes = size_t{1} << 30;

} // namespace

std::string plan_numbers_path(const std::string& path) {
  constexpr std::string_view kExtension = ".json";
  const bool json = path.ends_with(kExtension);
  return path.substr(0, path.size() - (json ? kExtension.size() : 0)) + ".npz";
}

Status save_plan(const QuantizationPlan& plan, const std::string& path, bool overwrite) {
  PlanNumbers apart;
  const std::string json = plan_json(plan, &apart);
  const Overwrite existing = overwrite ? Overwrite::kYes : Overwrite::kNo;
  if (!apart.empty()) OCTET_TRY(write_npz(plan_numbers_path(path), apart, existing));
  return write_file(path, json, existing);
}

Result<QuantizationPlan> load_plan(const std::string& path) {
  const std::string json = OCTET_TRY(read_file(path, kMaxPlanBytes));
  const auto open = [&] { return read_npz(plan_numbers_path(path)); };
  return parse_plan(json, open).with(path);
}

} // namespace octet
