#include "strata/codegen/cycles.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "strata/base/sort_few.h"
#include "strata/codegen/thread_opts.h"

namespace strata {

namespace {

constexpr double kExposed = 0.25;        // the share of the shorter times that the longest one does not hide
constexpr double kInsert = 1.5;          // simple operations that putting a scalar into a lane takes as long as
constexpr std::size_t kMostPoints = 32;  // loops around an access whose strides are known

/// An integer or bool at the base point and, for each loop, one iteration further.
using Points = std::vector<Scalar>;

/// The difference of two integers; of indices, whose difference fits, as they stay inside of buffers.
std::int64_t difference(const Scalar& a, const Scalar& b) {
  return static_cast<std::int64_t>(a.as_uint() - b.as_uint());
}

/// Accesses of one buffer that move alike: the unrolled copies of a load.
struct Stream {
  std::size_t pointer;                // the number of the UOp
  std::vector<std::int64_t> strides;  // elements per iteration, by loop of the list
  double bytes;                       // of an element
  std::int64_t lanes;                 // neighbours of one access
  bool is_known;                      // false: the index is data
  std::vector<std::int64_t> offsets{};
};

struct Body {
  double trips = 1;
  double multiplies = 0, simple = 0, loads = 0, stores = 0, issued = 0, busy = 0;  // in one iteration
  double chain = 0;                                                                // cycles, through an accumulator
  double vectors = 0;       // registers of vectors that are loaded
  double accumulators = 0;  // vector registers
  std::size_t loop = 0;     // number among the loops
  std::vector<std::size_t> children{};
  std::vector<Stream> streams{};
};

class Prediction {
 public:
  Prediction(const UOpGraph& list, const Machine& machine, int vector_bytes, const std::optional<Int>& parallel)
      : list_(list), machine_(machine), vector_bytes_(vector_bytes) {
    if (parallel) trip_count_ = parallel->is_number() ? parallel->value() : std::min(parallel->vmax(), kUnknownSize);
  }

  Cycles run() {
    loop_of_.resize(list_.size());
    for (const UOp u : list_)
      if (u.op() == UOps::LOOP || u.op() == UOps::SPECIAL) loop_of_[u.num()] = loops_++;
    values_.resize(list_.size());
    depth_.assign(list_.size(), -1);
    bodies_.push_back({});
    bodies_[0].loop = loops_;
    std::vector<std::size_t> open = {0};
    for (const UOp u : list_) {
      find_points(u);
      switch (u.op()) {
        case UOps::LOOP:
        case UOps::SPECIAL: {  // the iterations of a launch, one after another
          Body body;
          body.loop = loop_of_[u.num()];
          body.trips = u.op() == UOps::LOOP
                           ? trips_of(u)
                           : static_cast<double>(trip_count_.value_or(std::get<Special>(u.arg()).size));
          bodies_[open.back()].children.push_back(bodies_.size());
          open.push_back(bodies_.size());
          bodies_.push_back(std::move(body));
          break;
        }
        case UOps::ENDLOOP: open.pop_back(); break;
        case UOps::ENDIF: --seldom_; break;
        default:
          if (seldom_ == 0) count(u, bodies_[open.back()]);
          if (u.op() == UOps::IF) ++seldom_;
      }
    }
    Cycles out;
    out.issue = issue(0).cycles;
    for (std::size_t level = 0; level < out.caches.size(); ++level) {
      const double bytes = footprint(0, {}, level, true);
      if (bytes > machine_.cache_bytes()[level]) out.caches[level] = traffic(0, level) / machine_.refills()[level];
    }
    return out;
  }

 private:
  // --- integers at neighbouring points ---

  std::size_t points() const { return std::min(loops_, kMostPoints) + 1; }

