// SPDX-License-Identifier: Apache-2.0
// The generated data set: ten figures drawn as strokes, turned, stretched, moved and roughened,
// with a stray stroke, uneven light and noise. Everything is drawn from Philox with additions,
// products, divisions and square roots alone, so that the pixels are the same on every machine.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/philox.h"
#include "data/images.h"

namespace octet {
namespace {

constexpr size_t kSide = 28;
using Canvas = std::array<double, kSide * kSide>;
constexpr int64_t kTrainImages = 12000;
constexpr int64_t kTestImages = 2000;
constexpr uint64_t kImageSeed = 20240607;
constexpr double kMean = 0.1900;
constexpr double kStd = 0.2158;

struct Point {
  double x = 0;
  double y = 0;
};
/// A figure: polylines in [-1, 1] x [-1, 1].
using Polylines = std::vector<std::vector<Point>>;

/// Rotates by 2 atan(t), without sines.
Point turned(Point p, double t) {
  const double cosine = (1 - t * t) / (1 + t * t);
  const double sine = 2 * t / (1 + t * t);
  return {p.x * cosine - p.y * sine, p.x * sine + p.y * cosine};
}

/// `corners` points on the unit circle from (1, 0) on, `step` (the tangent of half the angle
/// between neighbours) apart.
std::vector<Point> around(int corners, double step) {
  std::vector<Point> out = {{1, 0}};
  for (int i = 1; i < corners; ++i)
    out.push_back(turned(out.back(), step));
  return out;
}

std::vector<Point> closed(std::vector<Point> line) {
  line.push_back(line.front());
  return line;
}

// Tangents of half of 360 degrees / n.
constexpr double kTan3 = 1.7320508075688772;
constexpr double kTan5 = 0.72654252800536090;
constexpr double kTan16 = 0.19891236737965801;

struct Figure {
  const char* name;
  Polylines lines;
};

const std::array<Figure, 10>& figures() {
  static const std::array<Figure, 10> table = [] {
    const std::vector<Point> spokes = around(3, kTan3);
    return std::array<Figure, 10>{{
        {"corner", {{{-0.8, 0.8}, {-0.8, -0.8}, {0.8, -0.8}}}},
        {"zigzag", {{{-0.8, 0.8}, {0.8, 0.8}, {-0.8, -0.8}, {0.8, -0.8}}}},
        {"triangle", {closed(around(3, kTan3))}},
        {"square", {closed(around(4, 1))}},
        {"pentagon", {closed(around(5, kTan5))}},
        {"ring", {closed(around(16, kTan16))}},
        {"arc", {around(11, kTan16)}},
        {"cross", {{{-0.9, 0}, {0.9, 0}}, {{0, -0.9}, {0, 0.9}}}},
        {"fork", {{spokes[0], {0, 0}, spokes[1]}, {{0, 0}, spokes[2]}}},
        {"bars", {{{-0.5, -0.8}, {-0.5, 0.8}}, {{0.5, -0.8}, {0.5, 0.8}}}},
    }};
  }();
  return table;
}

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length = dx * dx + dy * dy;
  double t = length > 0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0;
  t = std::clamp(t, 0.0, 1.0);
  const double ex = p.x - (a.x + t * dx);
  const double ey = p.y - (a.y + t * dy);
  return std::sqrt(ex * ex + ey * ey);
}

size_t pixel_index(double at) {
  return static_cast<size_t>(std::clamp(at, 0.0, kSide - 1.0));
}

/// Ink in [0, 1] laid over the canvas along a line of some width, with soft edges.
void draw(Canvas& canvas, const std::vector<Point>& line, double half_width, double strength) {
  const double reach = half_width + 0.5;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const Point a = line[i];
    const Point b = line[i + 1];
    const size_t right = pixel_index(std::max(a.x, b.x) + reach);
    const size_t bottom = pixel_index(std::max(a.y, b.y) + reach);
    for (size_t y = pixel_index(std::min(a.y, b.y) - reach); y <= bottom; ++y) {
      for (size_t x = pixel_index(std::min(a.x, b.x) - reach); x <= right; ++x) {
        const Point p = {static_cast<double>(x), static_cast<double>(y)};
        const double ink = strength * std::clamp(reach - distance(p, a, b), 0.0, 1.0);
        double& pixel = canvas[y * kSide + x];
        pixel = std::max(pixel, ink);
      }
    }
  }
}

