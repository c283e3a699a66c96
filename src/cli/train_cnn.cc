// SPDX-License-Identifier: Apache-2.0
// octet train cnn: builds the small convolutional network and trains it in float.
#include <algorithm>

#include "cli/command.h"
#include "cli/data_check.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/outputs.h"
#include "cli/training.h"
#include "core/format.h"
#include "core/string_util.h"
#include <CLI/CLI.hpp>

#include "octet/images.h"
#include "octet/model_folder.h"
#include "octet/models.h"

namespace octet::cli {
namespace {

constexpr CountRange kWidths = {1, 65536};

class TrainCnn final : public Command {
 public:
  std::string_view name() const override { return "train cnn"; }
  std::string_view summary() const override {
    return "train a small convolutional network on images";
  }
  std::string_view example() const override {
    return "octet train cnn --data fashion-mnist:DIR --epochs 15 -o cnn.onnx";
  }

  void define(CLI::App& app) override {
    app.add_option("-o,--output", output_, "ONNX file to write, or FOLDER/")->required();
    CLI::Option* first =
        add_count_option(app, "--channels1", cnn_.channels1, "of the first convolution", kWidths)
            ->capture_default_str();
    CLI::Option* second =
        add_count_option(app, "--channels2", cnn_.channels2, "of the second", kWidths)
            ->capture_default_str();
    CLI::Option* hidden =
        add_count_option(app, "--hidden", cnn_.hidden, "width of the first linear layer", kWidths)
            ->capture_default_str();
    CLI::Option* drop =
        add_number_option(app, "--dropout", cnn_.dropout, "probability, 0: none", 0, 0.9)
            ->capture_default_str();
    CLI::Option* relu =
        app.add_flag("--hidden-relu", cnn_.hidden_relu, "a relu between the linear layers");
    add_list_option(
        app, "--depthwise", depthwise_,
        "widths of depthwise-separable blocks behind the first convolution, in place of "
        "the second and of the hidden layer: 32,64,64,128,128",
        ',');
    replaced_ = {second, hidden, relu};
    app.add_option("--layers", cnn_.layers,
                   "layers in place of the widths: \"conv 32 3, bn, relu, pool 2, linear 10\"; see "
                   "docs/training.md");
    CLI::Option* norm =
        app.add_flag("--batch-norm", cnn_.batch_norm, "batch normalization after each convolution");
    described_ = {first, second, hidden, relu, drop, norm, app.get_option("--depthwise")};
    app.add_flag("--logits", logits_, "the output is the logits: no softmax");
    flags_.define(app);
  }

  Result<Answer> run(const Common& common) override {
    OCTET_TRY(check_model_output(output_, writes_folder(output_, {}), {flags_.data}, common));
    OCTET_TRY(flags_.check(output_, common));
    OCTET_TRY(check_layers());
    OCTET_TRY(read_depthwise());
    cnn_.seed = common.seed;
    cnn_.softmax = !logits_;
    const TrainingData data = OCTET_TRY(open_parts());
    OCTET_TRY(fit(*data.examples));
    const Graph graph = OCTET_TRY_WITH(make_cnn(cnn_), flags_.data);
    OCTET_TRY(check_training_data(graph, *data.examples, data.test.get(), flags_.data));
    TrainOptions options = flags_.options();
    options.settings = {{"command", "train cnn"}, {"data set", flags_.data}};
    if (!cnn_.layers.empty()) options.settings.push_back({"layers", cnn_.layers});
    TrainedModel model = OCTET_TRY(flags_.train(graph, data, output_, common, options));
    if (const ImagePreparation* images = data.examples->images()) {
      set_image_preparation(model.graph, *images);
      set_class_names(model.graph, data.examples->classes());
    }
    return flags_.conclude(model, output_, options.settings, common, [&](const auto& record) {
      return write_model(model.graph, output_, common, {}, record);
    });
  }

 private:
  /// Test images are prepared as those that are trained on.
  Result<TrainingData> open_parts() const {
    std::shared_ptr<const Dataset> examples;
    return flags_.open_data([&](Split split, int64_t) -> Result<std::shared_ptr<const Dataset>> {
      if (split == Split::kTest && is_image_spec(flags_.data) && examples)
        return open_images(flags_.data, split, *examples->images());
      auto part = OCTET_TRY(open_dataset(flags_.data, split));
      if (split == Split::kTrain) examples = part;
      return part;
    });
  }

  /// The network takes images of the size that the data has, and tells as many classes apart.
  Status fit(const Dataset& data) {
    const auto& features = data.features();
    const auto named = std::find_if(features.begin(), features.end(),
                                    [](const auto& feature) { return feature.first == "x"; });
    const TypeInfo& type = (named == features.end() ? features.front() : *named).second;
    const int64_t rank = type.rank();
    if (rank != 3 && rank != 4)
      return error("{}: holds {}, no images [N, channels, height, width] or [N, height, width]",
                   flags_.data, type.text());
    const auto side = [&](int64_t axis) {
      return (*type.shape)[static_cast<size_t>(axis)].maybe_value().value_or(0);
    };
    if (side(rank - 1) != side(rank - 2))
      return error("{}: the images are {} x {}, and the network takes square ones; of image files "
                   "?size=64 or ?size=64&crop=center makes some",
                   flags_.data, side(rank - 1), side(rank - 2));
    if (data.classes().empty())
      return error(
          "{}: has no labels to learn; {}", flags_.data,
          is_image_spec(flags_.data)
              ? "put each image into the folder of its class, or name them in labels=FILE.csv"
              : "name their array y");
    cnn_.image_channels = rank == 4 ? side(1) : 1;
    cnn_.image_size = side(rank - 1);
    cnn_.classes = std::max<int64_t>(std::ssize(data.classes()), 2);
    return ok_status();
  }

  Status check_layers() const {
    if (cnn_.layers.empty()) return ok_status();
    for (const CLI::Option* option : described_)
      if (option->count() > 0)
        return error("{} is of what --layers describes; leave one of them out", option->get_name());
    return ok_status();
  }

  Status read_depthwise() {
    if (depthwise_.empty()) return ok_status();
    for (const CLI::Option* option : replaced_)
      if (option->count() > 0)
        return error("{} is of what --depthwise replaces; leave one of them out",
                     option->get_name());
    for (const std::string& width : depthwise_) {
      cnn_.depthwise.push_back(whole_number(width));
      const int64_t read = cnn_.depthwise.back();
      if (read < kWidths.least || read > kWidths.most)
        return error("--depthwise: \"{}\" is no width; widths from {} to {} by commas", width,
                     kWidths.least, kWidths.most);
    }
    return ok_status();
  }

  std::string output_;
  CnnOptions cnn_;
  std::vector<std::string> depthwise_;
  std::vector<const CLI::Option*> replaced_;  ///< what goes with no --depthwise
  std::vector<const CLI::Option*> described_; ///< nor with --layers
  bool logits_ = false;
  TrainFlags flags_{{.epochs = 15, .lr = 0.01}};
};

} // namespace

Command& train_cnn_command() {
  static TrainCnn command;
  return command;
}

} // namespace octet::cli
