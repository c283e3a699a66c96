# SPDX-License-Identifier: Apache-2.0
# Libraries of liboctet and the command, all from the system's packages (tools/setup installs them).
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(hwy 1.0.3 REQUIRED)
find_package(Protozero REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)
find_package(Utf8proc REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG 1.6 REQUIRED)
find_package(JPEG 62 REQUIRED)
find_package(CURL REQUIRED)
find_package(CLI11 2.1 REQUIRED)

add_library(octet_dependencies INTERFACE)
target_link_libraries(octet_dependencies INTERFACE
  fmt::fmt hwy::hwy protozero::protozero nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus
  utf8proc::utf8proc ZLIB::ZLIB PNG::PNG JPEG::JPEG CURL::libcurl Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(octet_dependencies INTERFACE -Wl,--as-needed)
