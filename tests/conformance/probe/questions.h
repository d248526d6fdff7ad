// Shared by the groups that settle numbered open questions: facts are named "Q37: what was asked".
#pragma once

#include "probe.h"

static inline CUdeviceptr at(const void* p) { return (CUdeviceptr)(uintptr_t)p; }
static inline void* host(CUdeviceptr p) { return (void*)(uintptr_t)p; }

CUdeviceptr deviceBytes(size_t bytes);
// `count` touched pages of 4 KiB, each byte 1.
char* hostPages(size_t count);
// Whether the CPU can read `p`, found without touching it.
bool readable(const void* p);

CUresult makeArray(CUarray* a, size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                   unsigned flags);
void describeArray(const char* name, CUarray a);