  void find_points(UOp u) {
    const DType dtype = u.dtype();
    if (dtype.is_none() || dtype.is_pointer() || dtype.lanes() != 1 || dtype.is_float()) return;
    Points& out = values_[u.num()];
    const auto constant = [&](std::int64_t v) { out.assign(points(), Scalar::of(dtype, v)); };
    switch (u.op()) {
      case UOps::CONST: out.assign(points(), u.constant()); break;
      case UOps::DEFINE_VAR: {
        const auto& v = std::get<Variable>(u.arg());
        if (v.name() == kRangeBegin) return constant(0);
        if (v.name() == kRangeEnd) return constant(trip_count_.value_or(1));
        constant(std::min(v.max(), kUnknownSize));
        break;
      }
      case UOps::LOOP: {
        const Points &begin = bound(u.src(0)), &end = bound(u.src(1));
        if (begin.empty() || end.empty()) return;
        constant(begin[0].as_int() + std::max<std::int64_t>(difference(end[0], begin[0]) - 1, 0) / 2);
        step(u);
        break;
      }
      case UOps::SPECIAL:
        constant(std::get<Special>(u.arg()).size / 2);
        step(u);
        break;
      case UOps::CAST:
      case UOps::ALU: {
        std::vector<Scalar> operands(u.src().size());
        for (const UOp s : u.src())
          if (values_[s.num()].empty()) return;
        out.reserve(points());
        for (std::size_t p = 0; p < points(); ++p) {
          for (std::size_t k = 0; k < operands.size(); ++k) operands[k] = values_[u.src(k).num()][p];
          out.push_back(evaluate(u.op() == UOps::CAST ? Ops::CAST : u.alu(), operands, dtype));
        }
        break;
      }
      default: break;
    }
  }
  /// The counter of a loop, one iteration further at the loop's point.
  void step(UOp loop) {
    Points& out = values_[loop.num()];
    const std::size_t at = loop_of_[loop.num()] + 1;
    if (at < out.size()) out[at] = Scalar::of(loop.dtype(), out[at].as_int() + 1);
  }
  /// A bound of a loop; one that data chooses (TRIM) is the first choice.
  const Points& bound(UOp u) const {
    const bool is_chosen = u.op() == UOps::ALU && u.alu() == Ops::WHERE && values_[u.num()].empty();
    return values_[(is_chosen ? u.src(1) : u).num()];
  }
  double trips_of(UOp loop) const {
    const Points &begin = bound(loop.src(0)), &end = bound(loop.src(1));
    if (begin.empty() || end.empty()) return static_cast<double>(kUnknownSize);
    return static_cast<double>(std::max<std::int64_t>(difference(end[0], begin[0]), 0));
  }

  // --- instructions ---

  /// The pieces of a value that pass through a unit one after another.
  double pieces(DType dtype) const {
    return std::max(1.0, std::ceil(static_cast<double>(dtype.itemsize()) / machine_.path_bytes));
  }
  /// The instructions of a value.
  double registers(DType dtype) const {
    return std::max(1.0, std::ceil(static_cast<double>(dtype.itemsize()) / vector_bytes_));
  }

  static double element_bytes(DType dtype) { return static_cast<double>(dtype.itemsize()) / dtype.lanes(); }

  void count(UOp u, Body& body) {
    follow_chain(u, body);
    const DType dtype = u.dtype();
    switch (u.op()) {
      case UOps::LOAD:
      case UOps::STORE: return access(u, body);
      case UOps::ALU: return arithmetic(u, body);
      case UOps::CAST: {
        if (!values_[u.num()].empty()) return;
        const DType from = u.src(0).dtype();
        const double wide = std::max(pieces(dtype), pieces(from)), each = std::max(registers(dtype), registers(from));
        const bool rounds = dtype.is_float() && element_bytes(dtype) == 2;
        body.simple += rounds ? 4 * wide : wide;
        body.issued += rounds ? 4 * each : each;
        return;
      }
      case UOps::VECTORIZE: return vectorize(u, body);
      case UOps::GEP:
        body.simple += 1;
        body.issued += 1;
        return;
      case UOps::DEFINE_ACC: return;
      case UOps::PHI: body.accumulators += registers(dtype); return;
      case UOps::IF:
        body.issued += 2;
        body.busy += 1;
        return;
      default: return;
    }
  }

