// SPDX-License-Identifier: Apache-2.0
// MXCSR on x86-64, FPCR on AArch64; the two hold the rounding mode and the flush bits.
#include "core/fp_env.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet {
namespace {

#if defined(__x86_64__)
// Bits 13-14: rounding (0 = nearest); bit 15: flush to zero; bit 6: denormals are zero;
// bits 7-12: exception masks.
constexpr uint32_t kControl = 0xE040;
constexpr uint32_t kDefault = 0x1F80;

uint64_t read_control() {
  return _mm_getcsr();
}
void write_control(uint64_t value) {
  _mm_setcsr(static_cast<uint32_t>(value));
}
bool control_is_default(uint64_t value) {
  return (value & kControl) == 0;
}
#elif defined(__aarch64__)
// Bits 22-23: rounding; bit 24: flush to zero; bit 19: flush half-precision.
constexpr uint64_t kControl = (3ULL << 22) | (1ULL << 24) | (1ULL << 19);
constexpr uint64_t kDefault = 0;

uint64_t read_control() {
  uint64_t value = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void write_control(uint64_t value) {
  __asm__ volatile("msr fpcr, %0" : : "r"(value));
}
bool control_is_default(uint64_t value) {
  return (value & kControl) == 0;
}
#endif

} // namespace

FpEnvGuard::FpEnvGuard() noexcept : saved_(read_control()) {
  write_control(kDefault);
}

FpEnvGuard::~FpEnvGuard() {
  write_control(saved_);
}

bool fp_env_is_default() noexcept {
  return control_is_default(read_control());
}

} // namespace octet
