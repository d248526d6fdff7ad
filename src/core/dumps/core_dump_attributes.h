// What an application wants of core dumps of its kernels: the attributes of cuCoredumpGetAttribute and its kin. The
// process has one set of them, which may be asked and changed before cuInit; a context takes a copy when it begins and
// has its own from then on. Variables of the environment win over what is set: an attribute that one of them names is
// theirs, and setting it changes nothing.
//
// All functions are thread-safe. The rules are recorded from the vendor's driver.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <string>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::core {

class DumpAttributes {
 public:
  enum class Of { Process, Context };
  static constexpr size_t kNameBytes = 1024;  // of a file or pipe, with its terminator

  explicit constexpr DumpAttributes(Of owner) : owner_(owner) {}
  DumpAttributes(const DumpAttributes&) = delete;

  // `value` null: only tells how large the value is. Numbers want exactly that size; of a name as much as there is room
  // for is given, with a terminator. CUDA_ERROR_INVALID_VALUE for other sizes, and for attributes that a context has
  // not.
  CUresult get(CUcoredumpSettings which, void* value, size_t* size) const;
  // The names of a process's file and pipe are expanded at once (expandDumpName). CUDA_ERROR_NOT_SUPPORTED for a pipe's
  // name when dumps on request are enabled already.
  CUresult set(CUcoredumpSettings which, const void* value, size_t* size);

  // What a context begins with. `enabled`: its flags ask for dumps.
  void copyFrom(const DumpAttributes& process, bool enabled);
  // For the process's: takes over what the settings say.
  void readSettings();
  // The pipe's name from now on, unless there is one already.
  void namePipe(const std::string& name);

  struct Values {
    // Bytes, not bools: what the application wrote is what it reads.
    unsigned char onException = 0, onRequest = 0;
    bool armed = false;  // of a context: it began with dumps enabled, without which none is written
    unsigned flags = CU_COREDUMP_DEFAULT_FLAGS;
    char file[kNameBytes] = {}, pipe[kNameBytes] = {};
  };
  Values values() const;

 private:
  Result<size_t> sizeOf(CUcoredumpSettings which) const;
  CUresult setName(char* name, const char* text, size_t size) VG_REQUIRES(mutex_);
  void setFlags(unsigned bits, unsigned among) VG_REQUIRES(mutex_);

  // What the environment has said: nothing else changes it.
  struct Fixed {
    bool onException = false, onRequest = false, file = false, pipe = false;
    unsigned flags = 0;  // these bits
  };

  const Of owner_;
  mutable Mutex mutex_;
  Values values_ VG_GUARDED_BY(mutex_);
  Fixed fixed_ VG_GUARDED_BY(mutex_);
};

// The process's. Never destroyed.
DumpAttributes& processDumpAttributes();

// %h becomes the name of the host, %p the process's number, %t the seconds since 1970.
std::string expandDumpName(const std::string& name);

}  // namespace vg::core