  void vectorize(UOp u, Body& body) {
    bool is_broadcast = true;
    std::size_t lanes_of_vectors = 0;
    std::vector<std::size_t> vectors;
    for (const UOp s : u.src()) {
      is_broadcast = is_broadcast && s == u.src(0);
      if (s.op() != UOps::GEP) continue;
      ++lanes_of_vectors;
      vectors.push_back(s.src(0).num());
    }
    if (is_broadcast) {
      if (u.src(0).op() == UOps::LOAD || u.src(0).op() == UOps::CONST) return;  // loads broadcast
      body.simple += 1, body.issued += 1;
      return;
    }
    double each = static_cast<double>(u.src().size()), inserts = 1;
    if (lanes_of_vectors == u.src().size()) {  // a shuffle, whose GEPs are no instructions
      std::sort(vectors.begin(), vectors.end());
      vectors.erase(std::unique(vectors.begin(), vectors.end()), vectors.end());
      body.simple -= static_cast<double>(lanes_of_vectors);
      body.issued -= static_cast<double>(lanes_of_vectors);
      each = 2 * static_cast<double>(vectors.size());
    } else if (lanes_of_vectors == 0) {
      inserts = kInsert;
    }
    body.simple += each * inserts * (pieces(u.dtype()) > 1 ? 1.5 : 1);
    body.issued += each;
  }

  void arithmetic(UOp u, Body& body) {
    const DType dtype = u.dtype(), of = u.src(u.src().size() - 1).dtype();
    const double wide = std::max(pieces(dtype), pieces(of)), each = std::max(registers(dtype), registers(of));
    if (dtype.lanes() == 1 && !values_[u.num()].empty()) {  // an index
      const bool is_folded = u.alu() == Ops::ADD || u.alu() == Ops::MUL;
      body.issued += is_folded ? 0.25 : 1;
      if (u.alu() == Ops::IDIV || u.alu() == Ops::MOD || u.alu() == Ops::FLOORDIV || u.alu() == Ops::FLOORMOD)
        body.issued += 3;
      return;
    }
    const double narrow = dtype.is_float() && element_bytes(dtype) == 2 ? 8 : 1;  // computed in f32, and rounded
    switch (u.alu()) {
      case Ops::ADD:
      case Ops::SUB:
      case Ops::MUL:
      case Ops::MULACC:
      case Ops::NEG:
        if (dtype.is_float())
          body.multiplies += narrow * wide;
        else
          body.simple += wide * (u.alu() == Ops::MUL || u.alu() == Ops::MULACC ? multiply_of(dtype) : 1);
        break;
      case Ops::DIV:
      case Ops::SQRT:
      case Ops::RECIP: body.busy += machine_.division * wide * (element_bytes(dtype) == 8 ? 1.6 : 1); break;
      case Ops::IDIV:
      case Ops::MOD:
      case Ops::FLOORDIV:
      case Ops::FLOORMOD: body.busy += 8.0 * dtype.lanes(); break;
      case Ops::MAX:
      case Ops::MIN: body.simple += dtype.is_float() ? 3 * wide * narrow : wide; break;
      default: body.simple += wide * narrow; break;
    }
    body.issued += each * narrow;
  }
  static double multiply_of(DType dtype) {
    const double bytes = element_bytes(dtype);
    return bytes == 8 ? 3 : bytes == 1 ? 4 : bytes == 4 ? 2 : 1;
  }

  void access(UOp u, Body& body) {
    const bool is_store = u.op() == UOps::STORE;
    const DType dtype = is_store ? u.src(2).dtype() : u.dtype();
    const double wide = pieces(dtype), each = registers(dtype);
    const bool is_masked = u.src().size() == 4;
    if (!is_store && dtype.lanes() > 1) body.vectors += each;
    (is_store ? body.stores : body.loads) += wide * (is_store && is_masked ? 2 : 1);
    body.issued += each * (is_masked ? 2 : 1);
    const Points& index = values_[u.src(1).num()];
    Stream out{u.src(0).num(), std::vector<std::int64_t>(loops_, 0), element_bytes(dtype), dtype.lanes(),
               !index.empty()};
    for (std::size_t k = 0; k + 1 < index.size(); ++k) out.strides[k] = difference(index[k + 1], index[0]);
    const std::int64_t offset = index.empty() ? 0 : index[0].as_int();
    for (Stream& s : body.streams) {
      if (s.pointer != out.pointer || s.strides != out.strides || s.lanes != out.lanes || s.is_known != out.is_known)
        continue;
      s.offsets.push_back(offset);
      return;
    }
    out.offsets.push_back(offset);
    body.streams.push_back(std::move(out));
  }

