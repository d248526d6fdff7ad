#include "backend/device_side/kernel_print.h"

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <list>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::backend::print {
namespace {

// Takes values out of a packed argument buffer.
class Arguments {
 public:
  explicit Arguments(const std::byte* bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    at_ = (at_ + sizeof(T) - 1) & ~(sizeof(T) - 1);
    T value;
    std::memcpy(&value, bytes_ + at_, sizeof(T));
    at_ += sizeof(T);
    ++count_;
    return value;
  }
  int32_t count() const { return count_; }

 private:
  const std::byte* bytes_;
  size_t at_ = 0;
  int32_t count_ = 0;
};

// One conversion: %[flags][width][.precision][length]letter, with the * already replaced.
struct Conversion {
  std::string text;   // up to but without length and letter
  bool wide = false;  // 64-bit integer
  int halves = 0;     // h or hh
  char letter = 0;
};

template <class T>
void append(std::string& out, const std::string& specification, T value) {
  char small[256];
  const int length = std::snprintf(small, sizeof small, specification.c_str(), value);
  if (length < 0) return;
  if (static_cast<size_t>(length) < sizeof small) {
    out.append(small, length);
    return;
  }
  const size_t before = out.size();
  out.resize(before + length + 1);
  std::snprintf(&out[before], length + 1, specification.c_str(), value);
  out.pop_back();
}

// Keeps widths within what any output needs: a kernel's width must not make us take gigabytes.
constexpr int kWidest = 4096;

void takeNumber(const char*& at, Arguments& arguments, std::string& text) {
  if (*at == '*') {
    ++at;
    const int value = arguments.take<int32_t>();
    text += std::to_string(value > kWidest ? kWidest : value < -kWidest ? -kWidest : value);
    return;
  }
  int value = 0;
  bool any = false;
  for (; std::isdigit(static_cast<unsigned char>(*at)); ++at, any = true)
    value = value < kWidest ? value * 10 + (*at - '0') : value;
  if (any) text += std::to_string(value > kWidest ? kWidest : value);
}

Conversion parse(const char*& at, Arguments& arguments) {
  Conversion conversion;
  conversion.text = "%";
  for (; *at && std::strchr("-+ #0", *at); ++at) conversion.text += *at;
  takeNumber(at, arguments, conversion.text);
  if (*at == '.') {
    std::string precision(1, *at++);
    takeNumber(at, arguments, precision);
    if (precision.size() < 2 || precision[1] != '-') conversion.text += precision;  // a negative one is none
  }
  for (;; ++at) {
    if (*at == 'l' || *at == 'z' || *at == 'j' || *at == 't' || *at == 'q') {
      conversion.wide = true;
    } else if (*at == 'h') {
      ++conversion.halves;
    } else if (*at != 'L') {
      break;
    }
  }
  if (*at) conversion.letter = *at++;
  return conversion;
}

void appendInteger(std::string& out, const Conversion& conversion, Arguments& arguments) {
  if (conversion.wide) {
    append(out, conversion.text + "ll" + conversion.letter, arguments.take<long long>());
  } else {
    const char* const length = conversion.halves == 0 ? "" : conversion.halves == 1 ? "h" : "hh";
    append(out, conversion.text + length + conversion.letter, arguments.take<int32_t>());
  }
}

void convert(std::string& out, const Conversion& conversion, Arguments& arguments, Texts* texts) {
  switch (conversion.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      appendInteger(out, conversion, arguments);
      break;
    case 'c':
      append(out, conversion.text + 'c', arguments.take<int32_t>());
      break;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      append(out, conversion.text + conversion.letter, arguments.take<double>());
      break;
    case 'p':
      append(out, conversion.text + 'p', arguments.take<void*>());
      break;
    case 's': {
      const char* text = arguments.take<const char*>();
      if (text && texts) text = texts->next();
      append(out, conversion.text + 's', text ? text : "(null)");
      break;
    }
    case '%':
      out += '%';
      break;
    default:  // not a conversion that kernels have: shown as it stands
      out += conversion.text;
      if (conversion.letter) out += conversion.letter;
  }
}

// Never destroyed: kernels may print while the process exits.
struct Queue {
  Mutex mutex;
  std::list<std::string> texts VG_GUARDED_BY(mutex);
  size_t bytes VG_GUARDED_BY(mutex) = 0;
};
Queue& theQueue() { return undying<Queue, Queue>(); }
constinit std::atomic<bool> filled{false};

}  // namespace

int32_t format(const char* format, const std::byte* argumentBytes, std::string& out, Texts* texts) {
  Arguments arguments(argumentBytes);
  for (const char* at = format; *at;) {
    if (*at != '%') {
      const char* const end = strchrnul(at, '%');
      out.append(at, end - at);
      at = end;
      continue;
    }
    ++at;
    convert(out, parse(at, arguments), arguments, texts);
  }
  return arguments.count();
}

std::string textOf(const Assertion& assertion) {
  const auto given = [](const char* text) { return text ? text : ""; };
  const uint32_t(&block)[3] = assertion.block;
  const uint32_t(&thread)[3] = assertion.thread;
  char line[3 * kWidest];
  const int length = std::snprintf(
      line, sizeof line, "%.4095s:%u: %.4095s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%.2048s` failed.\n",
      given(assertion.file), assertion.line, given(assertion.function), block[0], block[1], block[2], thread[0],
      thread[1], thread[2], given(assertion.message));
  return {line, static_cast<size_t>(length)};
}

void queue(const std::string& text, size_t limit) {
  Queue& queue = theQueue();
  const MutexLock lock(queue.mutex);
  queue.texts.push_back(text);
  queue.bytes += text.size();
  while (queue.bytes > limit && queue.texts.size() > 1) {
    queue.bytes -= queue.texts.front().size();
    queue.texts.pop_front();
  }
  filled.store(true, std::memory_order_release);
}

void flush() noexcept {
  if (!filled.load(std::memory_order_acquire)) [[likely]]
    return;
  Queue& queue = theQueue();
  const MutexLock lock(queue.mutex);
  for (const std::string& text : queue.texts) std::fwrite(text.data(), 1, text.size(), stdout);
  queue.texts.clear();
  queue.bytes = 0;
  filled.store(false, std::memory_order_relaxed);
}

}  // namespace vg::backend::print
