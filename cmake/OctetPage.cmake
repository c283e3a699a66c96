# SPDX-License-Identifier: Apache-2.0
# The script and the style of octet view's page, as a source file of the library.
set(page_parts ${PROJECT_BINARY_DIR}/generated/page_parts.cc)
set(OCTET_PAGE_SCRIPT "")
foreach(part facts drawing panel walk)
  set(part ${PROJECT_SOURCE_DIR}/src/view/page/${part}.js)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${part})
  file(READ ${part} text)
  string(APPEND OCTET_PAGE_SCRIPT "${text}")
endforeach()
set(style ${PROJECT_SOURCE_DIR}/src/view/page/page.css)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${style})
file(READ ${style} OCTET_PAGE_STYLE)
configure_file(${PROJECT_SOURCE_DIR}/cmake/page_parts.cc.in ${page_parts} @ONLY)
