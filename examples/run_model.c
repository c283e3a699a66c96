/* SPDX-License-Identifier: Apache-2.0 */
/* A model run from C: its inputs are filled with zeros (open extents are 1), and what comes out is
 * described and, where it is f32, printed from its beginning. usage: run_model MODEL.onnx */
#include "octet.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_VALUES = 16, MAX_RANK = 8 };

/* Prints an error, frees it, and gives the program's exit status. */
static int failed(const char* what, octet_error* error) {
  fprintf(stderr, "%s: %s\n", what, octet_error_text(error));
  octet_error_free(error);
  return 1;
}

/* A tensor of zeros for an input, with open extents of 1. `shape` has room for MAX_RANK. */
static int zeros(const octet_value* value, octet_input* input, int64_t* shape) {
  if (value->rank < 0 || value->rank > MAX_RANK || octet_type_bits(value->type) < 8) return 0;
  size_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i) {
    shape[i] = value->shape[i] < 0 ? 1 : value->shape[i];
    count *= (size_t)shape[i];
  }
  input->type = value->type;
  input->rank = value->rank;
  input->shape = shape;
  input->size_bytes = count * (size_t)octet_type_bits(value->type) / 8;
  input->data = calloc(input->size_bytes + 1, 1);
  return input->data != NULL;
}

static void print_output(const char* name, const octet_output* output) {
  printf("%s: %s [", name, octet_type_name(output->type));
  size_t count = 1;
  for (int32_t i = 0; i < output->rank; ++i) {
    printf("%s%lld", i == 0 ? "" : ", ", (long long)output->shape[i]);
    count *= (size_t)output->shape[i];
  }
  printf("]");
  if (output->type == OCTET_FLOAT32)
    for (size_t i = 0; i < count && i < 10; ++i)
      printf(" %g", (double)((const float*)output->data)[i]);
  printf("\n");
}

static int run(octet_context* context, const octet_session* session) {
  octet_error* error = NULL;
  octet_input inputs[MAX_VALUES] = {0};
  octet_output outputs[MAX_VALUES] = {0}; /* no buffers: what comes out is borrowed */
  int64_t shapes[MAX_VALUES][MAX_RANK];
  const size_t input_count = octet_session_input_count(session);
  const size_t output_count = octet_session_output_count(session);
  int status = input_count > MAX_VALUES || output_count > MAX_VALUES;

  for (size_t i = 0; i < input_count && status == 0; ++i) {
    octet_value value = OCTET_VALUE_INIT;
    if (octet_session_input(session, i, &value, &error) != OCTET_OK) return failed("input", error);
    printf("%s: %s\n", value.name, value.text);
    status = !zeros(&value, &inputs[i], shapes[i]);
  }
  if (status != 0) fprintf(stderr, "there is no way to make the inputs\n");
  if (status == 0 &&
      octet_run(context, inputs, input_count, outputs, output_count, &error) != OCTET_OK)
    status = failed("run", error);
  for (size_t i = 0; i < output_count && status == 0; ++i) {
    octet_value value = OCTET_VALUE_INIT;
    if (octet_session_output(session, i, &value, &error) != OCTET_OK)
      return failed("output", error);
    print_output(value.name, &outputs[i]);
  }
  for (size_t i = 0; i < input_count && i < MAX_VALUES; ++i)
    free((void*)inputs[i].data);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: run_model MODEL.onnx\n");
    return 2;
  }
  octet_error* error = NULL;
  octet_session* session = NULL;
  octet_session_options options = OCTET_SESSION_OPTIONS_INIT;
  options.threads = 2;
  if (octet_session_open(argv[1], &options, &session, &error) != OCTET_OK)
    return failed("open", error);
  printf("octet %s on %s\n", octet_version(), octet_session_isa(session));

  octet_context* context = NULL;
  int status = 0;
  if (octet_context_create(session, &context, &error) != OCTET_OK)
    status = failed("context", error);
  else
    status = run(context, session);
  octet_context_free(context);
  octet_session_free(session);
  return status;
}
