// verify(): checks that blocks nest and are closed, and that values are used in scope.
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

/// "5 UOps.STORE": the beginning of the UOp's line in the listing.
std::string place(UOp u) { return detail::message(u.num(), " ", spec_name(u.op())); }

/// One pass over a list. UOpGraph::add() guarantees that sources precede their users, and their number and dtypes.
class Verifier {
 public:
  explicit Verifier(const UOpGraph& list) : list_(list), block_of_(list.size(), kNone), open_(list.size()) {}

  void run() {
    for (const UOp u : list_) visit(u);
    STRATA_CHECK(blocks_.empty(), domain, "[verify] ", place(list_[blocks_.back()]), " is not closed");
  }

 private:
  void visit(UOp u) {
    const bool is_of_graphs = u.op() == UOps::REDUCE || u.op() == UOps::CARRY || u.op() == UOps::CARRIED;
    STRATA_CHECK(!is_of_graphs, domain, "[verify] ", place(u), " is not allowed in a list");
    if (u.op() == UOps::ENDLOOP || u.op() == UOps::ENDIF) return end(u);
    for (const UOp s : u.src()) check_scope(u, s);
    if (u.op() == UOps::LOOP || u.op() == UOps::IF) return begin(u);
    check_once(u);
    block_of_[u.num()] = inside();
  }

  std::size_t inside() const { return blocks_.empty() ? kNone : blocks_.back(); }

  /// A value is in scope iff its innermost block is open: blocks nest, so that all blocks around it are open then, too.
  void check_scope(UOp u, UOp source) const {
    const std::size_t block = block_of_[source.num()];
    STRATA_CHECK(block == kNone || open_[block], domain, "[verify] ", place(u), " uses ", place(source),
                 " outside of the block of ", place(list_[block]), ", where the source is defined");
  }

  void begin(UOp u) {
    // A counter is in scope inside of its own loop.
    block_of_[u.num()] = u.num();
    open_[u.num()] = true;
    blocks_.push_back(u.num());
  }

  void end(UOp u) {
    const std::size_t begun = u.src(0).num();
    STRATA_CHECK(open_[begun], domain, "[verify] ", place(u), " closes ", place(u.src(0)), ", which is closed already");
    STRATA_CHECK(begun == inside(), domain, "[verify] ", place(u), " closes ", place(u.src(0)), " before ",
                 place(list_[inside()]), ", which is inside of it");
    open_[begun] = false;
    blocks_.pop_back();
  }

  /// Checks that no name and no buffer slot is defined twice.
  void check_once(UOp u) {
    std::string_view name;
    if (const auto* global = std::get_if<Global>(&u.arg())) {
      STRATA_CHECK(slots_.insert(global->slot).second, domain, "[verify] ", place(u), " defines slot ", global->slot,
                   " again");
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
    STRATA_CHECK(names_.insert(name).second, domain, "[verify] ", place(u), " defines ", in_quotes(name), " again");
  }

  const UOpGraph& list_;
  std::vector<std::size_t> block_of_;  // the innermost LOOP or IF around each UOp
  std::vector<bool> open_;             // by UOp: a LOOP or IF that has begun and is not closed
  std::vector<std::size_t> blocks_;    // the open blocks, innermost last
  std::unordered_set<int> slots_;
  std::unordered_set<std::string_view> names_;
};

}  // namespace

void verify(const UOpGraph& list) { Verifier(list).run(); }

}  // namespace strata
