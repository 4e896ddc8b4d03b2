// What makes a list a program: blocks that nest and close, and values that are used where they are made.
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/ir/uop.h"

namespace strata {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// "5 UOps.STORE", as the line in the listing begins.
std::string place(UOp u) { return detail::message(u.num(), " ", spec_name(u.op())); }

/// One pass over a list. Sources before their users, their number and dtypes are UOpGraph::add's.
class Verifier {
 public:
  explicit Verifier(const UOpGraph& list)
      : list_(list), block_of_(list.size(), kNone), open_(list.size()) {}

  void run() {
    for (const UOp u : list_) visit(u);
    STRATA_CHECK(blocks_.empty(), domain, "[verify] ", place(list_[blocks_.back()]),
                 " is not closed");
  }

 private:
  void visit(UOp u) {
    STRATA_CHECK(u.op() != UOps::REDUCE, domain, "[verify] ", place(u), " is not allowed in a list");
    if (u.op() == UOps::ENDLOOP || u.op() == UOps::ENDIF) return end(u);
    for (const UOp s : u.src()) check_scope(u, s);
    if (u.op() == UOps::LOOP || u.op() == UOps::IF) return begin(u);
    check_once(u);
    block_of_[u.num()] = inside();
  }

  std::size_t inside() const { return blocks_.empty() ? kNone : blocks_.back(); }

  /// Blocks nest, so that the innermost one around a value is open only where all around it are.
  void check_scope(UOp u, UOp source) const {
    const std::size_t block = block_of_[source.num()];
    STRATA_CHECK(block == kNone || open_[block], domain, "[verify] ", place(u), " uses ",
                 place(source), " outside of the block of ", place(list_[block]),
                 ", where the source is defined");
  }

  void begin(UOp u) {
    // A counter is one of the values inside; that of an outer block ends with its own.
    block_of_[u.num()] = u.num();
    open_[u.num()] = true;
    blocks_.push_back(u.num());
  }

  void end(UOp u) {
    const std::size_t begun = u.src(0).num();
    STRATA_CHECK(open_[begun], domain, "[verify] ", place(u), " closes ", place(u.src(0)),
                 ", which is closed already");
    STRATA_CHECK(begun == inside(), domain, "[verify] ", place(u), " closes ", place(u.src(0)),
                 " before ", place(list_[inside()]), ", which is inside of it");
    open_[begun] = false;
    blocks_.pop_back();
  }

  /// A name, and a buffer's slot, stand for one thing.
  void check_once(UOp u) {
    std::string_view name;
    if (const auto* global = std::get_if<Global>(&u.arg())) {
      STRATA_CHECK(slots_.insert(global->slot).second, domain, "[verify] ", place(u),
                   " defines slot ", global->slot, " again");
      name = global->name;
    } else if (const auto* local = std::get_if<Local>(&u.arg())) {
      name = local->name;
    } else if (const auto* special = std::get_if<Special>(&u.arg())) {
      name = special->name;
    } else if (const auto* variable = std::get_if<Variable>(&u.arg())) {
      name = variable->name();
    } else {
      return;
    }
    STRATA_CHECK(names_.insert(name).second, domain, "[verify] ", place(u), " defines ",
                 in_quotes(name), " again");
  }

  const UOpGraph& list_;
  std::vector<std::size_t> block_of_;  // the innermost LOOP or IF around each UOp
  std::vector<bool> open_;             // of a LOOP or IF: has begun and is not closed
  std::vector<std::size_t> blocks_;    // those that are open
  std::unordered_set<int> slots_;
  std::unordered_set<std::string_view> names_;
};

}  // namespace

void verify(const UOpGraph& list) { Verifier(list).run(); }

}  // namespace strata
