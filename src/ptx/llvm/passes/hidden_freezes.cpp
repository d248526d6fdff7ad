#include "ptx/llvm/passes/hidden_freezes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

constexpr const char* kName = "vg.freeze";  // LLVM numbers them, one for each type

llvm::Function* makeStandIn(llvm::Module& module, llvm::Type* type) {
  auto* const standIn = llvm::Function::Create(llvm::FunctionType::get(type, {type}, false),
                                               llvm::GlobalValue::ExternalLinkage, kName, module);
  standIn->setDoesNotAccessMemory();
  for (const auto attribute : {llvm::Attribute::NoUnwind, llvm::Attribute::WillReturn, llvm::Attribute::Speculatable})
    standIn->addFnAttr(attribute);
  return standIn;
}

}  // namespace

void hideFreezes(llvm::Function& function) {
  std::vector<llvm::FreezeInst*> freezes;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(&i)) freezes.push_back(freeze);
  llvm::DenseMap<llvm::Type*, llvm::Function*> standIns;
  for (llvm::FreezeInst* freeze : freezes) {
    llvm::Function*& standIn = standIns[freeze->getType()];
    if (!standIn) standIn = makeStandIn(*function.getParent(), freeze->getType());
    llvm::IRBuilder<> b(freeze);
    freeze->replaceAllUsesWith(b.CreateCall(standIn, {freeze->getOperand(0)}));
    freeze->eraseFromParent();
  }
}

void showFreezes(llvm::Function& function) {
  std::vector<llvm::Function*> standIns;
  for (llvm::Function& other : *function.getParent())
    if (other.isDeclaration() && other.getName().starts_with(kName)) standIns.push_back(&other);
  for (llvm::Function* standIn : standIns) {
    for (llvm::User* user : llvm::make_early_inc_range(standIn->users())) {
      auto* const call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> b(call);
      call->replaceAllUsesWith(b.CreateFreeze(call->getArgOperand(0)));
      call->eraseFromParent();
    }
    standIn->eraseFromParent();
  }
}

}  // namespace vg::ptx::gen
