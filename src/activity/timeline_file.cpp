#include "activity/timeline_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "activity/json.h"
#include "activity/output_name.h"
#include "base/log.h"
#include "base/system/file_size_guard.h"

namespace vg::activity {
namespace {

constexpr size_t kEnough = 256 << 10;  // bytes that are written at once

// Tracks of a device that are no streams: numbers that streams, which count from 1, do not reach.
constexpr uint64_t kMemoryTrack = 0;

const char* const kMemoryKinds[] = {"device memory",   "array",          "pool memory",   "managed memory",
                                    "pinned memory",   "registered",     "mapped memory", "graph memory",
                                    "imported memory", "physical memory"};

std::string readLine(const std::string& path) {
  char text[256];
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  std::string line(text, size > 0 ? static_cast<size_t>(size) : 0);
  if (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

double gigabytesPerSecond(const Work& work) {
  return static_cast<double>(work.bytes) / static_cast<double>(std::max<uint64_t>(work.end - work.begin, 1));
}

void appendTriple(std::string& out, const uint32_t (&values)[3]) {
  out += '[';
  for (int i = 0; i < 3; ++i) {
    if (i) out += ',';
    appendNumber(out, uint64_t{values[i]});
  }
  out += ']';
}

const char* categoryOf(WorkKind kind) {
  switch (kind) {
    case WorkKind::Kernel:
      return "kernel";
    case WorkKind::Copy:
      return "copy";
    case WorkKind::Fill:
      return "fill";
    case WorkKind::HostFunction:
      return "host_function";
    case WorkKind::Graph:
      return "graph";
  }
  return "work";
}

}  // namespace

const char* titleOf(const Work& work) {
  if (work.kind == WorkKind::Fill) return "fill";
  if (work.kind == WorkKind::HostFunction) return "host function";
  if (work.kind == WorkKind::Graph) return "graph";
  switch (work.copy) {
    case CopyKind::HostToDevice:
      return "copy host to device";
    case CopyKind::DeviceToHost:
      return "copy device to host";
    case CopyKind::DeviceToDevice:
      return "copy device to device";
    case CopyKind::HostToHost:
      return "copy host to host";
    case CopyKind::PeerToPeer:
      return "copy peer to peer";
    default:
      return "copy";
  }
}

std::unique_ptr<TimelineFile> TimelineFile::open(const std::string& wanted, bool keep) {
  std::string path;
  const int file = openOutput(wanted, keep, &path);
  if (file >= 0) return std::unique_ptr<TimelineFile>(new TimelineFile(file, path));
  VG_LOG(Error, "VERDIGRIS_TIMELINE: cannot write %s: %s; the program runs without a timeline", path.c_str(),
         std::strerror(errno));
  return nullptr;
}

TimelineFile::TimelineFile(int file, std::string path)
    : file_(file), path_(std::move(path)), process_(static_cast<uint64_t>(getpid())) {
  submitBegin_ = "},\n{\"ph\":\"s\",\"cat\":\"submit\",\"name\":\"submit\",\"pid\":";
  appendNumber(submitBegin_, process_);
  submitBegin_ += ",\"id\":";
  metadata("process_name", process_, process_, readLine("/proc/self/comm") + " (host)");
  sortIndex("process_sort_index", process_, process_, 0);
  flush();
}

TimelineFile::~TimelineFile() {
  if (file_ >= 0) ::close(file_);
}

// {"ph":"X","pid":1,"tid":2
void TimelineFile::begin(const char* phase, uint64_t process, uint64_t thread) {
  text_ += first_ ? "[\n{\"ph\":\"" : ",\n{\"ph\":\"";
  first_ = false;
  text_ += phase;
  text_ += "\",\"pid\":";
  appendNumber(text_, process);
  text_ += ",\"tid\":";
  appendNumber(text_, thread);
}

void TimelineFile::at(uint64_t nanoseconds) {
  text_ += ",\"ts\":";
  appendMicroseconds(text_, nanoseconds);
}

void TimelineFile::metadata(const char* what, uint64_t process, uint64_t thread, std::string_view name) {
  begin("M", process, thread);
  text_ += ",\"name\":\"";
  text_ += what;
  text_ += "\",\"args\":{\"name\":";
  appendJsonText(text_, name);
  text_ += "}";
  end();
}

void TimelineFile::sortIndex(const char* what, uint64_t process, uint64_t thread, uint64_t index) {
  begin("M", process, thread);
  text_ += ",\"name\":\"";
  text_ += what;
  text_ += "\",\"args\":{\"sort_index\":";
  appendNumber(text_, index);
  text_ += "}";
  end();
}

// A number that no process of the system has beside this one's devices: those of Linux end at 2^22.
uint64_t TimelineFile::deviceProcess(unsigned device) {
  const uint64_t process = (process_ << 8) + 1 + device;
  if (process == lastDevice_) return process;
  const bool isNew = devices_.insert(process).second;
  lastDevice_ = process;
  if (!isNew) return process;
  sortIndex("process_sort_index", process, kMemoryTrack, 1 + device);
  metadata("thread_name", process, kMemoryTrack, "memory");
  return process;
}

uint64_t TimelineFile::streamTrack(const Origin& origin) {
  const uint64_t process = deviceProcess(origin.device);
  if (process == lastProcess_ && origin.stream == lastTrack_) return origin.stream;  // it was written
  if (!tracks_.insert(process << 32 ^ origin.stream).second) return origin.stream;
  std::string name = "stream " + std::to_string(origin.stream);
  if (origin.streamKind == LegacyStream) name += " (default)";
  if (origin.streamKind == PerThreadStream) name += " (per thread)";
  metadata("thread_name", process, origin.stream, name);
  sortIndex("thread_sort_index", process, origin.stream, origin.stream);
  return origin.stream;
}

void TimelineFile::knowThread(uint32_t thread) {
  if (thread == lastThread_) return;
  lastThread_ = thread;
  if (!thread || !threads_.insert(thread).second) return;
  std::string name = readLine("/proc/self/task/" + std::to_string(thread) + "/comm");
  if (name.empty()) name = "thread";
  if (thread == process_) name += " (main)";
  metadata("thread_name", process_, thread, name + " " + std::to_string(thread));
}

void TimelineFile::take(const Record& record) {
  if (file_ < 0) return;
  switch (record.kind) {
    case RecordKind::Call:
      write(record.call);
      break;
    case RecordKind::Work:
      write(record.work);
      break;
    case RecordKind::Memory:
      write(record.memory);
      break;
    case RecordKind::Note:
      write(record.note);
      break;
    case RecordKind::Name:
      write(record.name);
      break;
  }
  if (text_.size() >= kEnough) writeToFile();
}

// ,"pid":1,"tid":2,"ts": of an event whose track is often that of the one before.
// Texts that are kept are made whole before they are known by what they are of: there may be no memory for a part.
void TimelineFile::writeTrack(uint64_t process, uint64_t track) {
  if (process != lastProcess_ || track != lastTrack_ || lastTrackText_.empty()) {
    std::string text = ",\"pid\":";
    appendNumber(text, process);
    text += ",\"tid\":";
    appendNumber(text, track);
    text += ",\"ts\":";
    lastTrackText_ = std::move(text);
    lastProcess_ = process;
    lastTrack_ = track;
  }
  text_ += lastTrackText_;
}

const TimelineFile::CallTexts& TimelineFile::textsOf(DescribeCall describe) {
  if (describe == lastCall_) return *lastCallTexts_;
  auto found = calls_.find(describe);
  if (found == calls_.end()) {
    const CallDescription what = describe();
    CallTexts texts;
    texts.write = what.write;
    texts.begin = std::string(",\n{\"ph\":\"X\",\"cat\":\"api\",\"name\":\"") + what.symbol + "\",\"pid\":";
    appendNumber(texts.begin, process_);
    texts.begin += ",\"tid\":";
    std::string_view names(what.names);
    names = names.substr(1, names.size() - 2);  // the parentheses
    for (unsigned i = 0; i < std::min(what.count, Call::kMostArguments); ++i) {
      const size_t comma = std::min(names.find(','), names.size());
      texts.arguments.push_back(",\"" + std::string(names.substr(0, comma)) + "\":");
      names.remove_prefix(std::min(comma + 2, names.size()));
    }
    found = calls_.emplace(describe, std::move(texts)).first;
  }
  lastCall_ = describe;
  lastCallTexts_ = &found->second;
  return found->second;
}

void TimelineFile::write(const Call& call) {
  knowThread(call.thread);
  const CallTexts& texts = textsOf(call.describe);
  text_ += texts.begin;
  appendNumber(text_, uint64_t{call.thread});
  at(call.begin);
  text_ += ",\"dur\":";
  appendMicroseconds(text_, call.end - call.begin);
  text_ += ",\"args\":{\"result\":";
  if (call.resultName) {
    text_ += '"';
    text_ += call.resultName;
    text_ += '"';
  } else {
    appendNumber(text_, int64_t{call.result});
  }
  text_ += ",\"correlation\":";
  appendNumber(text_, call.correlation);
  for (unsigned i = 0; i < texts.arguments.size(); ++i) {
    const size_t before = text_.size();
    text_ += texts.arguments[i];
    if (!texts.write(i, text_, call.arguments[i])) text_.resize(before);
  }
  text_ += "}}";
}

bool TimelineFile::LaunchTexts::are(const Work& work) const {
  return !begin.empty() && dynamicShared == work.dynamicShared && !std::memcmp(grid, work.grid, sizeof grid) &&
         !std::memcmp(block, work.block, sizeof block) && name == work.name.view();
}

const TimelineFile::LaunchTexts& TimelineFile::textsOf(const Work& work) {
  const size_t hash = std::hash<std::string_view>()(work.name.view()) ^ work.grid[0] ^ work.block[0] * 31u;
  LaunchTexts& texts = launches_[hash % launches_.size()];
  if (texts.are(work)) return texts;
  texts.begin.clear();  // should there be no memory for the rest
  texts.name = work.name.view();
  std::memcpy(texts.grid, work.grid, sizeof texts.grid);
  std::memcpy(texts.block, work.block, sizeof texts.block);
  texts.dynamicShared = work.dynamicShared;
  std::string begin = ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":";
  appendJsonText(begin, names_.shortName(work.name.view()));
  begin += ",\"args\":{\"grid\":";
  appendTriple(begin, work.grid);
  begin += ",\"block\":";
  appendTriple(begin, work.block);
  begin += ",\"dynamic shared\":";
  appendNumber(begin, uint64_t{work.dynamicShared});
  begin += ",\"symbol\":";
  appendJsonText(begin, work.name.view());
  begin += ",\"correlation\":";
  texts.begin = std::move(begin);
  return texts;
}

void TimelineFile::writeLaunch(const Work& work, uint64_t process, uint64_t track) {
  text_ += textsOf(work).begin;
  appendNumber(text_, work.origin.correlation);
  text_ += '}';
  writeTrack(process, track);
  appendMicroseconds(text_, work.begin);
  text_ += ",\"dur\":";
  appendMicroseconds(text_, work.end - work.begin);
  text_ += '}';
}

void TimelineFile::write(const Work& work) {
  const uint64_t process = deviceProcess(work.origin.device);
  const uint64_t track = streamTrack(work.origin);
  if (work.kind == WorkKind::Kernel) {
    writeLaunch(work, process, track);
    return writeFlow(work, process, track);
  }
  begin("X", process, track);
  at(work.begin);
  text_ += ",\"dur\":";
  appendMicroseconds(text_, work.end - work.begin);
  text_ += ",\"cat\":\"";
  text_ += categoryOf(work.kind);
  text_ += "\",\"name\":\"";
  text_ += titleOf(work);
  text_ += "\",\"args\":{\"correlation\":";
  appendNumber(text_, work.origin.correlation);
  writeDetails(work);
  text_ += '}';
  end();
  writeFlow(work, process, track);
}

void TimelineFile::writeDetails(const Work& work) {
  if (work.kind == WorkKind::Graph) {
    text_ += ",\"nodes\":";
    appendNumber(text_, uint64_t{work.nodes});
  } else if (work.kind != WorkKind::HostFunction) {
    text_ += ",\"bytes\":";
    appendNumber(text_, work.bytes);
    text_ += ",\"GB/s\":";
    appendReal(text_, gigabytesPerSecond(work));
  }
  if (work.pageable) text_ += ",\"pageable\":true";
}

// An arrow from the call to what it made run.
void TimelineFile::writeFlow(const Work& work, uint64_t process, uint64_t track) {
  if (!work.origin.correlation) return;
  knowThread(work.origin.thread);
  text_ += ",\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"submit\",\"name\":\"submit\",\"id\":";
  appendNumber(text_, work.id);
  writeTrack(process, track);
  appendMicroseconds(text_, work.begin);
  text_ += submitBegin_;
  appendNumber(text_, work.id);
  text_ += ",\"tid\":";
  appendNumber(text_, uint64_t{work.origin.thread});
  at(work.origin.submitted);
  text_ += '}';
}

void TimelineFile::write(const Memory& memory) {
  const char* const kind = kMemoryKinds[static_cast<size_t>(memory.kind)];
  const uint64_t process = memory.ofDevice ? deviceProcess(memory.device) : process_;
  const uint64_t track = memory.ofDevice ? kMemoryTrack : memory.thread;
  if (!memory.ofDevice) knowThread(memory.thread);
  begin("i", process, track);
  at(memory.time);
  text_ += ",\"s\":\"t\",\"cat\":\"memory\",\"name\":\"";
  text_ += memory.freed ? "free " : "allocate ";
  text_ += kind;
  text_ += "\",\"args\":{\"bytes\":";
  appendNumber(text_, memory.bytes);
  text_ += ",\"address\":";
  appendAddress(text_, memory.address);
  text_ += ",\"thread\":";
  appendNumber(text_, uint64_t{memory.thread});
  text_ += ",\"correlation\":";
  appendNumber(text_, memory.correlation);
  text_ += '}';
  end();
  writeCounter(memory);
}

void TimelineFile::writeCounter(const Memory& memory) {
  begin("C", memory.ofDevice ? deviceProcess(memory.device) : process_, kMemoryTrack);
  at(memory.time);
  text_ += ",\"name\":\"";
  text_ += memory.ofDevice ? "memory in use" : kMemoryKinds[static_cast<size_t>(memory.kind)];
  text_ += "\",\"args\":{\"bytes\":";
  appendNumber(text_, memory.inUse);
  text_ += '}';
  end();
}

void TimelineFile::write(const Note& note) {
  constexpr const char* kPhases[] = {"i", "B", "E", "b", "e"};
  knowThread(note.thread);
  begin(kPhases[static_cast<size_t>(note.kind)], process_, note.thread);
  at(note.time);
  text_ += ",\"cat\":\"nvtx\",\"name\":";
  appendJsonText(text_, note.name.view());
  if (note.kind == NoteKind::Mark) text_ += ",\"s\":\"t\"";
  if (note.kind == NoteKind::Start || note.kind == NoteKind::End) {
    text_ += ",\"id\":";
    appendNumber(text_, note.id);
  }
  text_ += ",\"args\":{\"domain\":";
  appendJsonText(text_, note.domain.view());
  if (note.category) {
    text_ += ",\"category\":";
    appendNumber(text_, uint64_t{note.category});
  }
  if (note.colored) {
    text_ += ",\"color\":";
    appendAddress(text_, note.color);
  }
  if (note.payloadType) {
    text_ += ",\"payload\":";
    double real = 0;
    float shorter = 0;
    std::memcpy(&real, &note.payload, sizeof real);
    std::memcpy(&shorter, &note.payload, sizeof shorter);
    if (note.payloadType == 3 || note.payloadType == 6)
      appendReal(text_, note.payloadType == 3 ? real : double{shorter});
    else if (note.payloadType == 2)
      appendNumber(text_, static_cast<int64_t>(note.payload));
    else if (note.payloadType == 5)
      appendNumber(text_, int64_t{static_cast<int32_t>(note.payload)});
    else
      appendNumber(text_, note.payloadType == 4 ? note.payload & 0xffffffff : note.payload);
  }
  text_ += '}';
  end();
}

void TimelineFile::write(const Name& name) {
  if (name.what == Named::Device) {
    const uint64_t process = deviceProcess(name.device);
    metadata("process_name", process, kMemoryTrack,
             "device " + std::to_string(name.device) + ": " + std::string(name.name.view()));
  } else if (name.what == Named::Stream) {
    const uint64_t process = deviceProcess(name.device);
    tracks_.insert(process << 32 ^ name.number);
    metadata("thread_name", process, name.number, name.name.view());
  } else {
    threads_.insert(static_cast<uint32_t>(name.number));
    metadata("thread_name", process_, name.number, name.name.view());
  }
}

void TimelineFile::lost(uint64_t records) {
  VG_LOG(Warn, "timeline: %llu events were dropped because they came too fast",
         static_cast<unsigned long long>(records));
}

void TimelineFile::flush() {
  if (!text_.empty()) writeToFile();
}

void TimelineFile::finish() {
  text_ += "\n]\n";
  flush();
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void TimelineFile::writeToFile() {
  const FileSizeGuard guard;
  std::string_view left = text_;
  while (file_ >= 0 && !left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      VG_LOG(Error, "timeline: cannot write %s: %s; the rest is missing, and the program goes on", path_.c_str(),
             std::strerror(errno));
      const size_t whole = text_.rfind(",\n", text_.size() - left.size());  // no half of an event
      (void)!ftruncate(file_, static_cast<off_t>(size_ + (whole == std::string::npos ? 0 : whole)));
      ::close(file_);
      file_ = -1;
    }
  }
  size_ += text_.size();
  text_.clear();
}

}  // namespace vg::activity
