// Types of the graphics and profiler interfaces that entry_points.inc names and cuda.h does not declare. They follow
// cudaGL.h, cudaEGL.h, cudaVDPAU.h and cudaProfiler.h in size and calling convention; their entry points are stubs.
#pragma once

#include <cuda.h>

using GLuint = unsigned int;
using GLenum = unsigned int;
using CUGLDeviceList = unsigned int;

using EGLint = int;
using EGLImageKHR = void*;
using EGLStreamKHR = void*;
using CUeglStreamConnection = struct CUeglStreamConnection_st*;

// Passed by value to cuEGLStreamProducerPresentFrame, so its size matters.
struct CUeglFrame {
  union {
    CUarray pArray[3];
    void* pPitch[3];
  } frame;
  unsigned int width, height, depth, pitch, planeCount, numChannels;
  int frameType, eglColorFormat;
  CUarray_format cuFormat;
};

using VdpDevice = unsigned int;
using VdpVideoSurface = unsigned int;
using VdpOutputSurface = unsigned int;
using VdpGetProcAddress = unsigned int(VdpDevice, unsigned int, void**);

using CUoutput_mode = int;
