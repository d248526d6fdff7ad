// The pipe with a name by which somebody asks for core dumps (core/dumps/dump_requests.h): one in the process.
#pragma once

namespace vg::core::dump {

// Makes the pipe at `path` and a thread that runs serve(), once in the process. What cannot be had is said in the log.
void openPipe(const char* path, void (*serve)(void* descriptor));
bool pipeIsOpen();
// For the end of the process: takes the pipe away.
void endRequests();

}  // namespace vg::core::dump
