// SPDX-License-Identifier: Apache-2.0
#include "report/reliability.h"

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include <fmt/format.h>

namespace octet {
namespace {

constexpr double kSquare = 280, kSquareLeft = 56, kSquareTop = 12, kSquareBelow = 48;

} // namespace

Reliability reliability(std::span<const int64_t> labels,
                        std::span<const int64_t> predictions,
                        std::span<const float> probabilities,
                        int64_t bins) {
  Reliability out;
  out.bins.resize(static_cast<size_t>(std::max<int64_t>(bins, 1)));
  if (labels.empty()) return out;
  const size_t classes = probabilities.size() / labels.size();
  int64_t all = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const double p = probabilities[i * classes + static_cast<size_t>(predictions[i])];
    if (std::isnan(p)) continue;
    const double place = std::floor(p * static_cast<double>(out.bins.size()));
    auto& bin = out.bins[static_cast<size_t>(
        std::clamp(place, 0.0, static_cast<double>(out.bins.size() - 1)))];
    ++bin.count;
    ++all;
    bin.confidence += p;
    bin.accuracy += predictions[i] == labels[i] ? 1 : 0;
  }
  for (ReliabilityBin& bin : out.bins) {
    if (bin.count == 0) continue;
    out.expected_error += std::abs(bin.accuracy - bin.confidence) / static_cast<double>(all);
    bin.confidence /= static_cast<double>(bin.count);
    bin.accuracy /= static_cast<double>(bin.count);
  }
  return out;
}

std::string svg_of(const Reliability& r, const std::string& title) {
  const auto x = [](double v) { return kSquareLeft + v * kSquare; };
  const auto y = [](double v) { return kSquareTop + (1 - v) * kSquare; };
  std::string out = fmt::format("<svg viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                                "style=\"max-width:{0:.0f}px\" role=\"img\" aria-label=\"{2}\">\n",
                                kSquareLeft + kSquare + 20, kSquareTop + kSquare + kSquareBelow,
                                html_escape(title));
  const double width = 1.0 / static_cast<double>(r.bins.size());
  for (size_t i = 0; i < r.bins.size(); ++i) {
    const ReliabilityBin& bin = r.bins[i];
    if (bin.count == 0) continue;
    const double left = x(width * static_cast<double>(i));
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
        "fill=\"#2f81f7\" fill-opacity=\".55\"><title>{} examples: {:.1f} % right, {:.1f} % "
        "expected</title></rect><circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" "
        "fill=\"#d29922\"/>\n",
        left + 1, y(bin.accuracy), kSquare * width - 2, bin.accuracy * kSquare, bin.count,
        100 * bin.accuracy, 100 * bin.confidence, x(bin.confidence), y(bin.accuracy));
  }
  out += fmt::format("<path d=\"M{0:.1f} {1:.1f}L{2:.1f} {3:.1f}\" stroke=\"#8b949e\" "
                     "stroke-dasharray=\"4 4\"/><path d=\"M{0:.1f} {3:.1f}V{1:.1f}H{2:.1f}\" "
                     "stroke=\"#8b949e\" fill=\"none\"/>\n",
                     x(0), y(0), x(1), y(1));
  for (const int at : {0, 50, 100})
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{} %</text><text x=\"{:.1f}\" "
        "y=\"{:.1f}\" text-anchor=\"end\">{} %</text>\n",
        x(at / 100.0), y(0) + 18, at, kSquareLeft - 6, y(at / 100.0) + 5, at);
  out += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">probability of the predicted "
      "class; right, upwards</text></svg>\n",
      x(0.5), y(0) + 38);
  return out;
}

} // namespace octet
