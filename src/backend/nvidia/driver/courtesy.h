// Calls of the kernel driver in the background let others go first: it serves one thread at a time, and making channels
// takes hundreds of calls of up to a millisecond, each of which an allocation would wait for. Thread-safe.
#pragma once

namespace vg::backend::nvidia {

// This thread works in the background while it lives.
class InBackground {
 public:
  InBackground();
  ~InBackground();
  InBackground(const InBackground&) = delete;
};

// Around one call: in the background it begins once nobody else has made any for a moment, or after some milliseconds.
class Courtesy {
 public:
  Courtesy();
  ~Courtesy();
  Courtesy(const Courtesy&) = delete;
};

}  // namespace vg::backend::nvidia
