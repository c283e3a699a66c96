// SPDX-License-Identifier: Apache-2.0
// What is looked at in a data set before long work over it begins: that it fits the model, that its
// labels are the model's classes, that no example is unreadable.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "octet/dataset.h"
#include "octet/graph.h"

namespace octet::cli {

/// How often each label occurs among the first `limit` examples (0: all); nothing without labels.
Result<std::map<int64_t, int64_t>> count_labels(const Dataset& data, int64_t limit);

/// Errors: examples that do not fit the graph's inputs, an example that cannot be used, a label
/// that the graph's first output has no class for, an array that looks like a misspelt one. Arrays
/// that nothing takes, or an input by their place alone, are told on stderr. `spec` is what the
/// user called the data set.
Status check_data(const Graph& graph, const Dataset& data, const std::string& spec, int64_t limit);

/// The same for both parts. Training labels that are all of one class, or nearly, are told on stderr.
/// Errors also: test data without labels, or with labels that the training
/// data, when all of it is used, never show.
Status check_training_data(const Graph& graph,
                           const Dataset& examples,
                           const Dataset* test,
                           const std::string& spec);

} // namespace octet::cli
