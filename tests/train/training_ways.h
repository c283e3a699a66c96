// SPDX-License-Identifier: Apache-2.0
// The ways of training that a device must be able to do: each with a small graph and its data.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "octet/dataset.h"
#include "octet/train.h"

namespace octet::test {

struct TrainingWay {
  std::string name;
  std::function<Graph()> graph;
  std::function<void(TrainOptions&)> set;
  std::function<std::unique_ptr<Dataset>()> data;
};
std::ostream& operator<<(std::ostream& out, const TrainingWay& way);

const std::vector<TrainingWay>& training_ways();

} // namespace octet::test
