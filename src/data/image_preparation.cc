// SPDX-License-Identifier: Apache-2.0
// How images are prepared, as options, as a model's metadata and as Hugging Face writes it.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/text_spec.h"
#include "graph/metadata.h"
#include <nlohmann/json.hpp>

#include "octet/images.h"

namespace octet {
namespace {

using PreparationJson = nlohmann::json;

constexpr const char* kImageMetadata = "octet.images";
constexpr int64_t kMaxImageSide = 8192;

template <class T>
struct Word {
  std::string_view text;
  T value;
};
constexpr Word<ImageCrop> kCrops[] = {{"none", ImageCrop::kNone}, {"center", ImageCrop::kCenter}};
constexpr Word<ImageFilter> kFilters[] = {{"bilinear", ImageFilter::kBilinear},
                                          {"bicubic", ImageFilter::kBicubic}};
constexpr Word<int64_t> kColors[] = {{"gray", 1}, {"grey", 1}, {"rgb", 3}};

template <class T, size_t N>
Status take_word(std::string_view key, const std::string& text, const Word<T> (&words)[N], T& to) {
  std::vector<std::string> known;
  for (const Word<T>& word : words) {
    if (word.text == text) {
      to = word.value;
      return ok_status();
    }
    known.emplace_back(word.text);
  }
  return error("{}={} of images is not known{}", key, text, suggestion(text, known));
}

template <class T, size_t N>
std::string word_of(const Word<T> (&words)[N], T value) {
  for (const Word<T>& word : words)
    if (word.value == value) return std::string(word.text);
  return {};
}

Status take_size(const std::string& text, ImagePreparation& to) {
  const std::vector<std::string_view> sides = split(text, 'x');
  to.width = whole_number(sides.front());
  to.height = whole_number(sides.back());
  if (sides.size() > 2 || to.width == 0 || to.height == 0)
    return error("size={} of images is no size; write size=28, or size=320x240 (width x height)",
                 text);
  return ok_status();
}

Status take_numbers(std::string_view key, const std::string& text, std::vector<double>& to) {
  to.clear();
  for (const std::string_view part : split(text, ',')) {
    const std::optional<double> number = decimal_number(part);
    if (!number)
      return error("{}={} of images is no number, or one for each channel; write {}=0.5", key, text,
                   key);
    to.push_back(*number);
  }
  return ok_status();
}

/// Ranges, whatever it was read from. One mean and one deviation serve all channels.
Result<ImagePreparation> checked(ImagePreparation p) {
  for (const int64_t side : {p.width, p.height, p.shorter_side})
    if (side < 0 || side > kMaxImageSide)
      return error("images of {} x {} (resize {}) are not possible; sides go up to {}", p.width,
                   p.height, p.shorter_side, kMaxImageSide);
  if (p.shorter_side > 0 && p.crop == ImageCrop::kNone)
    return error("resize={} of images is for crop=center; give both or neither", p.shorter_side);
  if (p.shorter_side > 0 && p.shorter_side < std::max(p.width, p.height))
    return error("resize={} of images is less than the size {}x{} that is cut out of it",
                 p.shorter_side, p.width, p.height);
  if (p.channels != 0 && p.channels != 1 && p.channels != 3)
    return error("images of {} channels are not possible; 1 is grey, 3 is RGB", p.channels);
  for (const auto& [key, values] : {std::pair("mean", &p.mean), std::pair("std", &p.std)}) {
    const auto count = static_cast<int64_t>(values->size());
    if (count > 1 && count != 3)
      return error("{} of images has {} numbers; give one, or one for each channel", key, count);
    for (const double v : *values)
      if (!std::isfinite(v) || std::abs(v) > 1e6 || (values == &p.std && v <= 0))
        return error("{}={} of images is out of range; pixels lie between 0 and 1", key, v);
  }
  return p;
}

std::vector<double> numbers(const PreparationJson& json, const char* key) {
  std::vector<double> out;
  const auto found = json.find(key);
  if (found == json.end()) return out;
  if (found->is_number()) return {found->get<double>()};
  if (found->is_array())
    for (const PreparationJson& item : *found)
      out.push_back(item.is_number() ? item.get<double>() : NAN);
  return out;
}

/// -1: it is there and no whole number.
int64_t whole(const PreparationJson& json, const char* key, int64_t otherwise) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return otherwise;
  return found->is_number_integer() &&
                 !(found->is_number_unsigned() && *found > uint64_t{INT64_MAX})
             ? found->get<int64_t>()
             : -1;
}

bool flag(const PreparationJson& json, const char* key, bool otherwise) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string word(const PreparationJson& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

struct SideLengths {
  int64_t width = 0, height = 0, shorter = 0;
};

/// `224`, `{"height": 224, "width": 224}`, or `{"shortest_edge": 256}`.
SideLengths side_lengths(const PreparationJson& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return {};
  if (!found->is_object()) {
    const int64_t side = whole(json, key, 0);
    return {side, side, side};
  }
  return {whole(*found, "width", 0), whole(*found, "height", 0), whole(*found, "shortest_edge", 0)};
}

} // namespace

Result<ImagePreparation> with_image_options(ImagePreparation from, std::string_view options) {
  if (options.empty()) return from;
  const TextSpec spec = OCTET_TRY(parse_text_spec(fmt::format("images?{}", options)));
  if (spec.options.empty())
    return error("\"{}\" are no options of images; write size=28&mean=0.5&std=0.5", options);
  static const std::vector<std::string> keys = {"size",  "crop", "resize", "filter",
                                                "color", "mean", "std"};
  OCTET_TRY(spec.allow(keys));
  for (const auto& [key, value] : spec.options) {
    if (key == "size") OCTET_TRY(take_size(value, from));
    if (key == "crop") OCTET_TRY(take_word(key, value, kCrops, from.crop));
    if (key == "filter") OCTET_TRY(take_word(key, value, kFilters, from.filter));
    if (key == "color") OCTET_TRY(take_word(key, value, kColors, from.channels));
    if (key == "mean") OCTET_TRY(take_numbers(key, value, from.mean));
    if (key == "std") OCTET_TRY(take_numbers(key, value, from.std));
    if (key == "resize" && (from.shorter_side = whole_number(value)) == 0)
      return error("resize={} of images is no length of the shorter side; write resize=256", value);
  }
  if (spec.find("crop") != nullptr && from.crop == ImageCrop::kNone) from.shorter_side = 0;
  return checked(std::move(from));
}

Result<std::optional<ImagePreparation>> image_preparation(const Graph& graph) {
  const std::string* text = find_metadata(graph.info.metadata, kImageMetadata);
  if (text == nullptr) return std::optional<ImagePreparation>();
  const auto read = [&]() -> Result<ImagePreparation> {
    const PreparationJson json = OCTET_TRY(parse_json(*text));
    if (!json.is_object()) return error("is no object");
    ImagePreparation out;
    out.width = whole(json, "width", 0);
    out.height = whole(json, "height", 0);
    out.shorter_side = whole(json, "resize", 0);
    out.channels = whole(json, "channels", 0);
    OCTET_TRY(take_word("crop", word(json, "crop"), kCrops, out.crop));
    OCTET_TRY(take_word("filter", word(json, "filter"), kFilters, out.filter));
    out.mean = numbers(json, "mean");
    out.std = numbers(json, "std");
    return checked(std::move(out));
  };
  return std::optional(OCTET_TRY_WITH(read(), std::string("metadata ") + kImageMetadata));
}

void set_image_preparation(Graph& graph, const ImagePreparation& p) {
  nlohmann::ordered_json json = {{"width", p.width},
                                 {"height", p.height},
                                 {"crop", word_of(kCrops, p.crop)},
                                 {"resize", p.shorter_side},
                                 {"filter", word_of(kFilters, p.filter)},
                                 {"channels", p.channels},
                                 {"mean", p.mean},
                                 {"std", p.std}};
  set_metadata(graph.info.metadata, kImageMetadata, json_text(json, -1));
}

Result<ImagePreparation> parse_preprocessor_config(std::string_view text) {
  constexpr int64_t kPillowBilinear = 2, kPillowBicubic = 3;
  const PreparationJson json = OCTET_TRY(parse_json(text));
  if (!json.is_object()) return error("is no object with size, image_mean and image_std");
  ImagePreparation out;
  out.channels = 3;
  const SideLengths size = side_lengths(json, "size"), crop = side_lengths(json, "crop_size");
  const bool crops = flag(json, "do_center_crop", false);
  out.width = crops ? crop.width : size.width;
  out.height = crops ? crop.height : size.height;
  if (crops && flag(json, "do_resize", true)) out.shorter_side = size.shorter;
  if (crops) out.crop = ImageCrop::kCenter;
  if (out.width <= 0 || out.height <= 0)
    return error("says no size that octet knows; give width and height");
  const int64_t filter = whole(json, "resample", kPillowBilinear);
  if (filter != kPillowBilinear && filter != kPillowBicubic)
    return error("resample is {}; octet has {} (bilinear) and {} (bicubic)", filter,
                 kPillowBilinear, kPillowBicubic);
  out.filter = filter == kPillowBicubic ? ImageFilter::kBicubic : ImageFilter::kBilinear;
  const bool normalizes = flag(json, "do_normalize", true);
  out.mean = normalizes ? numbers(json, "image_mean") : std::vector<double>{0.0};
  out.std = normalizes ? numbers(json, "image_std") : std::vector<double>{1.0};
  const std::vector<double> factor = numbers(json, "rescale_factor");
  const bool rescales = flag(json, "do_rescale", true);
  if (!rescales || (factor.size() == 1 && std::abs(factor[0] * 255 - 1) > 1e-3))
    return error("scales pixels by another number than 1 / 255, which octet does not do");
  return checked(std::move(out));
}

} // namespace octet
