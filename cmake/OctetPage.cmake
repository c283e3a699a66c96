# SPDX-License-Identifier: Apache-2.0
# The script and the style of octet view's page, as a source file of the library.
set(page_parts ${PROJECT_BINARY_DIR}/generated/page_parts.cc)
foreach(part page.js page.css)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/view/${part})
endforeach()
file(READ ${PROJECT_SOURCE_DIR}/src/view/page.js OCTET_PAGE_SCRIPT)
file(READ ${PROJECT_SOURCE_DIR}/src/view/page.css OCTET_PAGE_STYLE)
configure_file(${PROJECT_SOURCE_DIR}/cmake/page_parts.cc.in ${page_parts} @ONLY)
