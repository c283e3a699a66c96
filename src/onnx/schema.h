// SPDX-License-Identifier: Apache-2.0
// Field numbers of the ONNX messages, one namespace a message. Source: onnx.proto (IR version 14).
#pragma once

#include <cstdint>

namespace octet::onnx {

namespace model {
enum : uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kDomain = 4,
  kModelVersion = 5,
  kDocString = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadataProps = 14,
  kFunctions = 25,
};
}
namespace opset_id {
enum : uint32_t { kDomain = 1, kVersion = 2 };
}
namespace entry { // StringStringEntryProto
enum : uint32_t { kKey = 1, kValue = 2 };
}
namespace graph_proto {
enum : uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kDocString = 10,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kQuantizationAnnotation = 14,
  kSparseInitializer = 15,
  kMetadataProps = 16,
};
}
namespace annotation { // TensorAnnotation
enum : uint32_t { kTensorName = 1, kParameters = 2 };
}
namespace node_proto {
enum : uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDocString = 6,
  kDomain = 7,
  kOverload = 8,
  kMetadataProps = 9,
};
}
namespace attribute {
enum : uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kDocString = 13,
  kType = 14,
  kTypes = 15,
  kAttributeType = 20,
  kReference = 21,
  kSparse = 22,
  kSparses = 23,
};
}
/// AttributeProto.AttributeType.
namespace attribute_type {
enum : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparse = 11,
  kSparses = 12,
  kType = 13,
  kTypes = 14,
};
}
namespace value_info {
enum : uint32_t { kName = 1, kType = 2, kDocString = 3, kMetadataProps = 4 };
}
namespace tensor_proto {
enum : uint32_t {
  kDims = 1,
  kDataType = 2,
  kSegment = 3,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDocString = 12,
  kExternalData = 13,
  kDataLocation = 14,
  kMetadataProps = 16,
};
}
namespace sparse_tensor {
enum : uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
}
namespace type_proto {
enum : uint32_t { kTensor = 1, kDenotation = 6 };
}
namespace tensor_type_proto {
enum : uint32_t { kElement = 1, kShape = 2 };
}
namespace shape_proto {
enum : uint32_t { kDim = 1 };
}
namespace dimension {
enum : uint32_t { kValue = 1, kParameter = 2 };
}
namespace function {
enum : uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kAttribute = 6,
  kNode = 7,
  kDocString = 8,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeDefault = 11,
  kValueInfo = 12,
  kOverload = 13,
};
}

} // namespace octet::onnx
