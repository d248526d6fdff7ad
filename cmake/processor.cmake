# Which processor the build is for. A source whose name ends as its kind of processor or instruction set is compiled for
# that processor only: NAME_x86.cpp, NAME_avx2.cpp and NAME_avx512.cpp; NAME_arm.cpp and NAME_neon.cpp. What both have to
# offer is declared in NAME.h.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(VG_PROCESSOR x86)
  set(VG_OTHER_SOURCES "_(arm|neon)\\.cpp$")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(VG_PROCESSOR arm)
  set(VG_OTHER_SOURCES "_(x86|avx2|avx512)\\.cpp$")
else()
  message(FATAL_ERROR "Verdigris is written for x86-64 and 64-bit ARM, not for ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# Takes what is for other processors out of a list of sources.
macro(vg_own_sources list)
  list(FILTER ${list} EXCLUDE REGEX "${VG_OTHER_SOURCES}")
endmacro()
