/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that make no sense are errors with text, and nothing is written. */
#include "check.h"
#include "models.h"

static void test_null(void) {
  CHECK_FAILS(octet_model_load(NULL, NULL, &error), OCTET_INVALID, "path is NULL");
  CHECK_FAILS(octet_model_load("m.onnx", NULL, &error), OCTET_INVALID, "model is NULL");
  octet_model* model = (octet_model*)&model;
  CHECK_FAILS(octet_model_parse(NULL, 5, &model, &error), OCTET_INVALID, "bytes is NULL");
  CHECK(model == NULL);
  octet_session* session = (octet_session*)&session;
  CHECK_FAILS(octet_session_create(NULL, NULL, &session, &error), OCTET_INVALID, "model is NULL");
  CHECK(session == NULL);
  CHECK_FAILS(octet_session_open(NULL, NULL, &session, &error), OCTET_INVALID, "path is NULL");
  octet_value value = OCTET_VALUE_INIT;
  CHECK_FAILS(octet_session_input(NULL, 0, &value, &error), OCTET_INVALID, "session is NULL");
  CHECK_FAILS(octet_session_output(NULL, 0, &value, &error), OCTET_INVALID, "session is NULL");
  octet_context* context = NULL;
  CHECK_FAILS(octet_context_create(NULL, &context, &error), OCTET_INVALID, "session is NULL");
  CHECK_FAILS(octet_run(NULL, NULL, 0, NULL, 0, &error), OCTET_INVALID, "context is NULL");
  CHECK_FAILS(octet_reserve(NULL, NULL, 0, &error), OCTET_INVALID, "context is NULL");
  CHECK(octet_run(NULL, NULL, 0, NULL, 0, NULL) == OCTET_INVALID);
  CHECK(octet_session_input_count(NULL) == 0 && octet_session_output_count(NULL) == 0);
  CHECK(octet_session_threads(NULL) == 0);
  CHECK(strcmp(octet_session_isa(NULL), "") == 0 && strcmp(octet_session_warning(NULL), "") == 0);
  CHECK(octet_error_code(NULL) == OCTET_OK && strcmp(octet_error_text(NULL), "") == 0);
  octet_error_free(NULL);
  octet_model_free(NULL);
  octet_session_free(NULL);
  octet_context_free(NULL);
}

static void test_models(void) {
  octet_model* model = NULL;
  CHECK_FAILS(octet_model_load("no/such/file.onnx", &model, &error), OCTET_NOT_FOUND,
              "no/such/file.onnx");
  octet_session* session = NULL;
  CHECK_FAILS(octet_session_open("no/such/file.onnx", NULL, &session, &error), OCTET_NOT_FOUND,
              "no/such/file.onnx");
  /* Every part of a file from its beginning: an error, or a model that makes a session or an error. */
  for (size_t size = 0; size < sizeof dense_model; ++size) {
    octet_error* error = NULL;
    const octet_code code = octet_model_parse(dense_model, size, &model, &error);
    CHECK((code == OCTET_OK) == (model != NULL) && (code == OCTET_OK) == (error == NULL));
    octet_error_free(error);
    if (model == NULL) continue;
    octet_session_free(octet_session_create(model, NULL, &session, NULL) == OCTET_OK ? session
                                                                                     : NULL);
    octet_model_free(model);
  }
}

static void test_options(void) {
  octet_model* model = NULL;
  CHECK_OK(octet_model_parse(dense_model, sizeof dense_model, &model, &error));
  octet_session* session = NULL;
  octet_session_options options = OCTET_SESSION_OPTIONS_INIT;
  options.size = 0;
  CHECK_FAILS(octet_session_create(model, &options, &session, &error), OCTET_INVALID,
              "octet_session_options.size is 0");
  options.size = (size_t)-1;
  CHECK_FAILS(octet_session_create(model, &options, &session, &error), OCTET_INVALID,
              "octet_session_options.size is ");
  options = (octet_session_options)OCTET_SESSION_OPTIONS_INIT;
  options.threads = -1;
  CHECK_FAILS(octet_session_create(model, &options, &session, &error), OCTET_INVALID, "-1");
  options.threads = 1 << 30;
  CHECK_FAILS(octet_session_create(model, &options, &session, &error), OCTET_INVALID, "1073741824");
  options = (octet_session_options)OCTET_SESSION_OPTIONS_INIT;
  options.packed = 2;
  CHECK_FAILS(octet_session_create(model, &options, &session, &error), OCTET_INVALID,
              "octet_session_options.packed is 2");
  options = (octet_session_options)OCTET_SESSION_OPTIONS_INIT;
  options.isa = "mmx";
  CHECK_FAILS(octet_session_create(model, &options, &session, &error), OCTET_INVALID, "mmx");
  CHECK(session == NULL);

  struct {
    octet_session_options known;
    int64_t later;
  } larger = {OCTET_SESSION_OPTIONS_INIT, 1};
  larger.known.size = sizeof larger;
  CHECK_FAILS(octet_session_create(model, &larger.known, &session, &error), OCTET_UNSUPPORTED,
              "has members that this version does not know");
  larger.later = 0;
  CHECK_OK(octet_session_create(model, &larger.known, &session, &error));

  octet_value value = OCTET_VALUE_INIT;
  CHECK_FAILS(octet_session_input(session, 1, &value, &error), OCTET_NOT_FOUND,
              "there is no input 1; the session has 1");
  CHECK_FAILS(octet_session_output(session, (size_t)-1, &value, &error), OCTET_NOT_FOUND,
              "there is no output");
  CHECK_FAILS(octet_session_input(session, 0, NULL, &error), OCTET_INVALID, "value is NULL");
  value.size = 8;
  CHECK_FAILS(octet_session_input(session, 0, &value, &error), OCTET_INVALID,
              "octet_value.size is 8");
  CHECK(value.size == 8 && value.name == NULL);
  octet_session_free(session);
  octet_model_free(model);
}

