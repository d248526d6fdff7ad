// The exporter's side: what this process lets others open, and the thread that hands it out.
//
// The thread and its socket exist from the first export on, never before; it blocks all signals, holds no lock while it
// talks, and ends with the process. A forked child closes the socket and exports nothing. All functions are
// thread-safe.
#pragma once

#include <memory>

#include "ipc/channel.h"

namespace vg::ipc {

// Something that is offered to other processes. Asked from the exporter's thread.
class Offer {
 public:
  virtual ~Offer() = default;
  // A descriptor that the caller owns; CUDA_ERROR_INVALID_VALUE once the object has ended.
  virtual Result<int> descriptor() const = 0;
  // False for ever once the object has ended: the offer may be forgotten.
  virtual bool lives() const = 0;
  virtual Note note() const = 0;
};

// The handle under which others open the object. The same one as before while an offer of this subject and id lives;
// an id is never used for two objects. CUDA_ERROR_OUT_OF_MEMORY when the thread or its socket cannot be had.
Result<Handle> publish(Subject subject, uint64_t id, std::shared_ptr<const Offer> offer);

// Where this process listens; starts to.
Result<Address> listen();
// Whether this process listens there.
bool isOurs(const Address& address);

}  // namespace vg::ipc
