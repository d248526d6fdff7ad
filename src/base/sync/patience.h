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

// How often what was lacking is looked for, a thousandth of a second apart.
inline constexpr int kTriesOfAMoment = 20;
// A thousandth of a second, in which others may give back what was lacking.
void napForOthers();

// Calls `attempt` until it says that it is done, for some 20 ms in all; whether it was.
template <class Attempt>
bool inAMoment(const Attempt& attempt) {
  for (int tries = kTriesOfAMoment;; --tries) {
    if (attempt()) return true;
    if (tries == 1) return false;
    napForOthers();
  }
}

}  // namespace vg
