#include "backend/cpu/functions/apart_functions.h"

#include <new>
#include <utility>

#include "base/log.h"
#include "base/system/os.h"
#include "ptx/facts/layout.h"

namespace vg::backend::cpu {

class ApartFunctions::Function final : public upgrades::Upgradable {
 public:
  Function(ApartFunctions& all, uint32_t number) : all_(all), number_(number) {}

  const std::string& name() const override { return all_.module_.functions[number_].name; }
  const LoadedKernel* ready() const { return ready_.load(std::memory_order_acquire); }

  KernelCache::Key keyOfGood(const CodeVariant& variant) const override {
    return all_.kernel_.keyOfBetter(variant, number_);
  }

  CUresult upgrade(const CodeVariant& variant, engine::Effort effort) override {
    auto made = all_.kernel_.makeBetter(variant, number_, effort);
    if (!made.ok()) return made.error();
    const MutexLock lock(mutex_);
    better_ = std::move(*made);
    ready_.store(better_.get(), std::memory_order_release);
    VG_LOG(Info, "function %s has good code in place of quick code", name().c_str());
    return CUDA_SUCCESS;
  }

  void make() {
    auto made = all_.kernel_.makeFunction(all_.variant_, number_);
    const MutexLock lock(mutex_);
    if (made.ok()) first_ = std::move(*made);
    ready_.store(first_.get(), std::memory_order_release);
    state_ = State::Done;
    changed_.notify_all();
  }

  // Waits until somebody has made the code, and has it begun by `begin` where nobody has.
  template <class Begin>
  const LoadedKernel* wait(Begin begin) {
    ReleasableLock lock(mutex_);
    if (state_ == State::Nothing && begin()) state_ = State::Coming;
    while (state_ == State::Coming) lock.wait(changed_);
    return ready();
  }

  // For who looks for an address in it.
  uint32_t lineAt(const void* codeAddress) const {
    const MutexLock lock(mutex_);
    for (const LoadedKernel* const code : {first_.get(), better_.get()})
      if (const uint32_t line = code ? code->lineAt(codeAddress) : 0) return line;
    return 0;
  }

 private:
  enum class State : uint8_t { Nothing, Coming, Done };

  ApartFunctions& all_;
  const uint32_t number_;
  std::atomic<const LoadedKernel*> ready_{nullptr};
  mutable Mutex mutex_;
  std::condition_variable changed_;
  State state_ VG_GUARDED_BY(mutex_) = State::Nothing;
  // As it was made first, and what took its place; launches may still run the first.
  std::unique_ptr<const LoadedKernel> first_ VG_GUARDED_BY(mutex_), better_ VG_GUARDED_BY(mutex_);
};

// What the thread that makes a function is given: what it belongs to lives until it has.
struct ApartFunctions::Order {
  std::shared_ptr<const void> owner;
  Function* function;
};

ApartFunctions::ApartFunctions(std::weak_ptr<const void> owner, const ptx::Module& module, FunctionMaker& kernel,
                               const CodeVariant& variant)
    : owner_(std::move(owner)),
      module_(module),
      kernel_(kernel),
      variant_(variant),
      functions_(module.functions.size()) {
  for (uint32_t n = 0; n < functions_.size(); ++n) {
    const ptx::Function& f = module.functions[n];
    if (!f.isEntry && !f.isDeclaration && f.parameters.empty() && f.returns.empty())
      functions_[n] = std::make_unique<Function>(*this, n);
  }
}

ApartFunctions::~ApartFunctions() = default;

bool ApartFunctions::isFunction(uint64_t address, uint32_t& number) const {
  const uint64_t offset = address - ptx::functionAddress(0);
  number = static_cast<uint32_t>(offset / 16);
  return offset % 16 == 0 && offset / 16 < functions_.size() && functions_[number];
}

void ApartFunctions::make(void* order) {
  const std::unique_ptr<Order> given(static_cast<Order*>(order));
  given->function->make();
}

// False: no memory, or no thread.
bool ApartFunctions::begin(Function& function) {
  auto order = std::unique_ptr<Order>(new (std::nothrow) Order{owner_.lock(), &function});
  if (!order || !order->owner || !os::startThread("vg-apart", make, order.get())) return false;
  static_cast<void>(order.release());  // the thread's own now
  return true;
}

const LoadedKernel* ApartFunctions::ready(uint32_t number) const { return functions_[number]->ready(); }

const LoadedKernel* ApartFunctions::code(uint32_t number) {
  Function& function = *functions_[number];
  return function.wait([&] { return begin(function); });
}

void ApartFunctions::upgradeLater(uint32_t number) { upgrades::enqueue(owner_, *functions_[number], variant_, false); }

uint32_t ApartFunctions::lineAt(const void* codeAddress) const {
  for (const auto& function : functions_)
    if (const uint32_t line = function && function->ready() ? function->lineAt(codeAddress) : 0) return line;
  return 0;
}

}  // namespace vg::backend::cpu
