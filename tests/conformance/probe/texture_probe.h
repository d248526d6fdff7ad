// Shared by the groups about textures: kernels that are one texture instruction, and what they return, word for word.
#pragma once

#include "questions.h"

typedef struct {
  float x, y, z, w;
} Point;

// Runs `instruction` for each point (coordinates in %f1 to %f4, the same bits in %r1 to %r4, the handle in %rd1) and
// writes a fact a point: the words that it leaves in %r5 to %r8.
void sampled(const char* name, const char* instruction, unsigned long long handle, const Point* points, int count);
// The same without facts: the result of the launch and of the wait.
CUresult accessed(const char* instruction, unsigned long long handle, Point point, uint32_t words[4]);

CUDA_RESOURCE_DESC arrayResource(CUarray a);
CUDA_TEXTURE_DESC sampling(CUaddress_mode mode, CUfilter_mode filter, unsigned flags);
CUtexObject textureOf(CUarray a, CUaddress_mode mode, CUfilter_mode filter, unsigned flags);
// An array of these extents, filled from `data` of `elementBytes` an element.
CUarray filledArray(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels, unsigned flags,
                    const void* data, size_t elementBytes);
