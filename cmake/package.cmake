# The Debian packages: cpack -G DEB, as scripts/package deb calls it. What they hold is what `cmake --install` puts
# somewhere, stripped, plus what Debian's policy wants beside it.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME verdigris)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Verdigris developers <verdigris@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "drop-in replacement for the CUDA driver library")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "CUDA programs run unmodified on machines without a GPU: the PTX of
their kernels is compiled to native vector code that runs on all cores.
On machines with an H100 or H200 it drives that without a user-space
driver of the vendor.
.
The libraries lie in a folder of their own, which the command
`verdigris run` names.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libnuma1")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(debian ${CMAKE_SOURCE_DIR}/packaging/debian)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/postinst ${debian}/prerm ${debian}/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${debian}/arrange.cmake)
set(CPACK_VERDIGRIS_SOURCE ${CMAKE_SOURCE_DIR})  # CPACK_ goes to the script above
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
include(CPack)
