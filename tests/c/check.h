/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the tests of octet.h, and the handles that most of them need. */
#ifndef OCTET_TESTS_C_CHECK_H
#define OCTET_TESTS_C_CHECK_H

#include "octet.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the test when `condition` does not hold. */
#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* A call that succeeds; `error` is the variable that it is given. */
#define CHECK_OK(call)                                                                             \
  do {                                                                                             \
    octet_error* error = NULL;                                                                     \
    if ((call) != OCTET_OK || error != NULL) {                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, octet_error_text(error));                 \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* A call that fails with this code and text. */
#define CHECK_FAILS(call, expected, text)                                                          \
  do {                                                                                             \
    octet_error* error = NULL;                                                                     \
    const octet_code code = (call);                                                                \
    if (code != (expected) || octet_error_code(error) != (expected) ||                             \
        strstr(octet_error_text(error), (text)) == NULL) {                                         \
      fprintf(stderr, "%s:%d: %d \"%s\" instead of %d \"%s\"\n", __FILE__, __LINE__, (int)code,    \
              octet_error_text(error), (int)(expected), (text));                                   \
      exit(1);                                                                                     \
    }                                                                                              \
    octet_error_free(error);                                                                       \
  } while (0)

/* A session of a model in memory. */
static inline octet_session*
session_of(const void* bytes, size_t size, const octet_session_options* options) {
  octet_model* model = NULL;
  octet_session* session = NULL;
  CHECK_OK(octet_model_parse(bytes, size, &model, &error));
  CHECK_OK(octet_session_create(model, options, &session, &error));
  octet_model_free(model);
  return session;
}

static inline octet_context* context_of(const octet_session* session) {
  octet_context* context = NULL;
  CHECK_OK(octet_context_create(session, &context, &error));
  return context;
}

/* h and y of dense_model for a row of x, term by term. All numbers are small halves: exact. */
static inline void dense(const float* x, float* h, float* y) {
  static const float w[3][2] = {{1, -2}, {3, 4}, {-5, 6}};
  static const float b[2] = {0.5F, -1};
  for (int j = 0; j < 2; ++j) {
    h[j] = b[j];
    for (int i = 0; i < 3; ++i)
      h[j] += x[i] * w[i][j];
    y[j] = h[j] > 0 ? h[j] : 0;
  }
}

void test_hostile_arguments(void);
void test_steady_state(void);
void test_threads(void);

#endif
