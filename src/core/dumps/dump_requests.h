// Core dumps that somebody asks for, by writing to a pipe that has a name (CU_COREDUMP_ENABLE_USER_TRIGGER). They tell
// of the first context that has dumps enabled.
#pragma once

namespace vg::core {

namespace dump {

// For a context that begins: makes the pipe and a thread that reads it, once in the process, when the process's
// attributes want it or `byFlag` says that the context does. What cannot be had is said in the log.
void awaitRequests(bool byFlag);

}  // namespace dump
}  // namespace vg::core
