# What `cmake --install` puts where. The libraries go to a folder of their own: nothing finds them unless `verdigris run`
# or the user says so, and a vendor's libcuda.so.1 stays what the system's programs use. libnvidia-ml.so.1 lies one folder
# further down, so that the first folder in LD_LIBRARY_PATH leaves a vendor's nvidia-smi alone.
#
# Files that were not built are left out, with a word: scripts/demo builds less than scripts/test.
include(GNUInstallDirs)
set(VG_PRIVATE lib/verdigris)

# The files of an installation that come from a link. The target `products` makes all of them but the conformance suite,
# which takes a minute and is made for packages and with the tests.
get_property(VG_PRODUCTS GLOBAL PROPERTY VG_PRODUCTS)  # as vg_product() was told
set(products ${VG_PRODUCTS})
list(REMOVE_ITEM products conformance_suite)
add_custom_target(products DEPENDS ${products})

# Which folders the installation makes, for `uninstall`; deepest first.
file(GLOB entries LIST_DIRECTORIES true RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/docs/*)
set(pages "")
foreach(entry IN LISTS entries)
  if(IS_DIRECTORY ${CMAKE_SOURCE_DIR}/${entry})
    string(APPEND pages "share/doc/verdigris/${entry} ")
  endif()
endforeach()
install(CODE "set(new \"\")
  foreach(folder lib/verdigris/cupti lib/verdigris/nvml lib/verdigris/record lib/verdigris/path lib/verdigris/python/verdigris_eager lib/verdigris/python lib/verdigris lib/cmake/verdigris lib/cmake lib/pkgconfig lib bin include/verdigris include
          ${pages}share/doc/verdigris/docs share/doc/verdigris/third-party share/doc/verdigris share/doc share/man/man1 share/man share/bash-completion/completions
          share/bash-completion share/zsh/site-functions share/zsh share/fish/vendor_completions.d share/fish share .)
    get_filename_component(path \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${folder}\" ABSOLUTE)
    if(NOT EXISTS \${path} OR folder MATCHES verdigris)
      string(APPEND new \"\${path}\\n\")
    endif()
  endforeach()
  if(NOT \"\$ENV{DESTDIR}\" MATCHES _CPack_Packages)  # a package is no installation
    file(WRITE ${CMAKE_BINARY_DIR}/install_folders.txt \"\${new}\")
  endif()")

foreach(target IN LISTS VG_PRODUCTS)
  install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
    message(STATUS \"Left out: ${target} was not built (cmake --build ${CMAKE_BINARY_DIR} --target ${target})\")
  endif()")
  set(folder ${VG_PRIVATE})
  if(target STREQUAL "verdigris")
    set(folder bin)
  elseif(target STREQUAL "nvidia-ml")
    set(folder ${VG_PRIVATE}/nvml)
  elseif(target STREQUAL "cupti")
    set(folder ${VG_PRIVATE}/cupti)
  elseif(target STREQUAL "recorder")
    set(folder ${VG_PRIVATE}/record)
  endif()
  install(TARGETS ${target} OPTIONAL RUNTIME DESTINATION ${folder} LIBRARY DESTINATION ${folder})
endforeach()

install(FILES ${CMAKE_SOURCE_DIR}/src/gdb/verdigris-gdb.py DESTINATION ${VG_PRIVATE} RENAME libcuda.so.1-gdb.py)
install(PROGRAMS ${CMAKE_SOURCE_DIR}/src/tools/smi/nvidia-smi DESTINATION ${VG_PRIVATE}/path)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/eager/ DESTINATION ${VG_PRIVATE}/python FILES_MATCHING PATTERN *.py
        PATTERN __pycache__ EXCLUDE)

# For programs that are built against it: find_package(verdigris), pkg-config verdigris.
install(FILES ${CMAKE_SOURCE_DIR}/include/cuda.h DESTINATION include/verdigris)
include(CMakePackageConfigHelpers)
set(made ${CMAKE_BINARY_DIR}/package-files)
write_basic_package_version_file(${made}/verdigris-config-version.cmake COMPATIBILITY SameMajorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/verdigris-config.cmake ${made}/verdigris-config.cmake COPYONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/verdigris.pc.in ${made}/verdigris.pc @ONLY)
install(FILES ${made}/verdigris-config.cmake ${made}/verdigris-config-version.cmake DESTINATION lib/cmake/verdigris)
install(FILES ${made}/verdigris.pc DESTINATION lib/pkgconfig)

# Made by the command itself, when it is linked.
install(FILES ${made}/verdigris.1 DESTINATION share/man/man1 OPTIONAL)
install(FILES ${made}/verdigris DESTINATION share/bash-completion/completions OPTIONAL)
install(FILES ${made}/_verdigris DESTINATION share/zsh/site-functions OPTIONAL)
install(FILES ${made}/verdigris.fish DESTINATION share/fish/vendor_completions.d OPTIONAL)

# The licences of what is linked in, where the distribution keeps them.
foreach(package libstdc++-12-dev libgcc-12-dev llvm-19-dev llvm-18-dev zlib1g-dev libzstd-dev liblz4-dev libxxhash-dev
        liburing-dev libdeflate-dev libsnappy-dev libspdlog-dev libfmt-dev libcli11-dev libgtest-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/verdigris/third-party RENAME ${package} OPTIONAL)
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/verdigris)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/verdigris/docs)

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
                                    -DFOLDERS=${CMAKE_BINARY_DIR}/install_folders.txt
                                    -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake)