  /// The longest chain of operations from an accumulator of this loop to its PHI.
  void follow_chain(UOp u, Body& body) {
    double& out = depth_[u.num()];
    if (u.op() == UOps::DEFINE_ACC) {
      out = 0;
      return;
    }
    for (const UOp s : u.src()) out = std::max(out, depth_[s.num()]);
    if (out < 0) return;
    if (u.op() == UOps::PHI) {
      body.chain = std::max(body.chain, out);
      out = 0;  // its value is an accumulator's
      return;
    }
    if (u.op() != UOps::ALU) return;
    const bool is_divided = u.alu() == Ops::DIV || u.alu() == Ops::SQRT;
    out += is_divided ? 3 * machine_.latency : u.dtype().is_float() ? machine_.latency : 1;
  }

  struct Issue {
    double cycles, instructions;
  };
  Issue issue(std::size_t at) const {
    const Body& b = bodies_[at];
    // Compilers that run out of registers keep most accumulators in memory.
    const bool is_spilled = b.accumulators + b.vectors > (vector_bytes_ >= 64 ? 32 : 16) + 2;
    const double spilled = is_spilled ? b.accumulators : 0,
                 spilled_pieces = spilled * vector_bytes_ / machine_.path_bytes;
    const double loads = b.loads + spilled_pieces, stores = b.stores + spilled_pieces, issued = b.issued + 2 * spilled;
    double cycles = std::max({b.multiplies / machine_.multiplies, (b.simple + b.multiplies) / (machine_.simple + 1),
                              loads / machine_.loads, stores / machine_.stores, issued / machine_.issued}) +
                    b.busy;
    double instructions = issued;
    for (const std::size_t child : b.children) {
      const Issue inner = issue(child);
      cycles += inner.cycles;
      instructions += inner.instructions;
    }
    if (at == 0) return {cycles, instructions};
    const double chain = b.children.empty() ? b.chain + (is_spilled ? machine_.latency : 0) : 0;
    const bool overlaps = b.trips * instructions < machine_.window;
    if (!overlaps) cycles = std::max(cycles, chain);
    return {b.trips * (cycles + machine_.loop) + (overlaps ? 0 : machine_.exit), b.trips * (instructions + 2)};
  }

  // --- memory ---

  struct Dimension {
    double by, count;
  };
  /// The offsets of copies as dimensions: runs of equal distances, then distances of runs.
  static std::vector<Dimension> dimensions_of(std::vector<std::int64_t> offsets) {
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    std::vector<Dimension> out;
    while (offsets.size() > 1) {
      const std::int64_t by = offsets[1] - offsets[0];
      std::size_t run = 1;
      while (run < offsets.size() && offsets[run] - offsets[run - 1] == by) ++run;
      if (offsets.size() % run != 0) {  // no lattice: evenly spread
        out.push_back({static_cast<double>(offsets.back() - offsets.front()) / static_cast<double>(offsets.size() - 1),
                       static_cast<double>(offsets.size())});
        break;
      }
      out.push_back({static_cast<double>(by), static_cast<double>(run)});
      std::vector<std::int64_t> next;
      for (std::size_t k = 0; k < offsets.size(); k += run) next.push_back(offsets[k]);
      offsets = std::move(next);
    }
    return out;
  }

