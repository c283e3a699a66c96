/* SPDX-License-Identifier: Apache-2.0 */
/* octet.h as a C program uses it, compiled as C11: models, sessions, what they say of themselves,
 * and runs into borrowed memory and into memory of the caller's. */
#include "check.h"
#include "models.h"

static void test_versions_and_types(void) {
  CHECK(strchr(octet_version(), '.') != NULL);
  CHECK(strcmp(octet_type_name(OCTET_FLOAT32), "f32") == 0);
  CHECK(strcmp(octet_type_name(OCTET_INT8), "i8") == 0);
  CHECK(octet_type_bits(OCTET_FLOAT32) == 32);
  CHECK(octet_type_bits(OCTET_INT4) == 4);
  CHECK(octet_type_bits(OCTET_STRING) == 0);
  CHECK(octet_type_name(-1) == NULL && octet_type_name(1000) == NULL);
  CHECK(octet_type_bits(1000) == 0);
}

static void test_values(void) {
  octet_session* session = session_of(dense_model, sizeof dense_model, NULL);
  CHECK(octet_session_input_count(session) == 1);
  CHECK(octet_session_output_count(session) == 2);
  octet_value x = OCTET_VALUE_INIT;
  CHECK_OK(octet_session_input(session, 0, &x, &error));
  CHECK(strcmp(x.name, "x") == 0 && strcmp(x.text, "f32[N, 3]") == 0);
  CHECK(x.type == OCTET_FLOAT32 && x.rank == 2 && x.shape[0] == -1 && x.shape[1] == 3);
  CHECK(strcmp(x.symbols[0], "N") == 0 && strcmp(x.symbols[1], "") == 0);
  octet_value y = OCTET_VALUE_INIT;
  CHECK_OK(octet_session_output(session, 1, &y, &error));
  CHECK(strcmp(y.name, "y") == 0 && y.rank == 2 && y.shape[0] == -1 && y.shape[1] == 2);
  CHECK(strlen(octet_session_isa(session)) > 0);
  CHECK(octet_session_threads(session) >= 1);
  CHECK(strcmp(octet_session_warning(session), "") == 0);

  /* A struct of a later version: what this one does not know is set to 0. */
  struct {
    octet_value known;
    const char* later;
  } larger;
  memset(&larger, 0x55, sizeof larger);
  larger.known.size = sizeof larger;
  CHECK_OK(octet_session_input(session, 0, &larger.known, &error));
  CHECK(larger.known.size == sizeof larger && larger.later == NULL);
  octet_session_free(session);
}

static void test_runs(void) {
  octet_session* session = session_of(dense_model, sizeof dense_model, NULL);
  octet_context* context = context_of(session);
  octet_session_free(session); /* the context lives on */
  for (int64_t rows = 1; rows <= 33; rows += 8) {
    float* x = malloc(sizeof(float) * 3 * (size_t)rows);
    float* into = malloc(sizeof(float) * 2 * (size_t)rows + 4);
    CHECK(x != NULL && into != NULL);
    for (int64_t i = 0; i < 3 * rows; ++i)
      x[i] = (float)(i % 13) * 0.5F - 3;
    const int64_t shape[] = {rows, 3};
    const octet_input input = {OCTET_FLOAT32, 2, shape, x, sizeof(float) * 3 * (size_t)rows};
    octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0},
                               {into, sizeof(float) * 2 * (size_t)rows + 4, 0, 0, NULL, NULL, 0}};
    for (int again = 0; again < 2; ++again) {
      memset(into, 0x7f, sizeof(float) * 2 * (size_t)rows + 4);
      CHECK_OK(octet_run(context, &input, 1, outputs, 2, &error));
      for (int o = 0; o < 2; ++o) {
        CHECK(outputs[o].type == OCTET_FLOAT32 && outputs[o].rank == 2);
        CHECK(outputs[o].shape[0] == rows && outputs[o].shape[1] == 2);
        CHECK(outputs[o].size_bytes == sizeof(float) * 2 * (size_t)rows);
      }
      CHECK(outputs[1].data == into && outputs[0].data != NULL);
      CHECK(((const unsigned char*)into)[outputs[1].size_bytes] == 0x7f); /* not one byte more */
      const float* borrowed = outputs[0].data;
      for (int64_t i = 0; i < rows; ++i) {
        float h[2], y[2];
        dense(x + 3 * i, h, y);
        CHECK(memcmp(borrowed + 2 * i, h, sizeof h) == 0);
        CHECK(memcmp(into + 2 * i, y, sizeof y) == 0);
      }
    }
    free(x);
    free(into);
  }
  octet_context_free(context);
}

static void test_small_buffer(void) {
  octet_session* session = session_of(dense_model, sizeof dense_model, NULL);
  octet_context* context = context_of(session);
  const float x[6] = {1, 2, 3, -4, 5, 0.5F};
  const int64_t shape[] = {2, 3};
  const octet_input input = {OCTET_FLOAT32, 2, shape, x, sizeof x};
  float h[4] = {7, 7, 7, 7};
  float y[3] = {7, 7, 7};
  octet_output outputs[2] = {{h, sizeof h, 0, 0, NULL, NULL, 0},
                             {y, sizeof y, 0, 0, NULL, NULL, 0}};
  CHECK_FAILS(octet_run(context, &input, 1, outputs, 2, &error), OCTET_TOO_SMALL,
              "output \"y\": f32[2, 2] takes 16 bytes but its buffer has 12");
  CHECK(h[0] == 7 && h[3] == 7 && y[0] == 7);
  CHECK(outputs[0].size_bytes == 16 && outputs[1].size_bytes == 16);
  CHECK(outputs[1].rank == 2 && outputs[1].shape[0] == 2 && outputs[1].type == OCTET_FLOAT32);
  CHECK(octet_run(context, &input, 1, outputs, 2, NULL) == OCTET_TOO_SMALL);
  octet_context_free(context);
  octet_session_free(session);
}

