/* SPDX-License-Identifier: Apache-2.0 */
/* octet from C: models are loaded, made into sessions, and run on memory of the caller's. It is
 * C11; no exception and no C++ type crosses it, and there is no global state: what a function
 * works on is in its arguments.
 *
 * Handles are opaque and belong to the caller, who frees each one with its own function, in any
 * order: a session does not need its model, nor a context its session. Freeing NULL does nothing.
 *
 * A function that can fail returns an octet_code, OCTET_OK (0) when it did what it says. `error`
 * may be NULL; else it is set to NULL or to an error that the caller frees. Results are written on
 * success only, except that handles are set to NULL, and what octet_run says.
 *
 * Threads: models and sessions may be used by several threads at the same time, a context by one
 * at a time. Handles are freed when nobody uses them any more.
 *
 * Text is UTF-8 and ends with a 0. What stays stable from release to release: VERSIONING.md. */
#ifndef OCTET_H
#define OCTET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using)

typedef int32_t octet_code;
enum {
  OCTET_OK = 0,
  OCTET_INVALID = 1,     /* an argument, a file or an input is wrong, or memory is short */
  OCTET_UNSUPPORTED = 2, /* well formed, but octet has no way to do it */
  OCTET_NOT_FOUND = 3,   /* a file or a name is missing */
  OCTET_REFUSED = 4,     /* the answer is "no" */
  OCTET_CANCELLED = 5,   /* stopped by the user */
  OCTET_INTERNAL = 6,    /* a broken promise of octet's own */
  OCTET_TOO_SMALL = 7    /* a buffer for an output is too small: see octet_run */
};

/* Element types, numbered as in ONNX's TensorProto. Elements of less than a byte are packed, low
 * bits first. */
typedef int32_t octet_type;
enum {
  OCTET_UNDEFINED = 0,
  OCTET_FLOAT32 = 1,
  OCTET_UINT8 = 2,
  OCTET_INT8 = 3,
  OCTET_UINT16 = 4,
  OCTET_INT16 = 5,
  OCTET_INT32 = 6,
  OCTET_INT64 = 7,
  OCTET_STRING = 8,
  OCTET_BOOL = 9,
  OCTET_FLOAT16 = 10,
  OCTET_FLOAT64 = 11,
  OCTET_UINT32 = 12,
  OCTET_UINT64 = 13,
  OCTET_COMPLEX64 = 14,
  OCTET_COMPLEX128 = 15,
  OCTET_BFLOAT16 = 16,
  OCTET_FLOAT8E4M3FN = 17,
  OCTET_FLOAT8E4M3FNUZ = 18,
  OCTET_FLOAT8E5M2 = 19,
  OCTET_FLOAT8E5M2FNUZ = 20,
  OCTET_UINT4 = 21,
  OCTET_INT4 = 22,
  OCTET_FLOAT4E2M1 = 23,
  OCTET_FLOAT8E8M0 = 24,
  OCTET_UINT2 = 25,
  OCTET_INT2 = 26,
  OCTET_FLOAT6E2M3 = 27,
  OCTET_FLOAT6E3M2 = 28
};

typedef struct octet_error octet_error;
typedef struct octet_model octet_model;
typedef struct octet_session octet_session;
typedef struct octet_context octet_context;

/* Version of the loaded library as "major.minor.patch". */
const char* octet_version(void);
/* Short name of a type, "f32", "i8", ...; NULL for a number that is none. */
const char* octet_type_name(octet_type type);
/* Bits that one element takes; 0 for strings, OCTET_UNDEFINED and numbers that are no type. */
int32_t octet_type_bits(octet_type type);

/* What went wrong, where, and the way out: lower case, no full stop. Never NULL. */
const char* octet_error_text(const octet_error* error);
octet_code octet_error_code(const octet_error* error);
void octet_error_free(octet_error* error);

/* Reads an ONNX file. Weights stay in the mapped file. */
octet_code octet_model_load(const char* path, octet_model** model, octet_error** error);
/* The same of `size` bytes in memory, which are copied. External data is refused: it lies beside
 * files. */
octet_code
octet_model_parse(const void* bytes, size_t size, octet_model** model, octet_error** error);
void octet_model_free(octet_model* model);

/* Calls chunk(chunks, i) once for each i from 0 to count - 1, in any order and on any threads, and
 * returns when all calls have returned. Chunks do not wait for each other. It may be called from
 * several contexts at the same time. */
typedef void (*octet_chunk_fn)(void* chunks, int64_t index);
typedef void (*octet_parallel_for_fn)(void* user,
                                      int64_t count,
                                      octet_chunk_fn chunk,
                                      void* chunks);

/* Begin with octet_session_options options = OCTET_SESSION_OPTIONS_INIT; members that are 0 are at
 * their defaults. Later versions may add members at the end: `size` says which ones the caller
 * knows. */
