// SPDX-License-Identifier: Apache-2.0
// What kernels pack, written to and read from the weight store. Every form is listed field by field
// in pack_forms.cc and nowhere else; a field more in its struct does not compile until it has its
// place there.
#pragma once

#include <vector>

#include "runtime/kernels/fconv.h"
#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm.h"
#include "runtime/kernels/sgemm.h"
#include "runtime/kernels/stored_codes.h"
#include "runtime/kernels/transposed_conv.h"
#include "runtime/pack_archive.h"

namespace octet::runtime {

/// Raised with every change of what a packer makes of the same weights: packs of other versions are
/// not read.
constexpr uint32_t kPackersVersion = 7;

/// What a packer is told beside weights and instruction set, and what its pack must then fit.
struct ProductForm {
  int64_t n = 0, k = 0;
  kernels::XRange x = {}; ///< of products of codes
};
struct WindowForm {
  kernels::ConvShape shape; ///< batch, sizes of images and pads may differ when it runs
  kernels::XRange x = {};   ///< of convolutions of codes
};
struct CodesForm {
  int64_t n = 0, k = 0;
  DType type = DType::kInt8;
};
/// All of it, for keys.
std::vector<int64_t> numbers_of(const ProductForm& form);
std::vector<int64_t> numbers_of(const WindowForm& form);
std::vector<int64_t> numbers_of(const CodesForm& form);

void write_pack(PackWriter& to, const kernels::PackedWeights& pack);
void write_pack(PackWriter& to, const kernels::PackedConv& pack);
void write_pack(PackWriter& to, const kernels::PackedFloat& pack);
void write_pack(PackWriter& to, const kernels::PackedCodes& pack);
void write_pack(PackWriter& to, const kernels::PackedFloatConv& pack);
void write_pack(PackWriter& to, const kernels::PackedTransposedConv& pack);

/// What was packed of `form` for `isa`. Whatever the bytes are: either `from` has failed, or kernels
/// read nothing but the pack and operands that fit the form.
void read_pack(PackReader& from, kernels::PackedWeights& pack, const ProductForm& form, Isa isa);
void read_pack(PackReader& from, kernels::PackedConv& pack, const WindowForm& form, Isa isa);
void read_pack(PackReader& from, kernels::PackedFloat& pack, const ProductForm& form, Isa isa);
void read_pack(PackReader& from, kernels::PackedCodes& pack, const CodesForm& form, Isa isa);
void read_pack(PackReader& from, kernels::PackedFloatConv& pack, const WindowForm& form, Isa isa);
void read_pack(PackReader& from,
               kernels::PackedTransposedConv& pack,
               const WindowForm& form,
               Isa isa);

} // namespace octet::runtime
