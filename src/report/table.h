// SPDX-License-Identifier: Apache-2.0
// Tables of text with aligned columns.
#pragma once

#include <string>
#include <vector>

namespace octet {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Columns two spaces apart; those whose cells are all numbers stand to the right.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

} // namespace octet
