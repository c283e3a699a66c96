// SPDX-License-Identifier: Apache-2.0
// Preloaded by without_avx512.py: answers the cpuid instructions that it replaced by ud2, with what
// stands for AVX-512, AVX-VNNI, AVX10 and AMX taken out, or with AMX alone where OCTET_ISA is avx512vnni.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static struct sigaction before;
static bool amx_alone;

static void answer(int number, siginfo_t* info, void* context) {
  greg_t* of = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* at = (const unsigned char*)of[REG_RIP];
  if (at[0] != 0x0f || at[1] != 0x0b) {
    sigaction(number, &before, NULL);
    return;
  }
  const unsigned leaf = (unsigned)of[REG_RAX], sub = (unsigned)of[REG_RCX];
  unsigned eax, ebx, ecx, edx;
  __cpuid_count(leaf, sub, eax, ebx, ecx, edx);
  if (amx_alone) {
    if (leaf == 7 && sub == 0) edx &= ~(1u << 22 | 1u << 24 | 1u << 25); // AMX-BF16, -TILE, -INT8
    if (leaf == 7 && sub == 1) eax &= ~(1u << 21);                       // AMX-FP16
  } else if (leaf == 7 && sub == 0) {
    // F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ; 4VNNIW, 4FMAPS,
    // VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8 (Intel SDM, volume 2, CPUID)
    ebx &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31);
    ecx &= ~(1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14);
    edx &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);
  } else if (leaf == 7 && sub == 1) {
    eax &= ~(1u << 4 | 1u << 5 | 1u << 21);            // AVX-VNNI, AVX512-BF16, AMX-FP16
    edx &= ~(1u << 4 | 1u << 5 | 1u << 10 | 1u << 19); // AVX-VNNI-INT8, NE-CONVERT, INT16, AVX10
  }
  of[REG_RAX] = eax;
  of[REG_RBX] = ebx;
  of[REG_RCX] = ecx;
  of[REG_RDX] = edx;
  of[REG_RIP] += 2;
}

__attribute__((constructor)) static void install(void) {
  const char* isa = getenv("OCTET_ISA");
  amx_alone = isa != NULL && strcmp(isa, "avx512vnni") == 0;
  struct sigaction ours;
  memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = answer;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &ours, &before);
}
