// MLIR's AffineExpr as a peer. It knows no ranges of variables: what needs one stays.
#include <mlir/IR/AffineExpr.h>
#include <mlir/IR/MLIRContext.h>

#include <llvm/Support/raw_ostream.h>
#include <optional>

#include "bench/harness.h"
#include "bench/peers.h"

namespace strata::bench {

namespace {

using mlir::AffineExpr;

class MlirBuilder {
 public:
  explicit MlirBuilder(const Program& program)
      : steps_(program.steps), dims_(static_cast<unsigned>(program.variables.size())), slots_(steps_.size()) {}

  AffineExpr build(mlir::MLIRContext& context) {
    for (std::size_t i = 0; i < steps_.size(); ++i) slots_[i] = value(steps_[i], context);
    return mlir::simplifyAffineExpr(slots_.back(), dims_, 0);
  }

 private:
  AffineExpr value(const Step& s, mlir::MLIRContext& context) const {
    switch (s.op) {
      case 'c': return mlir::getAffineConstantExpr(s.value, &context);
      case 'v': return mlir::getAffineDimExpr(static_cast<unsigned>(s.value), &context);
      case '+': return slots_[s.left] + slots_[s.right];
      case '*': return slots_[s.left] * slots_[s.right];
      case '/': return slots_[s.left].floorDiv(slots_[s.right]);
      default: return slots_[s.left] % slots_[s.right];
    }
  }

  const std::vector<Step>& steps_;
  unsigned dims_;
  std::vector<AffineExpr> slots_;
};

std::string print(AffineExpr e) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << e;
  return text;
}

mlir::MLIRContext& shared_context() {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  return context;
}

/// Everything of the previous builds is uniqued in the context already.
class WarmMlir : public Peer {
 public:
  explicit WarmMlir(const Program& program) : builder_(program) {}
  void build() override { keep(builder_.build(shared_context()).getImpl()); }
  std::string result() override { return print(builder_.build(shared_context())); }

 private:
  MlirBuilder builder_;
};

/// A context per build, as in a process that builds one expression; making the context is most of it.
class ColdMlir : public Peer {
 public:
  explicit ColdMlir(const Program& program) : builder_(program) {}
  void build() override {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    keep(builder_.build(context).getImpl());
  }
  std::string result() override {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    return print(builder_.build(context));
  }

 private:
  MlirBuilder builder_;
};

}  // namespace

std::unique_ptr<Peer> make_mlir_warm(const Program& program) { return std::make_unique<WarmMlir>(program); }
std::unique_ptr<Peer> make_mlir_cold(const Program& program) { return std::make_unique<ColdMlir>(program); }

}  // namespace strata::bench
