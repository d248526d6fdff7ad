# Flags of the files that are compiled for one instruction set each. Products and sums must not become one operation: the
# answers are those of the scalar code.
set(lanes "-O3;-ffp-contract=off;-fno-math-errno;-fno-trapping-math")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/arrays/reading/row_sampler_baseline.cpp PROPERTIES COMPILE_OPTIONS
                            "${lanes}")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/arrays/reading/row_sampler_avx2.cpp PROPERTIES COMPILE_OPTIONS
                            "${lanes};-mavx2")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/arrays/reading/row_sampler_avx512.cpp PROPERTIES COMPILE_OPTIONS
                            "${lanes};-mavx512f;-mavx512dq;-mavx512bw;-mprefer-vector-width=512")
