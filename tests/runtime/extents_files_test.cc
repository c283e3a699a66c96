// SPDX-License-Identifier: Apache-2.0
// Models that other people made, those of the data folder and of OCTET_MODELS (a folder), whose
// inputs have open sizes: a context that is given one size after the other has the bits, or the
// error, that a fresh session has for each.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/philox.h"
#include "support/backend.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"
#include "octet/session.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSampleRate = 16000; // the one number that files of the list ask for
constexpr int64_t kSizes[] = {32, 64, 96, 160, 512, 576};

bool is_open(const Graph& g) {
  for (const ValueId id : g.inputs()) {
    const TypeInfo& type = g.value(id).type;
    if (!type.has_rank()) return false;
    for (const Dim& d : *type.shape)
      if (!d.is_constant()) return true;
  }
  return false;
}

std::vector<std::string> model_files() {
  std::vector<std::string> out;
  std::vector<std::string> folders = {test::data_dir() + "/models"};
  if (const char* more = std::getenv("OCTET_MODELS")) folders.emplace_back(more);
  for (const std::string& folder : folders)
    if (fs::exists(folder))
      for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".onnx") out.push_back(entry.path().string());
  return out;
}

Tensor drawn(const TypeInfo& type, const Shape& shape, Philox& random) {
  std::vector<double> values(static_cast<size_t>(element_count(shape).value()));
  for (double& v : values)
    v = type.type == DType::kFloat32 ? static_cast<float>(random.uniform(-1, 1))
        : shape.empty()              ? static_cast<double>(kSampleRate)
                                     : static_cast<double>(random.below(2));
  return Tensor::from_doubles(type.type, shape, values).value();
}

/// Sizes of one name are equal; batches are small.
std::vector<Tensor> inputs_at_some_size(const Graph& g, Philox& random) {
  std::map<std::string, int64_t> sizes;
  std::vector<Tensor> out;
  for (const ValueId id : g.inputs()) {
    const TypeInfo& type = g.value(id).type;
    Shape shape;
    for (const Dim& d : *type.shape) {
      const bool is_batch = shape.empty() || std::string(d.text()) == "batch";
      const int64_t size =
          is_batch ? 1 + random.below(3) : kSizes[random.below(std::ssize(kSizes))];
      if (d.is_constant())
        shape.push_back(d.value());
      else
        shape.push_back(sizes.emplace(d.text(), size).first->second);
    }
    out.push_back(drawn(type, shape, random));
  }
  return out;
}

void expect_as_fresh(const Graph& g, SessionContext& context, Philox& random, int& runs) {
  const std::vector<Tensor> inputs = inputs_at_some_size(g, random);
  const auto have = context.run(inputs);
  auto session = Session::create(g, {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.error().text();
  const auto want = session->run(inputs);
  ASSERT_EQ(have.ok(), want.ok()) << (have.ok() ? want.error() : have.error()).text();
  if (!want.ok()) {
    EXPECT_EQ(have.error().text(), want.error().text());
    return;
  }
  ++runs;
  ASSERT_EQ(have->size(), want->size());
  for (size_t k = 0; k < want->size(); ++k)
    EXPECT_TRUE((*have)[k].identical((*want)[k]))
        << "output " << k << ' ' << to_string((*want)[k].shape());
}

TEST(Extents, OfFilesThatOthersMade) {
  int models = 0, runs = 0;
  for (const std::string& file : model_files()) {
    SCOPED_TRACE(file);
    const auto graph = load_onnx(file);
    if (!graph.ok() || !is_open(*graph)) continue;
    ++models;
    auto session = Session::create(*graph, {.threads = 1});
    ASSERT_TRUE(session.ok()) << session.error().text();
    SessionContext context = session->context();
    Philox random(11);
    for (int i = 0; i < 8; ++i)
      expect_as_fresh(*graph, context, random, runs);
  }
  if (models == 0) GTEST_SKIP() << "no models in " << test::data_dir() << "/models";
  EXPECT_GE(runs, 3 * models);
  RecordProperty("runs", runs);
}

} // namespace
} // namespace octet
