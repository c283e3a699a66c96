// SPDX-License-Identifier: Apache-2.0
// Runs one operator's reference on tensors, outside of any graph.
#pragma once

#include <limits>

#include "ops/op.h"
#include <gtest/gtest.h>

namespace octet::test {

inline constexpr const char* kNative = "octet.native"; ///< domain of the lowered operators
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The outputs of a node with these attributes; a failed expectation on an error.
inline Result<std::vector<Tensor>> run_op(const std::string& domain,
                                          const std::string& type,
                                          Attributes attributes,
                                          std::vector<Tensor> inputs,
                                          int64_t version) {
  const OpDef* op = find_op(domain, type);
  if (op == nullptr) return Error("no operator " + type);
  Node node;
  node.domain = domain;
  node.op_type = type;
  node.attributes = std::move(attributes);
  return op->eval.fn(
      {.node = node, .version = version, .inputs = std::move(inputs), .run_body = {}});
}

inline Tensor first(Result<std::vector<Tensor>> outputs) {
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().text());
  return outputs.ok() && !outputs->empty() ? outputs->at(0) : Tensor();
}

template <class T>
Attribute attribute(T value) {
  Attribute a;
  a.value = std::move(value);
  return a;
}

} // namespace octet::test
