// Calls of the kernel driver in the background let others go first: it serves one thread at a time, and making channels
// takes hundreds of calls of up to two milliseconds, each of which an allocation would wait for. Thread-safe.
#pragma once

namespace vg::backend::nvidia {

// This thread works in the background while it lives. Its first call leaves more time: whoever started it is about to
// make calls.
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
