/* SPDX-License-Identifier: Apache-2.0 */
/* A run like the one before allocates nothing: every way to get memory is counted, in all threads.
 * Sanitizers have entries of their own, and are left alone. */
#include "check.h"
#include "models.h"
#include <stdatomic.h>

static _Atomic long allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
/* The C library's own entries; operator new ends in malloc too. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
/* NOLINTEND(bugprone-reserved-identifier) */

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out == NULL ? 12 : 0; /* ENOMEM */
}
#endif

void test_steady_state(void) {
  octet_session* session = session_of(dense_model, sizeof dense_model, NULL);
  octet_context* context = context_of(session);
  static float x[2][3000];
  float y[2000];
  const int64_t shapes[2][2] = {{1000, 3}, {7, 3}};
  for (int which = 0; which < 2;
       ++which) { /* at an address that is read in place, and at another */
    const octet_input input = {OCTET_FLOAT32, 2, shapes[which], x[which] + which,
                               sizeof(float) * (size_t)(3 * shapes[which][0])};
    octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0}, {y, sizeof y, 0, 0, NULL, NULL, 0}};
    long before = 0;
    for (int run = 0; run < 6; ++run) {
      if (run == 3) before = allocations;
      CHECK(octet_run(context, &input, 1, outputs, 2, NULL) == OCTET_OK);
    }
    CHECK(allocations == before);
  }
  octet_context_free(context);
  octet_session_free(session);
#ifndef SANITIZED
  CHECK(allocations > 0); /* the count is one */
#endif
}
