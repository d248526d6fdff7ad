// The last failures of the library, for the log functions of the API: what was wrong, and which call returned what.
//
// Entries are kept in a ring whether or not the log shows them. Those who asked to be called are called by the thread
// that leaves a failed call, with no lock held. All functions may be called from any thread, before initialisation too.
#pragma once

#include <cuda.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>

namespace vg::log {

enum class Severity : uint8_t { Error = CU_LOG_LEVEL_ERROR, Warning = CU_LOG_LEVEL_WARNING };

// Whether the calling thread expects its calls to fail, and wants no entries of them: the CUDA runtime says so around
// questions that only some drivers can answer.
extern constinit thread_local bool expectsFailures [[gnu::tls_model("initial-exec")]];

// Appends a formatted entry.
void remember(Severity severity, const char* format, va_list arguments);
// Appends "Returning 1 (CUDA_ERROR_INVALID_VALUE) from <call>" and calls whoever asked with everything new.
[[gnu::cold]] void callFailed(const char* call, CUresult result, const char* resultName);

// Why something failed on this thread, in words: its newest entry that is still kept; "" when there is none.
std::string lastReason();

// The number of entries so far, which names the next one.
uint32_t position();
// Writes entries from number `from` on that are still kept as lines with a zero at the end, as many whole lines as
// `size` has room for. Returns the bytes before the zero; `from` becomes the number of the first entry that was not
// written.
size_t dump(uint32_t& from, char* buffer, size_t size);

struct Subscriber;
Subscriber* subscribe(CUlogsCallback callback, void* data);
// False when there is no such subscriber (any more).
bool unsubscribe(Subscriber* subscriber);

}  // namespace vg::log
