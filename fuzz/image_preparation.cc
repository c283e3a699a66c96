// SPDX-License-Identifier: Apache-2.0
// How images are prepared: options, metadata and preprocessor_config.json of any kind.
#include <cstdlib>

#include "replay/seeds.h"

#include "octet/images.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {"size=28x20&crop=center&resize=32&color=gray&mean=0.1,0.2,0.3&std=1&filter=bicubic",
          R"({"width":28,"height":28,"crop":"none","resize":0,"filter":"bilinear","channels":1,)"
          R"("mean":[0.5],"std":[0.5]})",
          R"({"do_center_crop":true,"crop_size":{"height":224,"width":224},"size":{)"
          R"("shortest_edge":256},"resample":3,"image_mean":[0.4,0.5,0.6],"image_std":[1,1,1]})"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(octet::with_image_options({}, text));
  static_cast<void>(octet::parse_preprocessor_config(text));
  octet::Graph graph;
  graph.info.metadata.emplace_back("octet.images", text);
  const auto read = octet::image_preparation(graph);
  if (!read.ok() || !*read) return 0;
  octet::Graph again;
  octet::set_image_preparation(again, **read);
  const auto back = octet::image_preparation(again);
  if (!back.ok() || *back != *read) std::abort();
  return 0;
}
