# Flags of the files that are compiled for one instruction set each.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/copy/engines_avx2.cpp PROPERTIES COMPILE_OPTIONS -mavx2)
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/copy/engines_avx512.cpp PROPERTIES COMPILE_OPTIONS
                            "-mavx512f;-mprefer-vector-width=512")
