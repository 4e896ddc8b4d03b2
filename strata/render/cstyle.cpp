#include "strata/render/cstyle.h"

#include <algorithm>
#include <utility>

#include "strata/base/check.h"
#include "strata/base/quotes.h"
#include "strata/base/sort_few.h"
#include "strata/render/element.h"
#include "strata/render/gnu_vector.h"
#include "strata/render/writer.h"

namespace strata {
namespace rendering {
namespace {

using detail::message;

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::all_of(text.begin(), text.end(), is_word);
}

/// Whether `line` contains `word` as a whole word.
bool names(std::string_view line, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word(line[at - 1]);
    if (begins && (end == line.size() || !is_word(line[end]))) return true;
  }
  return false;
}

/// Whether `u` has the form `~(int)(x<y)`, perhaps with more casts. Compilers warn about it as a likely mistake.
bool is_inverted_bool(UOp u) {
  if (u.op() != UOps::ALU || u.alu() != Ops::NOT) return false;
  UOp s = u.src(0);
  while (s.dtype().is_int() && (s.op() == UOps::CAST || (s.op() == UOps::ALU && s.alu() == Ops::NOOP))) s = s.src(0);
  return s.dtype().is_bool() && !u.dtype().is_bool();
}

/// Whether operand `k` of the comparison `u` is an AND or OR of integers. For some constants compilers warn, e.g. about
/// `(x&4) == 3`.
bool is_masked(UOp u, std::size_t k) {
  const bool compares = u.op() == UOps::ALU ? row(u.alu()).typing == OpTyping::compare : u.dtype().is_bool();
  if (!compares) return false;
  const UOp s = u.src(k);
  return s.op() == UOps::ALU && (s.alu() == Ops::AND || s.alu() == Ops::OR) && !s.dtype().is_bool();
}

/// The text of a helper. Functions get include guards, so that several programs can be concatenated.
std::string once(const HelperText& helper) {
  const bool function = helper.text.starts_with("static") || helper.text.starts_with("template");
  if (!function) return message(helper.text, "\n");
  return message("#ifndef ", helper.name, "\n#define ", helper.name, " ", helper.name, "\n", helper.text, "\n#endif\n");
}

/// Renders one list of UOps as a program.
class Renderer {
 public:
  Renderer(const Language& language, std::string_view name, const UOpGraph& list, const CStyleOptions& options)
      : l_(language), list_(list), options_(options), w_(language, list, options.lines != nullptr), vectors_(w_) {
    signature_.name = name;
    w_.claim(name);
    w_.claim(message(name, "_entry"));
  }

  std::string program() {
    write();
    return assemble();
  }
  CStyleParts parts() {
    write();
    CStyleParts out;
    out.types = w_.typedefs(), out.function = message(head(), w_.body(), "}\n");
    std::string seen = out.types + out.function;
    for (std::size_t k = l_.helpers.size(); k-- > 0;) {  // a helper may call those in front of it
      if (seen.find(l_.helpers[k].name) == std::string::npos) continue;
      seen += l_.helpers[k].text;
      out.helpers.emplace(out.helpers.begin(), l_.helpers[k].text);
    }
    return out;
  }

 private:
  void write() {
    check_dtypes();
    define_parameters();
    define_locals();
    define_specials();
    for (const UOp u : list_) {
      if (!w_.usage().live(u)) continue;
      w_.begin(u);
      visit(u);
    }
    w_.begin({});
    for (int k = 0; k < open_; ++k) w_.close();
    if (streams_) w_.line("strata_fence();");
  }

  void check_dtypes() const;
  void define_parameters();
  void define_locals();
  void define_specials();
  void special_of_instance(UOp u, const Special& special);
  std::string head() const;
  std::string assemble() const;
  std::string entry() const;
  void note_lines(std::size_t before, std::string_view head) const;

  void visit(UOp u);
  void expression(UOp u);
  void gep(UOp u);
  std::string condition(UOp u);
  void loop(UOp u);
  void poll(UOp loop);
  void define_acc(UOp u);
  void phi(UOp u);