/// The placement of a figure: a linear map and a shift, with every point shaken a little.
std::vector<Point>
placed(const std::vector<Point>& line, const std::array<double, 6>& map, Philox& random) {
  std::vector<Point> out;
  constexpr double kShake = 0.5;
  for (const Point p : line) {
    const Point moved = {map[0] * p.x + map[1] * p.y + map[2],
                         map[3] * p.x + map[4] * p.y + map[5]};
    out.push_back(
        {moved.x + random.uniform(-kShake, kShake), moved.y + random.uniform(-kShake, kShake)});
  }
  return out;
}

std::array<double, 6> random_map(Philox& random) {
  const double turn = random.uniform(-0.2, 0.2); // up to 23 degrees either way
  const double size = random.uniform(7.0, 10.0);
  const double stretch = random.uniform(0.75, 1.33);
  const double shear = random.uniform(-0.25, 0.25);
  const Point right = turned({size * stretch, 0}, turn);
  const Point up = turned({size * shear, size / stretch}, turn);
  const double room = 0.7 * (13.5 - 0.85 * size);
  return {right.x, up.x, 13.5 + random.uniform(-room, room),
          right.y, up.y, 13.5 + random.uniform(-room, room)};
}

void draw_image(const Figure& figure, Philox& random, uint8_t* pixels) {
  Canvas canvas{};
  const std::array<double, 6> map = random_map(random);
  const double half_width = random.uniform(0.5, 1.5);
  const double strength = random.uniform(0.45, 1.0);
  for (const std::vector<Point>& line : figure.lines)
    draw(canvas, placed(line, map, random), half_width, strength);
  const int strays = static_cast<int>(random.below(2));
  for (int i = 0; i < strays; ++i) {
    const Point from = {random.uniform(0, kSide), random.uniform(0, kSide)};
    const Point to = {from.x + random.uniform(-9, 9), from.y + random.uniform(-9, 9)};
    const double width = random.uniform(0.3, 1.2);
    draw(canvas, {from, to}, width, random.uniform(0.3, 0.9));
  }
  const double light = random.uniform(0.02, 0.2);
  const double slope_x = random.uniform(-0.1, 0.1) / kSide;
  const double slope_y = random.uniform(-0.1, 0.1) / kSide;
  const double noise = random.uniform(0.05, 0.25);
  for (size_t i = 0; i < canvas.size(); ++i) {
    const auto column = static_cast<double>(i % kSide);
    const size_t row = i / kSide;
    const double shade =
        slope_x * (column - kSide / 2.0) + slope_y * (static_cast<double>(row) - kSide / 2.0);
    const double grain = noise * (random.uniform() + random.uniform() - 1);
    const double value = canvas[i] + light + shade + grain;
    pixels[i] = static_cast<uint8_t>(std::floor(std::clamp(value, 0.0, 1.0) * 255 + 0.5));
  }
}

} // namespace

Result<std::shared_ptr<const Dataset>> open_generated(Split split) {
  const bool train = split == Split::kTrain;
  const int64_t count = train ? kTrainImages : kTestImages;
  ImageSet set;
  set.description =
      train ? "generated figures, 12000 training images" : "generated figures, 2000 test images";
  set.mean = kMean;
  set.std = kStd;
  set.pixels = OCTET_TRY(Tensor::zeros(DType::kUint8, {count, int64_t{kSide}, int64_t{kSide}}));
  set.labels = OCTET_TRY(Tensor::zeros(DType::kUint8, {count}));
  for (const Figure& figure : figures())
    set.classes.emplace_back(figure.name);
  const auto pixels = set.pixels.mutable_data<uint8_t>();
  const auto labels = set.labels.mutable_data<uint8_t>();
  for (int64_t i = 0; i < count; ++i) {
    Philox random(kImageSeed, static_cast<uint64_t>(train ? i : kTrainImages + i));
    const auto label = static_cast<size_t>(random.below(10));
    labels[static_cast<size_t>(i)] = static_cast<uint8_t>(label);
    draw_image(figures()[label], random, &pixels[static_cast<size_t>(i) * kSide * kSide]);
  }
  return make_image_dataset(std::move(set));
}

} // namespace octet
