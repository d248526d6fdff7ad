// Memory that is there again in a moment. A kernel half done, or what it asks for, has nobody to tell that there was
// none: a thread at such work waits for it a while before `new` throws.
#pragma once

namespace vg {

// While alive, `new` of the calling thread tries again, for some 20 ms in all.
class Patience {
 public:
  Patience() noexcept;
  ~Patience();
  Patience(const Patience&) = delete;

 private:
  const bool before_;
};

}  // namespace vg
