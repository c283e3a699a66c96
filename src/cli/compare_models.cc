// SPDX-License-Identifier: Apache-2.0
#include "cli/compare_models.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"

namespace octet::cli {
namespace {

Result<double> difference_of(const Tensor& a, const Tensor& b, double& relative) {
  if (a.type() != b.type() || a.shape() != b.shape())
    return error("was {}{} and is {}{}", octet::name(a.type()), to_string(a.shape()),
                 octet::name(b.type()), to_string(b.shape()));
  relative = 0;
  if (a.identical(b)) return 0.0;
  const std::vector<double> before = OCTET_TRY(a.to_doubles());
  const std::vector<double> after = OCTET_TRY(b.to_doubles());
  double largest = 1, worst = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i] || (std::isnan(before[i]) && std::isnan(after[i]))) continue;
    const double gap = std::abs(before[i] - after[i]);
    worst = std::max(worst, std::isfinite(gap) ? gap : HUGE_VAL);
  }
  for (const double v : before)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  relative = worst / largest;
  return worst;
}

} // namespace

Result<Difference>
compare_models(const Graph& before,
               const Graph& after,
               const ExecutorFactory& make,
               int runs,
               const std::function<Result<std::vector<Tensor>>(int)>& inputs,
               const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& for_after) {
  const auto first = OCTET_TRY_WITH(make(before), "the model as it came");
  const auto second = OCTET_TRY_WITH(make(after), "the simplified model");
  Difference out;
  for (; out.runs < runs; ++out.runs) {
    const std::vector<Tensor> x = OCTET_TRY(inputs(out.runs));
    const auto a = OCTET_TRY_WITH(first->run(x), "the model as it came");
    const auto b = OCTET_TRY_WITH(second->run(for_after(x)), "the simplified model");
    for (size_t k = 0; k < after.outputs().size(); ++k) {
      const std::string& name = after.value(after.outputs()[k]).name;
      const auto at = std::find_if(before.outputs().begin(), before.outputs().end(),
                                   [&](ValueId id) { return before.value(id).name == name; });
      if (at == before.outputs().end()) return error("output \"{}\" was not there before", name);
      double relative = 0;
      const double gap = OCTET_TRY_WITH(
          difference_of(a[static_cast<size_t>(at - before.outputs().begin())], b[k], relative),
          fmt::format("output \"{}\"", name));
      out.absolute = std::max(out.absolute, gap);
      if (relative > out.relative) out.output = name;
      out.relative = std::max(out.relative, relative);
    }
  }
  return out;
}

} // namespace octet::cli
