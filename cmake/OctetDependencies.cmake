# SPDX-License-Identifier: Apache-2.0
# Libraries of liboctet and the command, all from the system's packages (tools/setup installs them).
# What only runs models links none of them: of the first five it takes headers.
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(hwy 1.0.3 REQUIRED)
find_package(Protozero REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
add_library(octet_dependencies INTERFACE)
target_link_libraries(octet_dependencies INTERFACE
  hwy::hwy protozero::protozero nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(octet_dependencies INTERFACE -Wl,--as-needed)
if(OCTET_RUNTIME_ONLY)
  target_link_libraries(octet_dependencies INTERFACE fmt::fmt-header-only)
  return()
endif()

find_package(tomlplusplus 3.3 REQUIRED)
find_package(Utf8proc REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG 1.6 REQUIRED)
find_package(JPEG 62 REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(CLI11 2.1 REQUIRED)
target_link_libraries(octet_dependencies INTERFACE
  fmt::fmt tomlplusplus::tomlplusplus utf8proc::utf8proc ZLIB::ZLIB PNG::PNG JPEG::JPEG CURL::libcurl
  LibArchive::LibArchive)
