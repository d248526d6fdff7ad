# Tests of a build for another processor run by an emulator of it. Those that cannot mean anything there are rows of
# tests/emulated.tsv, with the reason: tests that CTest knows are left out of its list here, tests of GoogleTest by
# scripts/emulated.

# All tests of a folder and those in it.
function(vg_tests_below folder result)
  get_property(found DIRECTORY ${folder} PROPERTY TESTS)
  get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(part IN LISTS inner)
    vg_tests_below(${part} more)
    list(APPEND found ${more})
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(vg_leave_out_what_emulators_cannot_run folder)
  set(custom ${CMAKE_BINARY_DIR}/CTestCustom.cmake)
  file(REMOVE ${custom})
  if(NOT CMAKE_CROSSCOMPILING)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/emulated.tsv)
  vg_tests_below(${folder} all)
  set(without "")
  file(STRINGS ${folder}/emulated.tsv rows REGEX "^test\t")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^test\t([^\t]+)\t.*" "\\1" pattern "${row}")
    set(names ${all})
    list(FILTER names INCLUDE REGEX "^${pattern}$")
    list(APPEND without ${names})
  endforeach()
  list(JOIN without "\n  " without)
  file(WRITE ${custom} "set(CTEST_CUSTOM_TESTS_IGNORE\n  ${without})\n")
endfunction()
