# SPDX-License-Identifier: Apache-2.0
# The code of docs/guides/*.md, compiled and run as it stands there: a fence "```cpp src/passes/x.cc" is that file, and
# those under tests/ test the others. octet_test_guides is made of all of them.
file(GLOB guides CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/guides/*.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${guides} ${PROJECT_SOURCE_DIR}/tools/guide_code)
set(guide_folder ${PROJECT_BINARY_DIR}/guides)
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/guide_code ${guide_folder} ${guides}
  OUTPUT_VARIABLE guide_sources OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" guide_sources "${guide_sources}")
list(FILTER guide_sources INCLUDE REGEX "\\.cc$")
add_executable(octet_test_guides ${guide_sources})
target_include_directories(octet_test_guides BEFORE PRIVATE ${guide_folder}/src ${guide_folder}/tests)
target_link_libraries(octet_test_guides PRIVATE octet_test_support GTest::gtest_main CLI11::CLI11)
set_target_properties(octet_test_guides PROPERTIES UNITY_BUILD OFF) # the files of one guide know nothing of another's
octet_add_test(octet_test_guides octet_test_guides)
