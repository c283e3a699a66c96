// SPDX-License-Identifier: Apache-2.0
// How images are prepared, as options, metadata and Hugging Face's file; EXIF of both byte orders.
// Pixels are compared with Pillow's in tests/cli/images.py.
#include "data/folder.h"
#include "data/pixels.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/images.h"

namespace octet {
namespace {

using test::contains;

std::span<const std::byte> tiff_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(ImagePreparation, OptionsAreRead) {
  const auto p = with_image_options(
      {}, "size=320x240&crop=center&resize=400&filter=bicubic&color=gray&mean=0.25&std=2");
  ASSERT_TRUE(p.ok()) << p.error().text();
  EXPECT_EQ(p->width, 320);
  EXPECT_EQ(p->height, 240);
  EXPECT_EQ(p->crop, ImageCrop::kCenter);
  EXPECT_EQ(p->shorter_side, 400);
  EXPECT_EQ(p->filter, ImageFilter::kBicubic);
  EXPECT_EQ(p->channels, 1);
  EXPECT_EQ(p->mean, std::vector<double>{0.25});
  EXPECT_EQ(p->std, std::vector<double>{2.0});
  // Options change what was known and leave the rest.
  const auto stretched = with_image_options(*p, "crop=none&color=rgb");
  ASSERT_TRUE(stretched.ok());
  EXPECT_EQ(stretched->shorter_side, 0);
  EXPECT_EQ(stretched->channels, 3);
  EXPECT_EQ(stretched->width, 320);
}

TEST(ImagePreparation, SurvivesMetadata) {
  auto p = *with_image_options({}, "size=28&mean=0.1,0.2,0.3&std=1&color=rgb");
  Graph graph;
  set_image_preparation(graph, ImagePreparation{});
  set_image_preparation(graph, p); // in place of the one before
  EXPECT_EQ(graph.info.metadata.size(), 1U);
  const auto back = image_preparation(graph);
  ASSERT_TRUE(back.ok() && back->has_value());
  EXPECT_EQ(**back, p);
  EXPECT_FALSE(image_preparation(Graph())->has_value());
}

TEST(ImagePreparation, DamagedMetadataIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"crop":"none","filter":"bilinear","width":-3})",
                           R"({"crop":"none","filter":"bilinear","std":[0]})",
                           R"({"crop":"none","filter":"bilinear","mean":["a"]})"}) {
    Graph graph;
    graph.info.metadata.emplace_back("octet.images", text);
    const auto read = image_preparation(graph);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_TRUE(contains(read.error().text(), "octet.images")) << read.error().text();
  }
}

TEST(ImagePreparation, HuggingFacesFile) {
  const auto square = parse_preprocessor_config(
      R"({"size": 224, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})");
  ASSERT_TRUE(square.ok()) << square.error().text();
  EXPECT_EQ(square->width, 224);
  EXPECT_EQ(square->crop, ImageCrop::kNone);
  const auto other = parse_preprocessor_config(R"({"size": 224, "resample": 1})");
  ASSERT_FALSE(other.ok());
  EXPECT_TRUE(contains(other.error().text(), "resample is 1"));
  EXPECT_FALSE(parse_preprocessor_config(R"({"size": 8, "rescale_factor": 1})").ok());
  EXPECT_FALSE(parse_preprocessor_config("[]").ok());
}

TEST(Exif, OrientationInBothByteOrders) {
  const std::string little("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22);
  const std::string big("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0", 22);
  EXPECT_EQ(exif_orientation(tiff_bytes(little)), 6);
  EXPECT_EQ(exif_orientation(tiff_bytes(big)), 8);
  for (size_t n = 0; n < little.size() - 3; ++n)
    EXPECT_EQ(exif_orientation(tiff_bytes(little).first(n)), 1) << n;
  std::string far = little;
  far.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(exif_orientation(tiff_bytes(far)), 1);
  std::string wild = little;
  wild[18] = 9;
  EXPECT_EQ(exif_orientation(tiff_bytes(wild)), 1);
}

TEST(BindInputs, ImagesWithoutChannels) {
  const auto graph = parse_graph(R"(graph g opset(""=17)
input x: f32[N, 1, 2, 3]
y = Relu(x)
output y: f32[N, 1, 2, 3]
)");
  ASSERT_TRUE(graph.ok());
  const std::vector<uint8_t> pixels = {0, 1, 2, 3, 4, 255, 6, 7, 8, 9, 10, 11};
  Batch batch;
  batch.inputs.emplace_back("x", Tensor::of<uint8_t>(Shape{2, 2, 3}, std::span(pixels)));
  const auto bound = bind_inputs(*graph, batch);
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  EXPECT_EQ(bound->front().shape(), (Shape{2, 1, 2, 3}));
  EXPECT_EQ(bound->front().at(5), 255);
  batch.inputs[0].second = Tensor::of<uint8_t>(Shape{2, 3, 2}, std::span(pixels));
  const auto turned_sides = bind_inputs(*graph, batch);
  ASSERT_FALSE(turned_sides.ok());
  EXPECT_TRUE(contains(turned_sides.error().text(), "dimension 2 is 3, the model wants 2"))
      << turned_sides.error().text();
}

} // namespace
} // namespace octet