  /// The bytes of the cache lines that a stream touches in all iterations of `loops`. In L1 lines whose addresses are
  /// equal modulo 4 KiB share a set.
  double bytes_of(const Stream& s, const std::vector<std::size_t>& loops, std::size_t level, bool is_space) const {
    std::vector<Dimension> all = dimensions_of(s.offsets);
    if (s.lanes > 1) all.push_back({1, static_cast<double>(s.lanes)});
    double iterations = 1;
    for (const std::size_t body : loops) {
      const Body& b = bodies_[body];
      iterations *= b.trips;
      if (b.loop < s.strides.size() && s.strides[b.loop] != 0 && b.trips > 1)
        all.push_back({std::abs(static_cast<double>(s.strides[b.loop])), b.trips});
    }
    if (!s.is_known) return iterations * static_cast<double>(s.offsets.size()) * machine_.line;
    sort_few(all, [](const Dimension& a, const Dimension& b) { return a.by < b.by; });
    double run = s.bytes, rows = 1, sets = 1;  // bytes of neighbours; runs
    bool is_first = true;
    for (std::size_t k = 0; k < all.size();) {
      const double by = all[k].by;
      double reach = 0;
      for (const std::size_t begin = k; k < all.size(); ++k) {
        if (k > begin && all[k].by > reach + by) break;
        reach += all[k].by * (all[k].count - 1);
      }
      const double count = reach / by + 1, apart = by * s.bytes;
      if (is_first && apart < machine_.line) {
        run = apart * (count - 1) + s.bytes;
      } else {
        rows *= count;
        const double distinct =
            4096 / static_cast<double>(std::gcd(static_cast<std::int64_t>(std::fmod(apart, 4096)), std::int64_t{4096}));
        sets *= std::min(count, std::max(distinct, 1.0));
      }
      is_first = false;
    }
    const double lines =
        rows * (std::ceil(run / machine_.line) + (rows > 1 && std::fmod(run, machine_.line) != 0 ? 0.5 : 0));
    double out = lines * machine_.line;
    if (is_space && level == 0) {
      const double used = std::min(64.0, sets * std::ceil(run / machine_.line));
      out *= std::max(1.0, std::min(64 / used, lines / used / 8 > 1 ? 64 / used : 1));
    }
    return out;
  }

  /// The bytes that one execution of the body and what is inside of it touches, in all iterations of `around`, too.
  /// @param is_space  the space that they need in the cache: lines that share a set count more
  double footprint(std::size_t at, const std::vector<std::size_t>& around, std::size_t level, bool is_space) const {
    double out = 0;
    for (const Stream& s : bodies_[at].streams) out += bytes_of(s, around, level, is_space);
    for (const std::size_t child : bodies_[at].children) {
      std::vector<std::size_t> loops = around;
      loops.push_back(child);
      out += footprint(child, loops, level, is_space);
    }
    return out;
  }
  /// The bytes that a cache gets from the next level in one execution of a loop.
  double traffic(std::size_t at, std::size_t level) const {
    const Body& b = bodies_[at];
    if (footprint(at, {}, level, true) <= machine_.cache_bytes()[level])
      return footprint(at, at == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{at}, level, false);
    double out = 0;
    for (const Stream& s : b.streams) out += bytes_of(s, {}, level, false);
    for (const std::size_t child : b.children) out += traffic(child, level);
    return out * (at == 0 ? 1 : b.trips);
  }

  const UOpGraph& list_;
  const Machine& machine_;
  int vector_bytes_;
  std::optional<std::int64_t> trip_count_;  // of the parallel loop
  std::size_t loops_ = 0;                   // LOOPs and SPECIALs
  std::vector<std::size_t> loop_of_;        // by UOp: the number of a LOOP
  std::vector<Points> values_;              // by UOp; empty: not a known integer
  std::vector<double> depth_;               // by UOp: cycles behind the accumulator; negative: none
  std::vector<Body> bodies_;
  int seldom_ = 0;  // how many IFs are open: linearize() makes them for what is seldom computed
};

}  // namespace

double Cycles::total() const {
  const double longest = std::max({issue, caches[0], caches[1], caches[2]});
  return longest + kExposed * (issue + caches[0] + caches[1] + caches[2] - longest);
}

Cycles predicted_cycles(const UOpGraph& list, const Machine& machine, int vector_bytes,
                        const std::optional<Int>& parallel) {
  return Prediction(list, machine, vector_bytes, parallel).run();
}

}  // namespace strata
