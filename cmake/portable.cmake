# Products that run on older systems than the one that builds them: every x86-64 Linux with glibc 2.28.
#
# A link takes the newest version of each symbol that the C library of the machine has, and old systems refuse what asks
# for newer ones. So products are linked against stand-ins of glibc 2.28's libraries, which are made here of its list of
# symbols (glibc-2.28.txt) and hold no code; at run time the system's own libraries are there. What compilers and static
# libraries want of newer ones comes from src/portable. What neither has is an undefined symbol in the link of a product.
set(portable OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT VERDIGRIS_SANITIZE
   AND NOT VERDIGRIS_COVERAGE)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc_nonshared.a OUTPUT_VARIABLE VG_LIBC_NONSHARED
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${VG_LIBC_NONSHARED}")  # glibc
    set(portable ON)
  endif()
endif()
option(VERDIGRIS_PORTABLE "Make products that run with glibc 2.28 and newer" ${portable})

set(VG_LIBC_LIST ${CMAKE_SOURCE_DIR}/cmake/glibc-2.28.txt)
set(VG_LIBC_FOLDER ${CMAKE_BINARY_DIR}/glibc)

# Makes one library of what its part of the list says.
function(vg_stand_in name text versions)
  set(source ${VG_LIBC_FOLDER}/${name}.s)
  file(WRITE ${source} "${text}  .section .note.GNU-stack,\"\",@progbits\n")
  file(WRITE ${VG_LIBC_FOLDER}/${name}.map "${versions}")
  execute_process(COMMAND ${CMAKE_C_COMPILER} -x assembler ${source} -x none -shared -nostdlib -Wl,-soname=${name}
                          -Wl,--version-script=${VG_LIBC_FOLDER}/${name}.map -o ${VG_LIBC_FOLDER}/${name}
                  RESULT_VARIABLE failed ERROR_VARIABLE error)
  if(failed)
    message(FATAL_ERROR "The stand-in of ${name} cannot be made: ${error}")
  endif()
endfunction()

# What -lNAME finds in place of the system's file of that name.
function(vg_linker_script name text)
  file(WRITE ${VG_LIBC_FOLDER}/${name} "/* A linker script. */\n${text}\n")
endfunction()

function(vg_make_stand_ins)
  file(STRINGS ${VG_LIBC_LIST} lines REGEX "^[^#]")
  set(library "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^library (.*)")
      if(library)
        vg_stand_in(${library} "${text}" "${versions}};\n")
      endif()
      set(library ${CMAKE_MATCH_1})
      set(text "  .data\n")
      set(versions "")
      set(before "")
    elseif(line MATCHES "^version (.*)")
      string(APPEND versions "${before}${CMAKE_MATCH_1} {\n")
      set(before "};\n")
    else()
      separate_arguments(entries UNIX_COMMAND "${line}")
      foreach(entry IN LISTS entries)
        if(entry MATCHES "(.*):(.*)")
          string(REPLACE "=" ";" names ${CMAKE_MATCH_1})
          set(kind "@object\n  .size %,${CMAKE_MATCH_2}")
          set(room ${CMAKE_MATCH_2})
        else()
          set(names ${entry})
          set(kind "@function")
          set(room 1)
        endif()
        set(binding globl)
        foreach(name IN LISTS names)
          string(REPLACE "%" ${name} described ${kind})
          string(APPEND text "  .${binding} ${name}\n  .type ${name},${described}\n${name}:\n")
          string(APPEND versions "${name};\n")
          set(binding weak)  # a program that takes a copy of data then takes it by all of its names
        endforeach()
        string(APPEND text "  .zero ${room}\n  .balign 32\n")
      endforeach()
    endif()
  endforeach()
  vg_stand_in(${library} "${text}" "${versions}};\n")
  set(f ${VG_LIBC_FOLDER})
  foreach(name m.so.6 pthread.so.0 dl.so.2 rt.so.1)
    string(REGEX REPLACE "\\.so.*" "" short ${name})
    vg_linker_script(lib${short}.so "GROUP ( AS_NEEDED ( ${f}/lib${name} ) )")
  endforeach()
  vg_linker_script(libc.so "GROUP ( ${f}/libc.so.6 ${VG_LIBC_NONSHARED} AS_NEEDED ( ${f}/libpthread.so.0 ${f}/libdl.so.2 \
${f}/librt.so.1 ${f}/libm.so.6 ${f}/ld-linux-x86-64.so.2 ) )")
  file(WRITE ${VG_LIBC_FOLDER}/made "")
endfunction()

if(VERDIGRIS_PORTABLE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${VG_LIBC_LIST})
  if(NOT EXISTS ${VG_LIBC_FOLDER}/made OR ${VG_LIBC_LIST} IS_NEWER_THAN ${VG_LIBC_FOLDER}/made
     OR ${CMAKE_CURRENT_LIST_FILE} IS_NEWER_THAN ${VG_LIBC_FOLDER}/made)
    vg_make_stand_ins()
  endif()
  add_library(vg_portable OBJECT ${CMAKE_SOURCE_DIR}/src/portable/newer_libc.cpp)
  add_library(vg_portable_start OBJECT ${CMAKE_SOURCE_DIR}/src/portable/start.cpp)
  foreach(part vg_portable vg_portable_start)
    target_include_directories(${part} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_compile_options(${part} PRIVATE -Wall -Wextra -ffunction-sections)
  endforeach()
endif()

# A file that is installed (install.cmake): nothing but libc's own libraries is needed to run it, none of them newer than the
# list above.
function(vg_product target)
  set_property(GLOBAL APPEND PROPERTY VG_PRODUCTS ${target})
  if(VERDIGRIS_SANITIZE)
    return()
  endif()
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  get_target_property(kind ${target} TYPE)
  if(NOT kind STREQUAL "EXECUTABLE")
    target_link_options(${target} PRIVATE -Wl,-z,defs -Wl,--exclude-libs,ALL)
  endif()
  if(NOT VERDIGRIS_PORTABLE)
    return()
  endif()
  target_link_options(${target} PRIVATE -L${VG_LIBC_FOLDER})
  target_link_libraries(${target} PRIVATE vg_portable)
  if(kind STREQUAL "EXECUTABLE")
    target_link_libraries(${target} PRIVATE vg_portable_start)
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
  endif()
endfunction()
