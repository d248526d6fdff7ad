#include "ipc/service.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "base/sync/spin.h"
#include "ipc/channel.h"

namespace vg::ipc {

void Service::run() {
  for (;;) {
    // When no more can be taken the queue of the socket holds the rest.
    polled_[kListening].events = count_ < kMost && !resting() ? POLLIN : 0;
    const int wanted = turn(), own = count_ || resting() ? kTick : -1;
    const int ready =
        poll(polled_, kClients + count_, wanted < 0 || own < 0 ? std::max(wanted, own) : std::min(wanted, own));
    if (ready < 0 && errno != EINTR) rest();
    if (ready > 0) serve();
    dropLate();
  }
}

bool Service::resting() const { return restUntil_ && monotonicNanoseconds() < restUntil_; }
void Service::rest() { restUntil_ = monotonicNanoseconds() + kRestPeriod; }

void Service::serve() {
  for (unsigned i = kClients + count_; i-- > kClients;) {
    if (!polled_[i].revents) continue;
    const bool kept = (polled_[i].revents & POLLIN) && asked(polled_[i].fd);
    drop(i, !kept);
  }
  if (polled_[kWaking].revents & POLLIN) {
    uint64_t written;
    (void)!read(polled_[kWaking].fd, &written, sizeof written);
  }
  if (polled_[kListening].revents & POLLIN) take();
}

void Service::take() {
  const int client = accept4(polled_[kListening].fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) rest();
    return;
  }
  if (!peerIsOurUser(client, rootWillDo_)) {
    VG_LOG(Warn, "a request of a process of another user was refused");
    close(client);
    return;
  }
  const unsigned i = kClients + count_++;
  polled_[i] = {client, POLLIN, 0};
  until_[i] = monotonicNanoseconds() + kPatience;
}

void Service::drop(unsigned i, bool closing) {
  if (closing) close(polled_[i].fd);
  const unsigned last = kClients + --count_;
  polled_[i] = polled_[last];
  until_[i] = until_[last];
}

void Service::dropLate() {
  if (!count_) return;
  const uint64_t now = monotonicNanoseconds();
  for (unsigned i = kClients + count_; i-- > kClients;)
    if (now > until_[i]) drop(i, true);
}

}  // namespace vg::ipc
