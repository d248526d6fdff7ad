// The same for a process that was not started with LD_AUDIT: the symbol table of a compiler that is loaded already is
// changed in memory, so that dlsym and libraries that come later find the replacements. What was bound before stays.
// The Python package does this (python/verdigris).
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "redirect/compilers.h"
#include "redirect/replacement.h"

namespace vg::redirect {
namespace {

struct SymbolTable {
  ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;
  const uint32_t* gnuHash = nullptr;

  size_t count() const;
};

SymbolTable tableOf(const link_map& library) {
  SymbolTable table;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;  // glibc has made addresses of these
    if (entry->d_tag == DT_SYMTAB) table.symbols = reinterpret_cast<ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) table.names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_HASH) table.hash = reinterpret_cast<const uint32_t*>(address);
    if (entry->d_tag == DT_GNU_HASH) table.gnuHash = reinterpret_cast<const uint32_t*>(address);
  }
  return table;
}

// The GNU hash table ends with the chain of the highest symbol; its last link has bit 0 set.
size_t SymbolTable::count() const {
  if (hash) return hash[1];
  if (!gnuHash) return 0;
  const uint32_t buckets = gnuHash[0], first = gnuHash[1], bloom = gnuHash[2];
  const uint32_t* const bucket = gnuHash + 4 + bloom * (sizeof(void*) / sizeof(uint32_t));
  const uint32_t* const chain = bucket + buckets;
  uint32_t highest = 0;
  for (uint32_t i = 0; i < buckets; ++i) highest = bucket[i] > highest ? bucket[i] : highest;
  if (highest < first) return first;
  while (!(chain[highest - first] & 1)) ++highest;
  return highest + 1;
}

struct Sought {
  const link_map* library;
  uintptr_t address;
  int protection;
};

// What the library's segment at the address may be used for. A symbol table may share its pages with code.
int protectionOf(const link_map* library, uintptr_t address) {
  Sought sought{library, address, PROT_READ};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Sought*>(data);
        if (info->dlpi_addr != s.library->l_addr) return 0;
        for (int n = 0; n < info->dlpi_phnum; ++n) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[n];
          if (segment.p_type != PT_LOAD || s.address - (info->dlpi_addr + segment.p_vaddr) >= segment.p_memsz) continue;
          if (segment.p_flags & PF_X) s.protection |= PROT_EXEC;
        }
        return 1;
      },
      &sought);
  return sought.protection;
}

// Makes the pages of an object writable, and at the end what they were but not writable.
class Writable {
 public:
  Writable(const link_map* library, void* object, size_t bytes) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto at = reinterpret_cast<uintptr_t>(object);
    begin_ = at / page * page;
    size_ = (at + bytes + page - 1) / page * page - begin_;
    before_ = protectionOf(library, at);
    done_ = mprotect(reinterpret_cast<void*>(begin_), size_, before_ | PROT_WRITE) == 0;
  }
  Writable(const Writable&) = delete;
  ~Writable() {
    if (done_) mprotect(reinterpret_cast<void*>(begin_), size_, before_);
  }
  bool done() const { return done_; }

 private:
  uintptr_t begin_ = 0;
  size_t size_ = 0;
  int before_ = PROT_READ;
  bool done_ = false;
};

bool redirect(Handle library, ElfW(Sym) & symbol, const char* name, void* replacement) {
  const Writable page(library, &symbol, sizeof symbol);
  if (!page.done() || !keepOriginal(library, name, reinterpret_cast<void*>(library->l_addr + symbol.st_value)))
    return false;
  symbol.st_value = reinterpret_cast<uintptr_t>(replacement) - library->l_addr;
  return true;
}

}  // namespace
}  // namespace vg::redirect

using namespace vg::redirect;

// `opened`: what dlopen returned for libnvrtc or libnvJitLink; call once for each, from one thread at a time, with the
// driver's library loaded. How many functions lead elsewhere now; -1 when the library is no such compiler.
extern "C" [[gnu::visibility("default")]] int verdigrisRedirect(void* opened) {
  const auto* const library = static_cast<const link_map*>(opened);
  const Library kind = library ? libraryOf(library->l_name) : Library::Other;
  if (kind == Library::Other) return -1;
  theDriver = static_cast<const link_map*>(dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY));
  const SymbolTable table = tableOf(*library);
  const unsigned number = nextNumber(kind);
  int changed = 0;
  for (size_t i = 0; table.symbols && table.names && i < table.count(); ++i) {
    ElfW(Sym)& symbol = table.symbols[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    const char* const name = table.names + symbol.st_name;
    if (void* const replacement = replacementIn(kind, name, library, number))
      changed += redirect(library, symbol, name, replacement);
  }
  return changed;
}
