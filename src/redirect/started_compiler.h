// Compilers of GPU code that are programs of their own: ptxas and nvlink. The dynamic linker gives them this library,
// as it does with all that `verdigris run` starts, and before they begin they become a stand-in (tools/stand_in.h) that
// gives the PTX back: whoever started them, by whatever function, needs to know nothing of it.
//
// That happens where a process uses Verdigris's driver and wants code for it, not where a program is being built: the
// nearest ancestor that is nvcc or clang, or has our libcuda.so.1 mapped, decides; without either nothing changes.
//
// nvcc stays what it is, but where such a process starts it for native code alone it is asked for PTX beside it: what
// it builds is most likely a library that the process will open.
#pragma once

namespace vg::redirect {

// Returns where the program stays what it is. Called once, before the program begins.
void becomeStandIn();

}  // namespace vg::redirect
