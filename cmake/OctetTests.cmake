# SPDX-License-Identifier: Apache-2.0
# One test executable a room (tests/<room>/*.cc), script tests (tests/<room>/*.sh, *.py), examples, and the fuzz
# targets: libFuzzer binaries with OCTET_FUZZ, otherwise replays of their corpus and of fixed mutations of it.
# The label "sanitized" is what make test also runs under the address and undefined-behaviour sanitizers: rooms that read
# foreign bytes or work on bare memory; "thread_sanitized" what it runs under the thread sanitizer. Their targets end in _tests.
find_package(GTest REQUIRED)
include(OctetC)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12) # neighbours may use a name for different things

configure_file(${PROJECT_SOURCE_DIR}/cmake/paths.cc.in ${PROJECT_BINARY_DIR}/generated/paths.cc @ONLY)
file(GLOB support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cc)
add_library(octet_test_support STATIC ${support_sources} ${PROJECT_BINARY_DIR}/generated/paths.cc)
target_include_directories(octet_test_support PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(octet_test_support PUBLIC octet_flags octet_internals GTest::gtest)
target_compile_options(octet_test_support PUBLIC $<$<CONFIG:Release>:-O0>) # what is tested is optimized, in octet_internals
# Only executables link it, and they use its precompiled headers: compiled as they are.
set_target_properties(octet_test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(octet_test_support PRIVATE -fPIE)
target_precompile_headers(octet_test_support PRIVATE
  <algorithm> <cmath> <string> <vector> <fmt/format.h> <gtest/gtest.h> <octet/graph.h>)

# Tests of two builds at once do not write to the same files. LibTorch's threads sleep while they wait: where two tests train at
# once, those that spin take the cores from those that work, and both take several times as long.
set(test_folder ${PROJECT_BINARY_DIR}/test-files)
file(MAKE_DIRECTORY ${test_folder})
set(test_environment "OCTET_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "OCTET_BUILD_DIR=${PROJECT_BINARY_DIR}"
    "OCTET_LIB_DIR=${PROJECT_BINARY_DIR}/lib" "TEST_TMPDIR=${test_folder}/" "OMP_WAIT_POLICY=passive")

set(sanitized_rooms core graph ops onnx data text session threads kernels runtime)
set(thread_sanitized_rooms session threads)
foreach(label sanitized thread_sanitized)
  add_custom_target(${label}_tests)
endforeach()

function(octet_label_test name label)
  set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
  add_dependencies(${label}_tests ${name})
endfunction()

function(octet_add_test name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${test_environment}")
endfunction()

if(OCTET_TESTS AND NOT OCTET_FUZZ)
  file(GLOB test_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/*.cc)
  foreach(source IN LISTS test_sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME room)
    if(NOT room STREQUAL support)
      list(APPEND test_rooms ${room})
      list(APPEND sources_of_${room} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES test_rooms)
  if(NOT OCTET_WHOLE)
    set(test_rooms ${thread_sanitized_rooms})
  endif()
  if(NOT TARGET octet_train)
    list(REMOVE_ITEM test_rooms train)
  endif()
  foreach(room IN LISTS test_rooms)
    add_executable(octet_test_${room} ${sources_of_${room}})
    target_link_libraries(octet_test_${room} PRIVATE octet_test_support GTest::gtest_main)
    if(NOT room STREQUAL train)
      target_precompile_headers(octet_test_${room} REUSE_FROM octet_test_support)
    endif()
    if(room STREQUAL train)
      target_link_libraries(octet_test_train PRIVATE octet_train octet_torch)
    elseif(room STREQUAL cli AND TARGET octet)
      add_dependencies(octet_test_cli octet)
    endif()
    octet_add_test(octet_test_${room} octet_test_${room})
    foreach(label sanitized thread_sanitized)
      if(room IN_LIST ${label}_rooms)
        octet_label_test(octet_test_${room} ${label})
      endif()
    endforeach()
  endforeach()

  # octet.h, as a program in C uses liboctet.so.
  file(GLOB c_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/c/*.c)
  octet_add_c_executable(octet_test_c ${c_sources})
  target_link_libraries(octet_test_c PRIVATE Threads::Threads)
  octet_add_test(octet_test_c octet_test_c)
  octet_label_test(octet_test_c sanitized)
  octet_label_test(octet_test_c thread_sanitized)
  if(NOT OCTET_WHOLE)
    return()
  endif()

  # The TensorRT component over a stand-in for TensorRT's library, for each version that differs: its call order, flags and
  # caches are tested where no TensorRT is (tests/cli/engine_build.sh puts these folders on the library path).
  file(GLOB tensorrt_component_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tensorrt/*.cc
    ${PROJECT_SOURCE_DIR}/tests/engine/fake_tensorrt/*.cc)
  foreach(version 8.6 10.1 11.1)
    string(REPLACE "." ";" numbers ${version})
    list(GET numbers 0 major)
    list(GET numbers 1 minor)
    set(component octet_fake_tensorrt_${major})
    add_library(${component} SHARED ${tensorrt_component_sources})
    target_include_directories(${component} SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/tests/engine/fake_tensorrt)
    target_include_directories(${component} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${component} PRIVATE NV_TENSORRT_MAJOR=${major} NV_TENSORRT_MINOR=${minor})
    target_link_libraries(${component} PRIVATE octet_flags liboctet octet_dependencies)
    set_target_properties(${component} PROPERTIES OUTPUT_NAME octet_tensorrt
      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake-tensorrt/${major})
  endforeach()

  # What the differential fuzzer (tests/differential/*.py) asks: all that the library makes of a model, and what training
  # makes of it.
  file(GLOB differential_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/differential/runner/*.cc
    ${PROJECT_SOURCE_DIR}/tests/differential/protocol/*.cc)
  add_executable(octet_differential ${differential_sources})
  target_include_directories(octet_differential PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests/differential)
  target_link_libraries(octet_differential PRIVATE octet_flags octet_internals)
  if(TARGET octet_train)
    file(GLOB train_differential_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/differential/train_runner/*.cc)
    list(REMOVE_ITEM differential_sources ${PROJECT_SOURCE_DIR}/tests/differential/runner/main.cc)
    add_executable(octet_train_differential ${train_differential_sources} ${differential_sources})
    target_include_directories(octet_train_differential PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests
      ${PROJECT_SOURCE_DIR}/tests/differential)
    target_link_libraries(octet_train_differential PRIVATE octet_flags octet_internals octet_train octet_torch)
  endif()

  file(GLOB test_scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*/*.sh ${PROJECT_SOURCE_DIR}/tests/*/*.py)
  foreach(script IN LISTS test_scripts)
    cmake_path(GET script PARENT_PATH folder)
    cmake_path(GET folder FILENAME room)
    cmake_path(GET script STEM stem)
    if(room STREQUAL support OR ((room STREQUAL train OR stem MATCHES "^train(ing|_command)$") AND NOT TARGET octet_train))
      continue()
    endif()
    if(script MATCHES "\\.py$")
      octet_add_test(octet_test_${room}_${stem} ${PROJECT_SOURCE_DIR}/tools/setup-peers --run ${script})
    else()
      octet_add_test(octet_test_${room}_${stem} bash ${script})
    endif()
  endforeach()

  # Under the sanitizers too: what is read beyond the end of an array may be the right number.
  set_property(TEST octet_test_differential_fixed_seeds APPEND PROPERTY LABELS sanitized)
  add_dependencies(sanitized_tests octet_differential)

  include(OctetGuides)

  file(GLOB c_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
  foreach(source IN LISTS c_examples)
    cmake_path(GET source STEM stem)
    octet_add_c_executable(octet_example_${stem} ${source})
  endforeach()

  file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cc)
  foreach(source IN LISTS example_sources)
    cmake_path(GET source STEM stem)
    if(stem MATCHES "^train_" AND NOT TARGET octet_train)
      continue()
    endif()
    add_executable(octet_example_${stem} ${source})
    target_link_libraries(octet_example_${stem} PRIVATE octet_flags liboctet)
    # Minutes of training are cut to some steps.
    set(arguments)
    if(stem STREQUAL train_bert)
      set(arguments 8)
    endif()
    octet_add_test(octet_example_${stem} octet_example_${stem} ${arguments})
  endforeach()
endif()

add_library(octet_fuzz_replay OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/fuzz/replay/replay.cc)
target_include_directories(octet_fuzz_replay PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/fuzz)
target_link_libraries(octet_fuzz_replay PRIVATE octet_flags octet_internals)
# As with the tests' support, executables use its precompiled headers.
set_target_properties(octet_fuzz_replay PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(octet_fuzz_replay PRIVATE -fPIE PUBLIC $<$<CONFIG:Release>:-O0>)
target_precompile_headers(octet_fuzz_replay PRIVATE
  <algorithm> <string> <vector> <fmt/format.h> <octet/graph.h>)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cc)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM stem)
  add_executable(octet_fuzz_${stem} ${source})
  target_include_directories(octet_fuzz_${stem} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/fuzz)
  target_link_libraries(octet_fuzz_${stem} PRIVATE octet_flags octet_internals)
  if(stem STREQUAL config) # the command's own sources are in no library
    target_sources(octet_fuzz_config PRIVATE ${PROJECT_SOURCE_DIR}/src/cli/config.cc)
    target_link_libraries(octet_fuzz_config PRIVATE CLI11::CLI11)
  endif()
  if(OCTET_FUZZ)
    target_link_options(octet_fuzz_${stem} PRIVATE -fsanitize=fuzzer)
  else()
    target_link_libraries(octet_fuzz_${stem} PRIVATE octet_fuzz_replay)
    target_precompile_headers(octet_fuzz_${stem} REUSE_FROM octet_fuzz_replay)
    octet_add_test(octet_fuzz_${stem} octet_fuzz_${stem} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${stem})
    octet_label_test(octet_fuzz_${stem} sanitized)
  endif()
endforeach()
if(OCTET_FUZZ)
  target_compile_options(octet_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