static void test_inputs(void) {
  octet_session* session = session_of(dense_model, sizeof dense_model, NULL);
  octet_context* context = context_of(session);
  octet_session_free(session);
  float x[6] = {0};
  const int64_t shape[] = {2, 3};
  const octet_input good = {OCTET_FLOAT32, 2, shape, x, sizeof x};
  octet_output outputs[2] = {{NULL, 0, 0, 0, NULL, NULL, 0}, {NULL, 0, 0, 0, NULL, NULL, 0}};
#define REFUSED(input, text)                                                                       \
  CHECK_FAILS(octet_run(context, &(input), 1, outputs, 2, &error), OCTET_INVALID, text)
  octet_input bad = good;
  CHECK_FAILS(octet_run(context, &good, 0, outputs, 2, &error), OCTET_INVALID,
              "the model has 1 inputs but got 0");
  CHECK_FAILS(octet_run(context, NULL, 1, outputs, 2, &error), OCTET_INVALID, "inputs is NULL");
  CHECK_FAILS(octet_run(context, &good, 1, outputs, 1, &error), OCTET_INVALID,
              "the model has 2 outputs but got 1 places");
  CHECK_FAILS(octet_run(context, &good, 1, NULL, 2, &error), OCTET_INVALID, "outputs is NULL");
  bad.type = OCTET_FLOAT64;
  bad.size_bytes = 48;
  REFUSED(bad, "input \"x\": the model wants f32[N, 3] but got f64[2, 3]");
  for (int i = 0; i < 4; ++i) {
    static const octet_type types[] = {OCTET_UNDEFINED, -1, 29, INT32_MAX};
    bad = good;
    bad.type = types[i];
    REFUSED(bad, "is no element type");
  }
  bad = good;
  bad.data = NULL;
  REFUSED(bad, "input \"x\": data is NULL");
  bad = good;
  bad.size_bytes = 23;
  REFUSED(bad, "input \"x\": f32[2, 3] takes 24 bytes but size_bytes is 23");
  bad.size_bytes = (size_t)-1;
  REFUSED(bad, "takes 24 bytes but size_bytes is ");
  bad = good;
  bad.rank = -1;
  REFUSED(bad, "input \"x\": its rank is -1");
  bad.rank = INT32_MAX;
  REFUSED(bad, "input \"x\": its rank is 2147483647");
  bad = good;
  bad.shape = NULL;
  REFUSED(bad, "input \"x\": its shape is NULL");
  bad = good;
  bad.rank = 1;
  REFUSED(bad, "takes 8 bytes but size_bytes is 24");
  const int64_t other[] = {2, 4};
  bad = good;
  bad.shape = other;
  REFUSED(bad, "takes 32 bytes but");
  const int64_t negative[] = {-2, -3};
  bad.shape = negative;
  REFUSED(bad, "input \"x\"");
  const int64_t huge[] = {INT64_MAX, 3};
  bad.shape = huge;
  REFUSED(bad, "input \"x\"");
  CHECK(outputs[0].data == NULL && outputs[1].shape == NULL);
  CHECK_FAILS(octet_reserve(context, &bad, 1, &error), OCTET_INVALID, "input \"x\"");
  bad.shape = negative;
  CHECK_FAILS(octet_reserve(context, &bad, 1, &error), OCTET_INVALID, "input \"x\"");
  CHECK_FAILS(octet_reserve(context, &bad, 3, &error), OCTET_INVALID, "has 1 inputs but got 3");
  CHECK_OK(octet_run(context, &good, 1, outputs, 2, &error)); /* the context is as good as ever */
  octet_context_free(context);
}

void test_hostile_arguments(void) {
  test_null();
  test_models();
  test_options();
  test_inputs();
}
