# Flags of the files that are compiled for one instruction set each.
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/ptx/operations/matrix_avx2.cpp PROPERTIES COMPILE_OPTIONS
                            "-mavx2;-mfma;-mf16c;-mpopcnt")
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/ptx/operations/matrix_avx512.cpp PROPERTIES COMPILE_OPTIONS
                            "-mavx2;-mfma;-mf16c;-mpopcnt;-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl;-mavx512vnni;-Wno-maybe-uninitialized")  # of intrinsics of GCC 12
