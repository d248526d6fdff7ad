// What every group of driver questions uses: any libcuda.so.1 bound by path, one line of output a fact.
//
// A group runs in a process of its own, so a crash or a sticky error in one says nothing about another. Facts are
// printed as  group <tab> fact <tab> answer; answers are result names, yes/no or small numbers, never addresses or
// times, so that two libraries can be compared line by line.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void* library;
extern const char* group;

void* symbol(const char* name);
// D(cuMemAlloc_v2)(&p, 64): the function of that exact exported name.
#define D(name) ((__typeof__(&name))symbol(#name))

const char* resultName(CUresult result);
void fact(const char* name, const char* format, ...) __attribute__((format(printf, 2, 3)));
#define RESULT(name, call) fact(name, "%s", resultName(call))
#define YES(condition) ((condition) ? "yes" : "no")

// cuInit and a created context, current. Groups that need less start from nothing.
extern CUdevice device;
extern CUcontext context;
void start(void);

// A kernel from the probe's own PTX module, loaded on first use in the current context.
CUfunction kernel(const char* name);
void launch(CUfunction function, CUstream stream, void** arguments);
// Keeps `stream` busy for about the given time.
void busy(CUstream stream, int milliseconds);
double now(void);  // seconds
// "waits" when the call took at least half of the busy time.
const char* waited(double started, int milliseconds);

typedef struct {
  const char* name;
  void (*run)(void);
} Group;
#define TABLE(name) extern const Group name[];
#include "tables.inc"
#undef TABLE
