/* SPDX-License-Identifier: Apache-2.0 */
/* One session in eight threads, a context each; and one context in two threads, which is an error. */
#include "check.h"
#include "models.h"
#include <pthread.h>

enum { THREADS = 8, RUNS = 50 };

struct caller {
  pthread_t thread;
  const octet_session* session;
  int number;
};

static void* call(void* argument) {
  const struct caller* caller = argument;
  octet_context* context = context_of(caller->session);
  for (int run = 0; run < RUNS; ++run) {
    const int64_t rows = 1 + (caller->number + run) % 7;
    float x[7 * 3], into[7 * 2];
    for (int64_t i = 0; i < 3 * rows; ++i)
      x[i] = (float)((caller->number * 5 + run + i) % 11) - 4;
    const int64_t shape[] = {rows, 3};
    const octet_input input = {OCTET_FLOAT32, 2, shape, x, sizeof(float) * 3 * (size_t)rows};
    octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0},
                               {into, sizeof into, 0, 0, NULL, NULL, 0}};
    CHECK_OK(octet_run(context, &input, 1, outputs, 2, &error));
    for (int64_t i = 0; i < rows; ++i) {
      float h[2], y[2];
      dense(x + 3 * i, h, y);
      CHECK(memcmp((const float*)outputs[0].data + 2 * i, h, sizeof h) == 0);
      CHECK(memcmp(into + 2 * i, y, sizeof y) == 0);
    }
    octet_value value = OCTET_VALUE_INIT;
    CHECK_OK(octet_session_output(caller->session, 1, &value, &error));
    CHECK(strcmp(value.name, "y") == 0);
    CHECK_FAILS(octet_run(context, NULL, 1, outputs, 2, &error), OCTET_INVALID, "inputs is NULL");
  }
  octet_context_free(context);
  return NULL;
}

static void test_eight(int32_t own_threads) {
  octet_session_options options = OCTET_SESSION_OPTIONS_INIT;
  options.threads = own_threads;
  octet_session* session = session_of(dense_model, sizeof dense_model, &options);
  struct caller callers[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    callers[i].session = session;
    callers[i].number = i;
    CHECK(pthread_create(&callers[i].thread, NULL, call, &callers[i]) == 0);
  }
  for (int i = 0; i < THREADS; ++i)
    CHECK(pthread_join(callers[i].thread, NULL) == 0);
  octet_session_free(session);
}

/* Runs the context that is running already: as a second thread would, in the middle of a run. */
struct intruder {
  octet_context* context;
  int told;
};

static void intrude(void* user, int64_t count, octet_chunk_fn chunk, void* chunks) {
  struct intruder* intruder = user;
  CHECK_FAILS(octet_run(intruder->context, NULL, 0, NULL, 0, &error), OCTET_INVALID,
              "the context is running already; make one for each thread");
  ++intruder->told;
  for (int64_t i = 0; i < count; ++i)
    chunk(chunks, i);
}

static void test_one_context_twice(void) {
  struct intruder intruder = {NULL, 0};
  octet_session_options options = OCTET_SESSION_OPTIONS_INIT;
  options.parallel_for = intrude;
  options.parallel_for_user = &intruder;
  octet_session* session = session_of(dense_model, sizeof dense_model, &options);
  intruder.context = context_of(session);
  enum { ROWS = 20000 };
  float* x = calloc(3 * ROWS, sizeof(float));
  CHECK(x != NULL);
  const int64_t shape[] = {ROWS, 3};
  const octet_input input = {OCTET_FLOAT32, 2, shape, x, 3 * ROWS * sizeof(float)};
  octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0}, {NULL, 0, 0, 0, NULL, NULL, 0}};
  CHECK_OK(octet_run(intruder.context, &input, 1, outputs, 2, &error));
  CHECK(intruder.told > 0);
  free(x);
  octet_context_free(intruder.context);
  octet_session_free(session);
}

void test_threads(void) {
  test_eight(1);
  test_eight(2);
  test_one_context_twice();
}