/* An output whose size only the run tells, and one without elements. */
static void test_found(void) {
  octet_session* session = session_of(found_model, sizeof found_model, NULL);
  octet_context* context = context_of(session);
  const int64_t shape[] = {4};
  for (int which = 0; which < 16; ++which) {
    const float x[4] = {which & 1, which & 2, which & 4, which & 8};
    const octet_input input = {OCTET_FLOAT32, 1, shape, x, sizeof x};
    octet_output found = {NULL, 0, 0, 0, NULL, NULL, 0};
    CHECK_OK(octet_run(context, &input, 1, &found, 1, &error));
    int64_t count = 0;
    for (int64_t i = 0; i < 4; ++i)
      if (x[i] != 0) CHECK(count < found.shape[1] && ((const int64_t*)found.data)[count++] == i);
    CHECK(found.type == OCTET_INT64 && found.rank == 2 && found.shape[1] == count);
    CHECK(found.size_bytes == 8 * (size_t)count);
  }
  octet_context_free(context);
  octet_session_free(session);
}

static void test_strings_and_scalars(void) {
  octet_session* session = session_of(words_model, sizeof words_model, NULL);
  octet_context* context = context_of(session);
  octet_session_free(session);
  const char* words[] = {"one", "", "dr\xc3\xa9i"};
  const int64_t shape[] = {3};
  const int32_t k = -5;
  octet_input inputs[2] = {{OCTET_STRING, 1, shape, words, sizeof words},
                           {OCTET_INT32, 0, NULL, &k, sizeof k}};
  octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0}, {NULL, 0, 0, 0, NULL, NULL, 0}};
  for (int again = 0; again < 2; ++again) {
    words[0] = again == 0 ? "one" : "two, at the same address";
    CHECK_OK(octet_run(context, inputs, 2, outputs, 2, &error));
    CHECK(outputs[0].type == OCTET_STRING && outputs[0].size_bytes == 3 * sizeof(char*));
    const char* const* said = outputs[0].data;
    for (int i = 0; i < 3; ++i)
      CHECK(strcmp(said[i], words[i]) == 0);
    CHECK(outputs[1].rank == 0 && outputs[1].size_bytes == 4);
    CHECK(*(const int32_t*)outputs[1].data == -5);
  }
  char room[64];
  octet_output buffers[2] = {{room, sizeof room, 0, 0, NULL, NULL, 0},
                             {NULL, 0, 0, 0, NULL, NULL, 0}};
  CHECK_FAILS(octet_run(context, inputs, 2, buffers, 2, &error), OCTET_UNSUPPORTED,
              "output \"t\": strings are borrowed");
  words[1] = NULL;
  CHECK_FAILS(octet_run(context, inputs, 2, outputs, 2, &error), OCTET_INVALID,
              "input \"s\": string 1 is NULL");
  octet_context_free(context);
}

static void test_reserve(void) {
  octet_session* session = session_of(dense_model, sizeof dense_model, NULL);
  octet_context* context = context_of(session);
  const int64_t shape[] = {1000, 3};
  octet_input input = {0, 2, shape, NULL, 0};
  CHECK_OK(octet_reserve(context, &input, 1, &error));
  input.rank = 1;
  CHECK_FAILS(octet_reserve(context, &input, 1, &error), OCTET_INVALID,
              "input \"x\": the model wants f32[N, 3] but got [1000]");
  octet_context_free(context);
  octet_session_free(session);
}

/* Chunks from the last to the first, on the calling thread; counts loops. */
static void backwards(void* user, int64_t count, octet_chunk_fn chunk, void* chunks) {
  ++*(int*)user;
  for (int64_t i = count; i-- > 0;)
    chunk(chunks, i);
}

static void test_own_scheduler(void) {
  int loops = 0;
  octet_session_options options = OCTET_SESSION_OPTIONS_INIT;
  options.parallel_for = backwards;
  options.parallel_for_user = &loops;
  options.isa = "scalar";
  octet_session* session = session_of(dense_model, sizeof dense_model, &options);
  CHECK(octet_session_threads(session) == 1);
  CHECK(strcmp(octet_session_isa(session), "scalar") == 0);
  octet_context* context = context_of(session);
  const int64_t shape[] = {20000, 3};
  float* x = calloc(60000, sizeof(float));
  CHECK(x != NULL);
  x[59999] = 1;
  const octet_input input = {OCTET_FLOAT32, 2, shape, x, 60000 * sizeof(float)};
  octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0}, {NULL, 0, 0, 0, NULL, NULL, 0}};
  CHECK_OK(octet_run(context, &input, 1, outputs, 2, &error));
  float h[2], y[2];
  dense(x + 59997, h, y);
  CHECK(memcmp((const float*)outputs[1].data + 39998, y, sizeof y) == 0);
  CHECK(loops > 0);
  free(x);
  octet_context_free(context);
  octet_session_free(session);
}

int main(void) {
  test_versions_and_types();
  test_values();
  test_runs();
  test_small_buffer();
  test_found();
  test_strings_and_scalars();
  test_reserve();
  test_own_scheduler();
  test_steady_state();
  test_hostile_arguments();
  test_threads();
  return 0;
}
