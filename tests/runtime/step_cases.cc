// SPDX-License-Identifier: Apache-2.0
// What is asked of each of the small graphs; see step_cases.h.
#include "runtime/step_cases.h"

#include <cmath>
#include <limits>
#include <tuple>

#include "core/cpu.h"
#include "core/philox.h"
#include "passes/lower/lower.h"
#include "runtime/stored.h"

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOddValues[] = {std::numeric_limits<double>::quiet_NaN(),
                                 kInfinity,
                                 -kInfinity,
                                 -0.0,
                                 0.0,
                                 1e-41,
                                 -1e-45,
                                 3e38};

Tensor random_input(const Value& v, const StepCase& test, int64_t n, int64_t s, Philox& random) {
  Shape shape;
  for (const Dim& d : *v.type.shape)
    shape.push_back(d.is_constant() ? d.value() : d.symbol_name() == "N" ? n : s);
  std::vector<double> values(static_cast<size_t>(element_count(shape).value()));
  const DType type = v.type.type;
  for (double& x : values) {
    x = type == DType::kFloat32 ? static_cast<float>(random.uniform(-1.5, 1.5))
        : type == DType::kBool
            ? static_cast<double>(random.below(2))
            : static_cast<double>(random.below(2 * static_cast<uint64_t>(test.range))) - test.range;
    if (test.odd_values && type == DType::kFloat32 && random.below(20) == 0)
      x = kOddValues[random.below(std::size(kOddValues))];
  }
  return Tensor::from_doubles(v.type.type, shape, values).value();
}

bool same(double a, double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b));
}

} // namespace

TEST_P(Steps, KernelsEqualTheReference) {
  const auto model = parse_graph("graph g opset(\"\"=" + std::to_string(GetParam().opset) + ")\n" +
                                 GetParam().text + "\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  const Result<Lowered> lowered = lower(*model);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  auto reference = make_reference_executor(lowered->graph);
  ASSERT_TRUE(reference.ok()) << reference.error().text();
  Philox random(5);
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const auto& [n, s, threads] : {std::tuple{1, 1, 1},
                                        {2, 7, 2},
                                        {3, 16, 3},
                                        {5, 33, 1},
                                        {40, 300, 2},
                                        {0, 3, 1},
                                        {3, 0, 2}}) {
      if (isa == Isa::kScalar && n == 40) continue;
      if (n * s == 0 && (!GetParam().odd_values || GetParam().least > 0)) continue;
      auto session = Session::create(
          *model, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (const PlannedNode& node : session->plan())
        EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
      std::vector<Tensor> inputs;
      for (const ValueId id : model->inputs())
        inputs.push_back(random_input(model->value(id), GetParam(), n, s, random));
      const auto want = (*reference)->run(inputs);
      ASSERT_TRUE(want.ok()) << want.error().text();
      const auto got = session->run(inputs);
      ASSERT_TRUE(got.ok()) << got.error().text();
      for (size_t k = 0; k < want->size(); ++k) {
        const auto a = (*want)[k].to_doubles().value(), b = (*got)[k].to_doubles().value();
        ASSERT_EQ((*want)[k].shape(), (*got)[k].shape());
        for (size_t i = 0; i < a.size(); ++i)
          ASSERT_TRUE(same(a[i], b[i]))
              << isa_name(isa) << " " << n << " " << s << ": element " << i << " of output " << k
              << " is " << b[i] << ", want " << a[i];
      }
    }
  }
}

/// What is stored of a lowered graph says all of it again.
TEST_P(Steps, AStoreGivesTheSameBits) {
  const auto model = parse_graph("graph g opset(\"\"=" + std::to_string(GetParam().opset) + ")\n" +
                                 GetParam().text + "\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  Philox random(5);
  std::vector<Tensor> inputs;
  for (const ValueId id : model->inputs())
    inputs.push_back(random_input(model->value(id), GetParam(), 3, 16, random));
  test::expect_stored_bits(*model, inputs, default_isa());
}

} // namespace octet
