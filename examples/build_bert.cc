// SPDX-License-Identifier: Apache-2.0
// BERT from C++: build one, put its encoder into 8 bits, write a model folder, read it back and run
// it on two rows of tokens, the second one with padding.
#include <cstdio>

#include "octet/bert.h"
#include "octet/model_folder.h"
#include "octet/onnx.h"
#include "octet/quantize.h"
#include "octet/session.h"

namespace {

octet::Result<octet::Tensor> logits_of_a_small_bert() {
  octet::BertOptions options = OCTET_TRY(octet::bert_size("tiny"));
  options.vocabulary = 1000;
  options.head = octet::BertHead::kClassification;
  options.labels = {"negative", "positive"};
  const octet::Graph bert = OCTET_TRY(octet::make_bert(options));

  octet::QuantizeOptions quantization;
  quantization.mode = octet::QuantMode::kDynamic;
  quantization.include = {"encoder.*"};
  const octet::QuantizationPlan plan =
      OCTET_TRY(octet::plan_quantization(bert, octet::CalibrationSource{}, quantization));

  const octet::Graph int8 = OCTET_TRY(octet::quantize(bert, plan));

  octet::ModelFolderWriter folder = OCTET_TRY(octet::ModelFolderWriter::create("bert-int8", true));
  OCTET_TRY(folder.add_model(int8));
  OCTET_TRY(folder.commit());

  const std::string file = OCTET_TRY(octet::resolve_model("bert-int8"));
  const octet::Graph model = OCTET_TRY(octet::load_onnx(file));
  octet::Session session = OCTET_TRY(octet::Session::create(model));
  const std::vector<octet::Tensor> inputs = {
      octet::Tensor::of<int64_t>({2, 4}, {101, 7, 8, 102, 101, 102, 0, 0}), // input_ids
      octet::Tensor::of<int64_t>({2, 4}, {1, 1, 1, 1, 1, 1, 0, 0}),         // attention_mask
      octet::Tensor::zeros(octet::DType::kInt64, {2, 4}).value()};          // token_type_ids
  return OCTET_TRY(session.run(inputs)).front();
}

} // namespace

int main() {
  const octet::Result<octet::Tensor> logits = logits_of_a_small_bert();
  if (!logits.ok()) {
    std::fprintf(stderr, "%s\n", logits.error().text().c_str());
    return 1;
  }
  for (int64_t row = 0; row < logits->dim(0); ++row)
    std::printf("%8.4f %8.4f\n", logits->at(2 * row), logits->at(2 * row + 1));
  return logits->shape() == octet::Shape{2, 2} ? 0 : 1;
}