typedef struct octet_session_options {
  size_t size; /* sizeof(octet_session_options) */
  /* The calling one included; 0: one for each core. */
  int32_t threads;
  /* 1: inputs are sequences of different lengths one behind the other, [tokens], without masks, and
   * the last input is `offsets`, int64 [sequences + 1]: where each begins, and the end. */
  int32_t packed;
  /* scalar, avx2, vnni256, avx512, avx512vnni or amxint8; NULL: the best one that the machine has. */
  const char* isa;
  /* Runs all parallel loops instead of threads of the session's own; or NULL. */
  octet_parallel_for_fn parallel_for;
  void* parallel_for_user;
} octet_session_options;
#define OCTET_SESSION_OPTIONS_INIT                                                                 \
  { sizeof(octet_session_options), 0, 0, NULL, NULL, NULL }

/* Chooses kernels and packs weights. `options` may be NULL. Which results a model has does not
 * depend on threads, instruction set or parallel_for: they have the same bits. */
octet_code octet_session_create(const octet_model* model,
                                const octet_session_options* options,
                                octet_session** session,
                                octet_error** error);
/* The same of an ONNX file or of a weight store that `octet pack` made; the store beside a model
 * is used when it fits (octet_session_warning). */
octet_code octet_session_open(const char* path,
                              const octet_session_options* options,
                              octet_session** session,
                              octet_error** error);
void octet_session_free(octet_session* session);

/* The instruction set in use; threads of its own, the caller's included; why a weight store that
 * was there is not used ("": nothing is wrong). Text lives as long as the session. */
const char* octet_session_isa(const octet_session* session);
int32_t octet_session_threads(const octet_session* session);
const char* octet_session_warning(const octet_session* session);

/* An input or output of a session. What the pointers point to lives as long as the session. */
typedef struct octet_value {
  size_t size; /* set by the caller: sizeof(octet_value). Later versions may add members. */
  const char* name;
  const char* text;           /* the type as text: "f32[N, 3, 224, 224]" */
  octet_type type;            /* OCTET_UNDEFINED when only a run tells it */
  int32_t rank;               /* -1 when only a run tells it */
  const int64_t* shape;       /* `rank` extents; -1 for one that is open */
  const char* const* symbols; /* `rank` names of open extents, "N" or "2*N"; "" for others */
} octet_value;
#define OCTET_VALUE_INIT                                                                           \
  { sizeof(octet_value), NULL, NULL, OCTET_UNDEFINED, 0, NULL, NULL }

size_t octet_session_input_count(const octet_session* session);
size_t octet_session_output_count(const octet_session* session);
octet_code octet_session_input(const octet_session* session,
                               size_t index,
                               octet_value* value,
                               octet_error** error);
octet_code octet_session_output(const octet_session* session,
                                size_t index,
                                octet_value* value,
                                octet_error** error);

/* One thread's place to run a session: memory for activations, and plans. Contexts of a session
 * run side by side. */
octet_code
octet_context_create(const octet_session* session, octet_context** context, octet_error** error);
void octet_context_free(octet_context* context);

/* A tensor that is read. Elements lie one behind the other, the last axis next to each other;
 * those at an address that is a multiple of 64 are read where they lie, others are copied first. */
typedef struct octet_input {
  octet_type type;
  int32_t rank;
  const int64_t* shape; /* `rank` extents; may be NULL when rank is 0 */
  const void* data;     /* of OCTET_STRING: an array of const char* */
  size_t size_bytes;    /* of all elements; of OCTET_STRING: of the array */
} octet_input;

/* Where an output goes, and what it was. */
typedef struct octet_output {
  /* Set by the caller: memory for the elements and the room in it, or NULL to borrow the
   * context's. */
  void* buffer;
  size_t buffer_bytes;
  /* Set by the run. `data` is `buffer`, or memory of the context. */
  octet_type type;
  int32_t rank;
  const int64_t* shape; /* `rank` extents */
  const void* data;
  size_t size_bytes; /* of all elements; of OCTET_STRING: of the array of const char* */
} octet_output;

/* One input for each of the session's, in their order, and one place for each of its outputs.
 * `shape` and borrowed `data` are valid until the context runs again or is freed. A run with the
 * shapes and addresses of the one before allocates nothing.
 *
 * OCTET_TOO_SMALL: no buffer was written; type, rank, shape and size_bytes say what each output
 * takes. Strings are borrowed only. After any other error the outputs are as they were. */
octet_code octet_run(octet_context* context,
                     const octet_input* inputs,
                     size_t input_count,
                     octet_output* outputs,
                     size_t output_count,
                     octet_error** error);
/* Plans, and makes room for, runs of inputs of these ranks and shapes, of which nothing else is
 * looked at. All sizes share one block of memory: reserve the largest first. */
octet_code octet_reserve(octet_context* context,
                         const octet_input* inputs,
                         size_t input_count,
                         octet_error** error);

// NOLINTEND(readability-identifier-naming,modernize-use-using)

#ifdef __cplusplus
}
#endif

#endif