  void load(UOp u);
  void load_gated(UOp u);
  std::string load_vector(UOp u);
  std::string load_lane(UOp u, int k);
  void store(UOp u);
  void store_lanes(UOp u);
  bool store_whole(UOp u);
  bool moves_whole(UOp u, DType dtype) const;
  std::string move(UOp u, std::string_view text, DType dtype, const std::string& value = {});
  std::string at(UOp access, int k);
  std::string gate(UOp u, std::size_t source, int k);

  const Language& l_;
  const UOpGraph& list_;
  const CStyleOptions& options_;
  Writer w_;
  GnuVectors vectors_;
  Signature signature_;
  std::string poll_;      // the parameter of polls; "look" in texts, which stay the same as keys of the disk cache
  int open_ = 0;          // how many loops over SPECIALs are open
  bool streams_ = false;  // whether there are non-temporal stores
};

void Renderer::check_dtypes() const {
  for (const UOp u : list_) {
    const DType dtype = u.dtype();
    if (!w_.usage().live(u) && u.op() != UOps::DEFINE_GLOBAL) continue;
    if (dtype.is_pointer())
      memory_type(l_, dtype.scalar());
    else if (!dtype.is_none())
      value_type(l_, dtype.scalar());
  }
}

void Renderer::define_parameters() {
  std::vector<UOp> globals;
  std::vector<bool> stored(list_.size());
  for (const UOp u : list_) {
    if (u.op() == UOps::DEFINE_GLOBAL) globals.push_back(u);
    if (u.op() == UOps::STORE) stored[u.src(0).num()] = true;
  }
  const auto slot = [](UOp u) { return std::get<Global>(u.arg()).slot; };
  sort_few(globals, [&](UOp a, UOp b) { return slot(a) < slot(b); });
  for (const UOp u : globals) {
    w_.name(u, w_.claim(std::get<Global>(u.arg()).name));
    signature_.buffers.push_back({w_.simple(u), u.dtype().scalar(), stored[u.num()], w_.usage().live(u), slot(u)});
  }
  if (options_.polls.any()) {
    poll_ = w_.claim("look");
    signature_.buffers.push_back({poll_, dtypes::int32, false, true, options_.polls.slot});
  }
  for (const UOp u : list_) {
    if (u.op() != UOps::DEFINE_VAR) continue;
    w_.name(u, w_.claim(std::get<Variable>(u.arg()).name()));
    signature_.values.push_back({w_.simple(u), u.dtype(), false, w_.usage().live(u), 0});
  }
}

void Renderer::define_locals() {
  const auto in_group = [](UOp u) {
    const auto* special = std::get_if<Special>(&u.arg());
    return u.op() == UOps::BARRIER || (special != nullptr && special->name.starts_with("l"));
  };
  signature_.in_groups = std::any_of(list_.begin(), list_.end(), in_group);
  for (const UOp u : list_) {
    if (u.op() != UOps::DEFINE_LOCAL || !w_.usage().live(u)) continue;
    const auto& local = std::get<Local>(u.arg());
    w_.begin(u);
    w_.name(u, w_.claim(local.name));
    const std::string name = w_.simple(u), size = std::to_string(local.size);
    const std::string text = fill(signature_.in_groups ? l_.local : l_.own, [&](char c) {
      return c == 'T'   ? memory_type(l_, u.dtype().scalar())
             : c == 'n' ? std::string_view(name)
                        : std::string_view(size);
    });
    if (l_.local_outside && signature_.in_groups)
      signature_.locals.push_back(text);
    else
      w_.line(text);
  }
}

void Renderer::define_specials() {
  std::size_t barriers = 0;
  const auto is_local = [](const Special& s) { return s.name.starts_with("l"); };
  for (const UOp u : list_) {
    if (u.op() == UOps::BARRIER) ++barriers;
    if (u.op() != UOps::SPECIAL) continue;
    const auto& special = std::get<Special>(u.arg());
    signature_.has_special = true;
    if (is_local(special)) signature_.group[special.axis] = special.size;
  }
  const bool loops = l_.special.instance.empty();
  STRATA_CHECK(!(loops && signature_.has_special && barriers > 0), domain, "[render] ", l_.name,
               " runs one instance after another: a BARRIER between instances cannot be rendered");
  for (const UOp u : list_)
    if (u.op() == UOps::SPECIAL) special_of_instance(u, std::get<Special>(u.arg()));
}

void Renderer::special_of_instance(UOp u, const Special& special) {
  w_.begin(u);
  w_.name(u, w_.claim(special.name));
  const std::string name = w_.simple(u);
  const std::string size = w_.constant(Scalar::of(u.dtype(), special.size));
  const bool loops = l_.special.instance.empty();
  const bool local = special.name.starts_with("l");
  const std::string_view source = local                  ? l_.special.local
                                  : signature_.in_groups ? l_.special.group
                                                         : l_.special.instance;
  const std::string index = fill(
      source, [&](char c) { return c == 'i' ? std::to_string(special.axis) : std::string(1, "xyz"[special.axis]); });
  const std::string text = fill(loops ? l_.loop : l_.declare, [&](char c) -> std::string {
    switch (c) {
      case 'T': return std::string(w_.scalar_type(u.dtype()));
      case 'n': return w_.simple(u);
      case 'a': return w_.constant(Scalar::of(u.dtype(), std::int64_t{0}));
      case 'b': return w_.constant(Scalar::of(u.dtype(), special.size));
      default:
        return fill(l_.convert, [&](char d) {
          return d == 'T' ? std::string(w_.scalar_type(u.dtype())) : message("(", index, ")");
        });
    }
  });
  if (loops) {
    w_.open(text);
    ++open_;
    return;
  }
  w_.line(text);
  // The launch may be rounded up to whole work-groups.
  if (!signature_.in_groups) w_.line(message("if (", name, " >= ", size, ") { return; }"));
}

void Renderer::visit(UOp u) {
  switch (u.op()) {
    case UOps::ALU:
    case UOps::CAST:
    case UOps::BITCAST:
    case UOps::VECTORIZE: return expression(u);
    case UOps::GEP: return gep(u);
    case UOps::LOOP: return loop(u);
    case UOps::IF: return w_.open(message("if (", unwrapped(condition(u.src(0))), ") {"));
    case UOps::ENDLOOP:
    case UOps::ENDIF: return w_.close();
    case UOps::DEFINE_ACC: return define_acc(u);
    case UOps::PHI: return phi(u);
    case UOps::LOAD: return load(u);
    case UOps::STORE: return store(u);
    case UOps::BARRIER:
      if (!l_.barrier.empty()) w_.line(l_.barrier);
      return;
    default: return;
  }
}

void Renderer::expression(UOp u) {
  if (const auto known = folded(u)) return w_.known(u, *known);
  const DType dtype = u.dtype();
  if (w_.is_native(dtype)) return vectors_.value(u);
  const auto lane = [&](int k) {
    if (u.op() == UOps::VECTORIZE) return w_.text(u.src(static_cast<std::size_t>(k)));
    return element(w_, u, [&](std::size_t n, bool repeated) {
      const bool whole = !repeated && !dtype.is_vector() && !is_masked(u, n) && !is_inverted_bool(u);
      return whole ? w_.text(u.src(n)) : w_.lane(u.src(n), k);
    });
  };
  if (!dtype.is_vector()) return w_.value(u, lane(0));
  std::vector<std::string> lanes;
  for (int k = 0; k < dtype.lanes(); ++k) lanes.push_back(lane(k));
  w_.array(u, lanes, "alu");
}

/// A GEP needs no variable: its text is the lane of the vector. If the vector is an accumulator, the lane is copied,
/// because it may change.
void Renderer::gep(UOp u) {
  const UOp vector = u.src(0);
  const std::string lane = w_.lane(vector, static_cast<int>(std::get<std::int64_t>(u.arg())));
  const bool changes = vector.op() == UOps::DEFINE_ACC || vector.op() == UOps::PHI;
  if (changes)
    w_.value(u, lane);
  else
    w_.name(u, lane);
}

/// Whether `u` is true; of a vector, in a lane.
std::string Renderer::condition(UOp u) {
  if (!u.dtype().is_vector()) return w_.text(u);
  if (w_.is_native(u.dtype())) return vectors_.any(u);
  std::string any;
  for (int k = 0; k < u.dtype().lanes(); ++k) any += message(k == 0 ? "" : "||", w_.lane(u, k));
  return any;
}

void Renderer::loop(UOp u) {
  w_.name(u, w_.fresh("ridx"));
  const auto bound = [&](UOp s) {
    const bool changes = s.op() == UOps::DEFINE_ACC || s.op() == UOps::PHI;
    return changes ? w_.declare(w_.scalar_type(s.dtype()), "alu", w_.simple(s)) : w_.text(s);
  };
  const std::string begin = bound(u.src(0)), end = bound(u.src(1));
  w_.open(fill(l_.loop, [&](char c) {
    return c == 'T' ? std::string(w_.scalar_type(u.dtype())) : c == 'n' ? w_.simple(u) : c == 'a' ? begin : end;
  }));
  poll(u);
}

void Renderer::poll(UOp loop) {
  const std::int64_t every = options_.polls.every(loop.num());
  if (every == 0) return;
  const std::string mask = std::to_string(every - 1);
  const std::string now = every > 1 ? message("(", w_.simple(loop), "&", mask, ") == 0 && ") : "";
  w_.line(message("if (", now, "((int (*)(void))", poll_, ")()) { return; }"));
}

void Renderer::define_acc(UOp u) {
  const DType dtype = u.dtype();
  if (w_.is_array(dtype)) {
    std::vector<std::string> lanes;
    for (int k = 0; k < dtype.lanes(); ++k) lanes.push_back(w_.lane(u.src(0), k));
    return w_.array(u, lanes, "acc");
  }
  const std::string begin = w_.is_native(dtype) && dtype.is_bool() ? vectors_.mask(u.src(0), 8) : w_.text(u.src(0));
  w_.name(u, w_.declare(w_.value_type_of(u, 8), "acc", begin, true), w_.is_native(dtype) && dtype.is_bool() ? 8 : 0);
}

/// Assigns to the accumulator. The PHI's value has the accumulator's name, if this is the only assignment; else it is
/// copied.
void Renderer::phi(UOp u) {
  const DType dtype = u.dtype();
  const std::string acc = w_.simple(u.src(0));
  const bool mask = w_.is_native(dtype) && dtype.is_bool();
  const bool alone = w_.usage().assignments(u.src(0)) == 1 || !w_.usage().used(u);
  if (w_.is_array(dtype)) {
    std::vector<std::string> lanes;
    for (int k = 0; k < dtype.lanes(); ++k) lanes.push_back(w_.lane(u.src(1), k));
    for (int k = 0; k < dtype.lanes(); ++k)
      w_.line(message(acc, "[", std::to_string(k), "] = ", lanes[static_cast<std::size_t>(k)], ";"));
    if (alone) return w_.name(u, acc);
    return w_.array(u, lanes, "phi");
  }
  w_.line(message(acc, " = ", mask ? vectors_.mask(u.src(1), 8) : w_.text(u.src(1)), ";"));
  w_.name(u, alone ? acc : w_.declare(w_.value_type_of(u, 8), "phi", acc), mask ? 8 : 0);
}

// --- memory ---

std::string Renderer::at(UOp access, int k) {
  const UOp index = access.src(1);
  const std::string pointer = w_.simple(access.src(0));
  if (k == 0) return message(pointer, "[", unwrapped(w_.text(index)), "]");
  return message(pointer, "[", w_.simple(index), "+", std::to_string(k), "]");
}

std::string Renderer::gate(UOp u, std::size_t source, int k) { return w_.lane(u.src(source), k); }
std::string Renderer::load_lane(UOp u, int k) {
  std::string text = from_memory(l_, u.dtype().scalar(), at(u, k));
  if (u.src().size() < 4) return text;
  const std::string open = gate(u, 2, k), other = w_.lane(u.src(3), k);
  return pick(l_, open, text, other);
}

/// The expression that loads a GNU vector. At most at the ends of an axis some of its gates are closed.
std::string Renderer::load_vector(UOp u) {
  const DType dtype = u.dtype(), listed = dtype.is_bool() ? dtypes::int8 : dtype;
  const std::string type = w_.value_type_of(u, 8), pointer = w_.simple(u.src(0));
  if (u.src().size() < 4) return vectors_.load(dtype, pointer, w_.text(u.src(1)));
  if (!u.src(2).dtype().is_vector()) {
    const std::string whole = vectors_.load(dtype, pointer, w_.text(u.src(1)));
    const std::string other = dtype.is_bool() ? vectors_.mask(u.src(3), 8) : w_.text(u.src(3));
    return message("(", w_.text(u.src(2)), "?(", type, ")(", whole, "):", other, ")");
  }
  if (vectors_.can_mask(u)) return message("(", type, ")", vectors_.masked_load(u));
  const std::string whole = vectors_.load(dtype, pointer, w_.simple(u.src(1))), open = vectors_.all(u.src(2));
  std::string all;
  for (int k = 0; k < dtype.lanes(); ++k)
    all += message(k == 0 ? "" : ",", w_.listed(listed, message(dtype.is_bool() ? "-" : "", load_lane(u, k))));
  return message("(", open, "?(", type, ")(", whole, "):(", type, "){", all, "})");
}

void Renderer::load(UOp u) {
  const DType dtype = u.dtype();
  if (w_.is_native(dtype)) {
    const std::string text = load_vector(u);
    return w_.name(u, w_.declare(w_.value_type_of(u, 8), "val", text), dtype.is_bool() ? 8 : 0);
  }
  if (!l_.ternary && u.src().size() == 4) return load_gated(u);
  if (!dtype.is_vector()) return w_.name(u, w_.declare(w_.scalar_type(dtype), "val", load_lane(u, 0)));
  if (moves_whole(u, dtype)) {
    const std::string type = message(w_.scalar_type(dtype), std::to_string(dtype.lanes()));
    std::string whole = w_.declare(type, "val", move(u, l_.load_lanes, dtype));
    if (!is_byte_for_bool(l_, dtype.scalar())) return w_.components(u, std::move(whole));
    std::vector<std::string> truths;
    for (int k = 0; k < dtype.lanes(); ++k) truths.push_back(message("(", whole, w_.component(k), "!=0)"));
    return w_.array(u, truths, "val");
  }
  w_.simple(u.src(1));
  std::vector<std::string> lanes;
  for (int k = 0; k < dtype.lanes(); ++k) lanes.push_back(load_lane(u, k));
  w_.array(u, lanes, "val");
}

/// Whether the language can load or store all lanes at once: an access without a gate, with one of
/// Language::lane_counts.
bool Renderer::moves_whole(UOp u, DType dtype) const {
  const bool counted = std::find(l_.lane_counts.begin(), l_.lane_counts.end(), dtype.lanes()) != l_.lane_counts.end();
  const std::size_t gate = u.op() == UOps::LOAD ? 2 : 3;
  return counted && u.src().size() <= gate && narrow_of(l_, dtype.scalar()) == nullptr &&
         (u.src(0).op() == UOps::DEFINE_GLOBAL || l_.vectors_anywhere);
}

std::string Renderer::move(UOp u, std::string_view text, DType dtype, const std::string& value) {
  return fill(text, [&](char c) -> std::string {
    switch (c) {
      case 'p': return w_.simple(u.src(0));
      case 'i': return w_.text(u.src(1));
      case 'k': return std::to_string(dtype.lanes());
      case 'T': return std::string(w_.scalar_type(dtype));
      default: return value;
    }
  });
}

/// A gated load in a language without `?:`: `select` would evaluate both sides, and read memory that must not be read.
void Renderer::load_gated(UOp u) {
  const DType dtype = u.dtype();
  const auto read = [&](int k) { return from_memory(l_, dtype.scalar(), at(u, k)); };
  if (!dtype.is_vector()) {
    const std::string other = w_.text(u.src(3)), open = gate(u, 2, 0), element = read(0);
    w_.name(u, w_.declare(w_.scalar_type(dtype), "val", other, true));
    return w_.line(message("if (", unwrapped(open), ") { ", w_.simple(u), " = ", element, "; }"));
  }
  w_.simple(u.src(1));
  std::vector<std::string> others;
  for (int k = 0; k < dtype.lanes(); ++k) others.push_back(w_.lane(u.src(3), k));
  w_.array(u, others, "val");
  for (int k = 0; k < dtype.lanes(); ++k) {
    const std::string open = gate(u, 2, k), lane = w_.lane(u, k), element = read(k);
    w_.line(message("if (", unwrapped(open), ") { ", lane, " = ", element, "; }"));
  }
}

void Renderer::store(UOp u) {
  const UOp value = u.src(2);
  if (w_.is_native(value.dtype()) && vectors_.can_mask(u)) return w_.line(vectors_.masked_store(u));
  if (w_.is_native(value.dtype()) && store_whole(u)) return;
  if (value.dtype().is_vector()) return store_lanes(u);
  const std::string line = message(at(u, 0), " = ", to_memory(l_, value.dtype(), w_.text(value)), ";");
  if (u.src().size() < 4) return w_.line(line);
  w_.line(message("if (", unwrapped(w_.text(u.src(3))), ") { ", line, " }"));
}

bool Renderer::store_whole(UOp u) {
  const bool gated = u.src().size() == 4;
  if (gated && u.src(3).dtype().is_vector()) return false;
  const auto* const bytes = std::get_if<std::int64_t>(&u.arg());
  if (l_.streams && bytes != nullptr && (*bytes == 16 || *bytes == 32 || *bytes == 64)) {  // the sizes of strata_stream
    streams_ = true;
    w_.line(vectors_.stream(u.src(2), w_.simple(u.src(0)), w_.text(u.src(1)), *bytes));
    return true;
  }
  const std::string line = vectors_.store(u.src(2), w_.simple(u.src(0)), w_.text(u.src(1)));
  w_.line(gated ? message("if (", unwrapped(w_.text(u.src(3))), ") { ", line, " }") : line);
  return true;
}

void Renderer::store_lanes(UOp u) {
  const UOp value = u.src(2);
  if (moves_whole(u, value.dtype())) {
    std::string all;
    for (int k = 0; k < value.dtype().lanes(); ++k) all += message(k == 0 ? "" : ", ", w_.lane(value, k));
    return w_.line(move(u, l_.store_lanes, value.dtype(), all));
  }
  w_.simple(u.src(1));
  for (int k = 0; k < value.dtype().lanes(); ++k) {
    const std::string text = to_memory(l_, value.dtype().scalar(), w_.lane(value, k));
    const std::string line = message(at(u, k), " = ", text, ";");
    const bool gated = u.src().size() == 4;
    w_.line(gated ? message("if (", unwrapped(gate(u, 3, k)), ") { ", line, " }") : line);
  }
}

// --- the program ---

std::string Renderer::entry() const {
  std::string arguments;
  for (const Parameter& p : signature_.buffers)
    arguments += message(arguments.empty() ? "" : ", ", "(", p.stored ? "" : "const ", memory_type(l_, p.dtype),
                         "*)buffers[", std::to_string(p.slot), "]");
  for (std::size_t k = 0; k < signature_.values.size(); ++k)
    arguments += message(arguments.empty() ? "" : ", ", "(", value_type(l_, signature_.values[k].dtype), ")values[",
                         std::to_string(k), "]");
  std::string out = message("void ", signature_.name, "_entry(void* const* buffers, const long long* values) {\n");
  if (signature_.buffers.empty()) out += "  (void)buffers;\n";
  if (signature_.values.empty()) out += "  (void)values;\n";
  return out += message("  ", signature_.name, "(", arguments, ");\n}\n");
}

/// The lines up to the first one of the body.
std::string Renderer::head() const {
  std::string out = l_.head(l_, signature_);
  out += '\n';
  const auto mention = [&](const Parameter& p) {
    if (!p.used && l_.silence_unused) out += message("  (void)", p.name, ";\n");
  };
  for (const Parameter& p : signature_.buffers) mention(p);
  for (const Parameter& p : signature_.values) mention(p);
  return out;
}

std::string Renderer::assemble() const {
  const std::string head = this->head();
  const std::string kernel = message(head, w_.body(), "}\n");
  std::string out(l_.prelude);
  const std::string types = w_.typedefs();
  for (const HelperText& h : l_.helpers) {
    const bool needed = kernel.find(h.name) != std::string::npos || types.find(h.name) != std::string::npos;
    if (needed) out += once(h);
  }
  out += types;
  std::string locals;
  for (const std::string& local : signature_.locals) locals += local + "\n";
  if (options_.lines != nullptr) note_lines(count_lines(out), locals + head);
  out += locals + kernel;
  if (options_.entry) out += entry();
  if (options_.lines != nullptr) options_.lines->resize(count_lines(out));
  return out;
}

/// Fills options_.lines: `before` lines without UOps; the lines of `head`, with the definitions whose names they
/// contain; those of the body.
void Renderer::note_lines(std::size_t before, std::string_view head) const {
  SourceLines& lines = *options_.lines;
  lines.assign(before, {});
  const auto is_definition = [](UOp u) {
    return u.op() == UOps::DEFINE_GLOBAL || u.op() == UOps::DEFINE_VAR || u.op() == UOps::DEFINE_LOCAL;
  };
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(line.size() + 1, head.size()));
    std::vector<std::uint32_t>& said = lines.emplace_back();
    for (const UOp u : list_)
      if (is_definition(u) && names(line, w_.name_of(u))) said.push_back(static_cast<std::uint32_t>(u.num()));
  }
  STRATA_ASSERT(w_.owners().size() == count_lines(w_.body()), "[render] a line of several lines");
  const SourceLines body = lines_of(list_, w_.owners());
  lines.insert(lines.end(), body.begin(), body.end());
}

void check_list(std::string_view name, const UOpGraph& uops) {
  STRATA_CHECK(is_name(name) && !is_reserved(name), domain, "[render] ", in_quotes(name),
               " is not a name of a function");
  verify(uops);
}

}  // namespace
}  // namespace rendering

CStyleParts uops_to_cstyle_parts(const Language& language, std::string_view function_name, const UOpGraph& uops) {
  rendering::check_list(function_name, uops);
  const CStyleOptions options;
  return rendering::Renderer(language, function_name, uops, options).parts();
}

std::string uops_to_cstyle(const Language& language, std::string_view function_name, const UOpGraph& uops,
                           const CStyleOptions& options) {
  if (options.looks.any()) {
    CStyleOptions renamed = options;
    renamed.polls = std::exchange(renamed.looks, {});
    return uops_to_cstyle(language, function_name, uops, renamed);
  }
  rendering::check_list(function_name, uops);
  STRATA_CHECK(!options.entry || language.gnu_vectors, domain, "[render] ", language.name,
               " has no entry for the host");
  STRATA_CHECK(!options.polls.any() || language.gnu_vectors, domain, "[render] ", language.name,
               " does not call the host");
  return rendering::Renderer(language, function_name, uops, options).program();
}

}  // namespace strata
