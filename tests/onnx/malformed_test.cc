// SPDX-License-Identifier: Apache-2.0
// Broken files give an error that says where, and never a crash: prefixes and damaged copies of
// real models, and messages built wrong on purpose.
#include <fstream>
#include <iterator>
#include <random>

#include "onnx/schema.h"
#include "onnx/wire.h"
#include "support/backend.h"
#include <gtest/gtest.h>

#include "octet/onnx.h"

namespace octet {
namespace {

namespace pb = onnx;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Result<Graph> parse(const std::string& bytes) {
  return parse_onnx(Buffer::borrow(std::as_bytes(std::span<const char>(bytes))));
}

/// A model around a graph.
std::string model_of(const pb::Encoder& graph) {
  pb::Encoder out;
  out.integer(pb::model::kIrVersion, 10);
  out.message(pb::model::kGraph, graph);
  return out.str();
}

pb::Encoder node(std::string_view type, std::string_view in, std::string_view out) {
  pb::Encoder n;
  n.bytes(pb::node_proto::kInput, in);
  n.bytes(pb::node_proto::kOutput, out);
  n.bytes(pb::node_proto::kOpType, type);
  return n;
}

pb::Encoder info(std::string_view name) {
  pb::Encoder v;
  v.bytes(pb::value_info::kName, name);
  return v;
}

std::string error_of(const std::string& bytes) {
  const Result<Graph> graph = parse(bytes);
  return graph.ok() ? "no error" : graph.error().text();
}

TEST(Malformed, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(""), "is empty; expected an ONNX model");
  EXPECT_NE(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n")
                .find("git lfs pull"),
            std::string::npos);
  EXPECT_NE(error_of("# not a model").find("is text and no ONNX model"), std::string::npos);
  EXPECT_NE(error_of(std::string("\x08\x0a", 2)).find("has no graph"), std::string::npos);

  pb::Encoder unknown_input;
  unknown_input.message(pb::graph_proto::kNode, node("Relu", "x", "y"));
  EXPECT_EQ(error_of(model_of(unknown_input)),
            "graph: node[0] Relu \"\": input 0: nothing defines a value called \"x\"");

  pb::Encoder twice;
  twice.message(pb::graph_proto::kInput, info("x"));
  twice.message(pb::graph_proto::kNode, node("Relu", "x", "x"));
  EXPECT_EQ(error_of(model_of(twice)),
            "graph: node[0]: value \"x\" is defined twice; names must be "
            "unique in a graph");

  pb::Encoder cycle;
  cycle.message(pb::graph_proto::kNode, node("Relu", "a", "b"));
  cycle.message(pb::graph_proto::kNode, node("Relu", "b", "a"));
  EXPECT_NE(error_of(model_of(cycle)).find("cycle"), std::string::npos);

  pb::Encoder output;
  output.message(pb::graph_proto::kOutput, info("y"));
  EXPECT_EQ(error_of(model_of(output)), "graph: output[0]: nothing defines a value called \"y\"");
}

TEST(Malformed, TensorsMustHaveTheBytesOfTheirShape) {
  const auto with = [](const pb::Encoder& tensor) {
    pb::Encoder graph;
    graph.message(pb::graph_proto::kInitializer, tensor);
    return error_of(model_of(graph));
  };
  pb::Encoder tensor;
  tensor.integer(pb::tensor_proto::kDims, 3);
  tensor.integer(pb::tensor_proto::kDataType, 1);
  tensor.bytes(pb::tensor_proto::kName, "w");
  EXPECT_EQ(with(tensor),
            "graph: initializer[0]: tensor \"w\": f32[3] takes 12 bytes, raw_data has 0");
  pb::Encoder negative = tensor;
  negative.integer(pb::tensor_proto::kDims, -1);
  EXPECT_NE(with(negative).find("tensor \"w\""), std::string::npos);
  pb::Encoder huge = tensor;
  for (int i = 0; i < 4; ++i)
    huge.integer(pb::tensor_proto::kDims, int64_t{1} << 40);
  EXPECT_NE(with(huge).find("tensor \"w\""), std::string::npos);
  pb::Encoder kind;
  kind.integer(pb::tensor_proto::kDataType, 99);
  EXPECT_NE(with(kind).find("data_type 99"), std::string::npos);
  pb::Encoder external = tensor;
  external.integer(pb::tensor_proto::kDataLocation, 1);
  external.message(pb::tensor_proto::kExternalData, [] {
    pb::Encoder e;
    e.bytes(pb::entry::kKey, "location");
    e.bytes(pb::entry::kValue, "w.bin");
    return e;
  }());
  EXPECT_NE(with(external).find("without a folder"), std::string::npos);
}

TEST(Malformed, SubgraphsNestAtMost32Deep) {
  const auto nested = [](int depth) {
    pb::Encoder graph;
    graph.message(pb::graph_proto::kNode, node("Constant", "", "c"));
    for (int i = 0; i < depth; ++i) {
      pb::Encoder attribute;
      attribute.bytes(pb::attribute::kName, "then_branch");
      attribute.message(pb::attribute::kGraph, graph);
      attribute.integer(pb::attribute::kAttributeType, pb::attribute_type::kGraph);
      pb::Encoder branch = node("If", "", "c");
      branch.message(pb::node_proto::kAttribute, attribute);
      graph = {};
      graph.message(pb::graph_proto::kNode, branch);
    }
    return error_of(model_of(graph));
  };
  EXPECT_EQ(nested(32), "no error");
  EXPECT_NE(nested(33).find("deeper than 32"), std::string::npos);
  EXPECT_NE(nested(2000).find("deeper than 32"), std::string::npos);
}

TEST(Malformed, LengthsAreCheckedBeforeTheyAreNarrowed) {
  // A graph whose length is 2^32 + 2: as 32 bits it would fit.
  const std::string bytes("\x3a\x82\x80\x80\x80\x10\x0a\x00", 8);
  EXPECT_NE(error_of(bytes).find("a length of 4294967298 passes the end"), std::string::npos)
      << error_of(bytes);
}

TEST(Malformed, PrefixesAndDamagedCopiesOfRealModelsNeverCrash) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  std::mt19937 random(7);
  size_t refused = 0, opened = 0;
  const auto& cases = test::backend_cases();
  for (size_t i = 0; i < cases.size(); i += 3) {
    const std::string bytes = read_file(cases[i].model());
    if (bytes.size() > 100000) continue;
    for (int k = 0; k < 12; ++k) {
      std::string broken = bytes;
      if (k < 4) {
        broken.resize(random() % bytes.size());
      } else {
        for (int flips = 0; flips < k - 3; ++flips)
          broken[random() % broken.size()] ^= static_cast<char>(1u << random() % 8);
      }
      const Result<Graph> graph = parse(broken);
      ++(graph.ok() ? opened : refused);
      if (graph.ok())
        EXPECT_TRUE(serialize_onnx(*graph).ok()) << cases[i].name;
      else
        EXPECT_FALSE(graph.error().text().empty());
    }
  }
  EXPECT_GT(refused, opened / 4);
  EXPECT_GT(opened, 0u); // a flipped bit in a name or a number is still a model
}

} // namespace
} // namespace octet
