// The kernels of a captured function for devices, as sources and a table in JSON of what a program launches.
//
// All memory is buffers, without offsets, so that a program binds each as it is: arguments, state, weights, which lie
// in one file, and intermediate results, which share a buffer where they never live at once. A launch has one buffer at
// two parameters only if it reads both.

#include <algorithm>
#include <set>

#include "strata/base/check.h"
#include "strata/base/json.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"
#include "strata/export/narrow.h"
#include "strata/render/cstyle.h"
#include "strata/render/kernel_source.h"

namespace strata::exporting {

using detail::message;

/// A language of devices, and the ending of its files.
struct DeviceLanguage {
  std::string_view word, ending;
  const Language& (*language)();  ///< null: each kernel is a file of its own, because names at file scope are the same
  std::int64_t group;             ///< work-items in a group, where the text says it; 0: the program says it
  bool has_wide;                  ///< has integers of 64 bits
};
/// A kernel as a function of the language.
struct DeviceFunction {
  std::shared_ptr<const Kernel> kernel;
  std::string name, file;
  std::vector<UOp> globals = {}, values = {};  ///< the parameters
  bool has_index = false;                      ///< whether its work-items differ, so that there may be too many
};

namespace {

// clang-format off
constexpr DeviceLanguage kDeviceLanguages[] = {
    {"opencl", "cl",    OpenCLLanguageWithoutHalf, 0,  true},
    {"cuda",   "cu",    CUDALanguage,              0,  true},
    {"metal",  "metal", MetalLanguage,             0,  false},
    {"wgsl",   "wgsl",  nullptr,                   64, false},
};
// clang-format on

const DeviceLanguage& language_of(const std::string& word) {
  std::string known;
  for (const DeviceLanguage& l : kDeviceLanguages) {
    if (l.word == word) return l;
    known += message(known.empty() ? "" : ", ", l.word);
  }
  throw Error(ErrorKind::domain,
              message("[export] kernels in \"", word, "\" are not written: the languages are ", known));
}

/// The text with a line for each item of its lists.
std::string in_lines(std::string_view json) {
  std::string out;
  int depth = 0;
  bool is_text = false;
  for (std::size_t k = 0; k < json.size(); ++k) {
    const char c = json[k];
    if (c == '"' && (k == 0 || json[k - 1] != '\\')) is_text = !is_text;
    if (!is_text && (c == '[' || c == '{')) ++depth;
    if (!is_text && (c == ']' || c == '}')) --depth;
    out += c;
    if (!is_text && c == ',' && (depth == 1 || (depth == 2 && json[k + 1] == '{'))) out += depth == 1 ? "\n" : "\n  ";
    if (!is_text && c == '[' && depth == 2 && json[k + 1] == '{') out += "\n  ";
  }
  return out + "\n";
}

bool has_wide(const Kernel& kernel) {
  return std::any_of(kernel.uops.begin(), kernel.uops.end(), [](UOp u) { return u.dtype().scalar() == dtypes::int64; });
}

/// A size as JSON; the largest of some.
std::string largest_of(const std::vector<std::string>& sizes) {
  if (sizes.size() == 1) return sizes[0];
  std::string out = "[\"max\"";
  for (const std::string& s : sizes) out += message(", ", s);
  return out + "]";
}

}  // namespace

class Model::Table {
 public:
  Table(Model& model, const Captured& captured)
      : m_(model), captured_(captured), language_(language_of(model.options.kernels)) {
    target_ = find_kernel_language(language_.word)->target();
    if (m_.options.deterministic) target_ = target_.deterministic();
  }

  void write() {
    for (const RecordedProgram::Launch& l : captured_.program.launches) launch(l);
    for (const ModelCopy& c : m_.last_)
      copy(of(c.to), c.place ? of_place(*c.place) : Memory{Kind::constant, c.constant}, c.bytes);
    share_temporaries();
    finish_sources();
    m_.table.text = table();
    m_.table.functions = functions_.size();
  }

 private:
  enum class Kind { tensor, state, constant, temporary };
  struct Memory {
    Kind kind;
    std::size_t index;
    bool operator==(const Memory&) const = default;
  };
  struct Temporary {
    MemoryLife life;
    std::vector<std::string> bytes;  ///< as JSON; the largest
    std::string title;
    std::size_t block = 0;
  };
  struct Step {
    std::optional<std::size_t> function = {};  ///< none: a copy of the second buffer to the first
    std::vector<Memory> buffers = {};
    std::vector<std::string> values = {};
    std::string size, title = {};  ///< work-items, or bytes
  };

  static Memory of(const ModelAddress& a) {
    const Kind kinds[] = {Kind::tensor, Kind::state, Kind::constant};
    return {kinds[static_cast<std::size_t>(a.kind)], a.index};
  }
  static std::string quoted(const std::string& name) { return message("\"", name, "\""); }
  std::string json(const Int& size) const {
    return json_size(size, [&](const Variable& v) {
      for (const ModelSize& s : m_.sizes)
        if (s.variable.name() == v.name()) return quoted(s.name);
      STRATA_CHECK(v.bound_value(), domain, "[export] the size ", size.render(), " has the variable ", v.name(),
                   ", which is no argument");
      return message(*v.bound_value());
    });
  }
  std::string json(const RecordedProgram::Launch& l, const Variable& v) const {
    const std::string text = m_.variable(l, v);
    const auto is_size = [&](const ModelSize& s) { return s.name == text; };
    return std::any_of(m_.sizes.begin(), m_.sizes.end(), is_size) ? quoted(text) : text;
  }
  std::string json(const RecordedProgram::Launch& l, const Int& size) const {
    return json_size(size, [&](const Variable& v) { return json(l, v); });
  }

  /// The work-items of a launch: at least one.
  std::string items(const RecordedProgram::Launch& l, const Kernel& kernel) const {
    if (!kernel.parallel) return "1";
    const std::string text = json(l, *kernel.parallel);
    return kernel.parallel->vmin() > 0 ? text : largest_of({text, "1"});
  }

  /// The memory of a place that kernels write, or of a known one.
  Memory of_place(std::size_t place) {
    if (const auto it = m_.where_.find(place); it != m_.where_.end()) return of(it->second);
    const RecordedProgram::Place& p = captured_.program.places[place];
    if (!p.is_written) return {Kind::constant, m_.constants.add(dtypes::uint8, p.memory, p.bytes)};
    const auto [it, is_new] = by_place_.emplace(place, temporaries_.size());
    if (is_new) add_temporary(p.bytes);
    return {Kind::temporary, it->second};
  }
  Memory add_temporary(std::int64_t bytes) {
    temporaries_.push_back({{bytes, steps_.size(), steps_.size()}, {}, {}});
    return {Kind::temporary, temporaries_.size() - 1};
  }
  void use(const Memory& memory, const std::string& bytes) {
    if (memory.kind != Kind::temporary) return;
    Temporary& t = temporaries_[memory.index];
    t.life.last = steps_.size();
    if (std::find(t.bytes.begin(), t.bytes.end(), bytes) == t.bytes.end()) t.bytes.push_back(bytes);
  }
  void copy(Memory to, Memory from, const Int& bytes) {
    const std::string text = json(bytes);
    use(to, text), use(from, text);
    steps_.push_back({std::nullopt, {to, from}, {}, text, "copy"});
  }

  void launch(const RecordedProgram::Launch& l) {
    const LazyOp& ast = l.kernel->kernel().ast;
    STRATA_CHECK(!RoutineWriter::is_loop(*l.kernel), domain, "[export] ", m_.function, " has a loop, ",
                 l.kernel->kernel().name, ", which a table of launches in ", language_.word, " cannot say");
    STRATA_CHECK(ordered_by(ast) == nullptr, domain, "[export] ", m_.function, " sorts rows (", kernel_name(ast),
                 "), for which there is no kernel in ", language_.word);
    std::vector<Narrowing> narrow;
    std::vector<Memory> slots;
    for (std::size_t slot = 0; slot < l.places.size(); ++slot) {
      const std::size_t place = l.places[slot];
      const DType dtype = l.kernel->kernel().buffers[slot].dtype;
      const auto stored = m_.narrow_.find(place);
      narrow.push_back(stored == m_.narrow_.end() ? Narrowing() : stored->second.form);
      if (!m_.constant_.contains(place)) {
        slots.push_back(of_place(place));
      } else if (narrow.back().is_narrow()) {
        const std::vector<std::byte>& bytes = stored->second.bytes;
        slots.push_back({Kind::constant, m_.constants.add(narrow.back().dtype, bytes.data(), std::ssize(bytes))});
      } else {
        const RecordedProgram::Place& p = captured_.program.places[place];
        slots.push_back({Kind::constant, m_.constants.add(dtype, p.memory, p.bytes)});
      }
    }
    const std::shared_ptr<const Kernel> kernel = compiled(ast, narrow);
    for (std::size_t slot = slots.size(); slot < kernel->buffers.size(); ++slot) {
      const BufferUse& b = kernel->buffers[slot];
      slots.push_back(add_temporary(b.size.vmax() * static_cast<std::int64_t>(b.dtype.itemsize())));
    }
    for (const auto& first : kernel->before) launch(l, first, slots);
    launch(l, kernel, slots);
    const KernelCost work = RoutineWriter::cost(*l.kernel);
    m_.cost.operations += work.operations, m_.cost.bytes += work.bytes;
  }

  std::shared_ptr<const Kernel> compiled(const LazyOp& ast, const std::vector<Narrowing>& narrow) {
    for (const auto& [known, bits, kernel] : compiled_)
      if (known == ast && bits == narrow) return kernel;
    const LazyOp wide = widening(ast, narrow);
    auto out = std::make_shared<const Kernel>(compile_kernel(wide, target_));
    // What is left over of a symbolic size is counted in 64 bits: an iteration of the whole loop has nothing left over.
    if (!language_.has_wide && has_wide(*out) && out->parallel && !out->parallel->is_number())
      out = std::make_shared<const Kernel>(compile_kernel(wide, target_, parse_opts("PARALLEL 0")));
    compiled_.emplace_back(ast, narrow, out);
    return out;
  }

  void launch(const RecordedProgram::Launch& l, const std::shared_ptr<const Kernel>& kernel,
              const std::vector<Memory>& slots) {
    const std::size_t f = function(kernel);
    const DeviceFunction& function = functions_[f];
    Step step{f, {}, {}, items(l, *kernel), title_of(*kernel)};
    std::vector<bool> written;
    for (const UOp g : function.globals) {
      const auto slot = static_cast<std::size_t>(std::get<Global>(g.arg()).slot);
      step.buffers.push_back(slots.at(slot));
      written.push_back(kernel->buffers[slot].written);
    }
    const auto bytes = [&](std::size_t k) {
      const auto slot = static_cast<std::size_t>(std::get<Global>(function.globals[k].arg()).slot);
      const BufferUse& b = kernel->buffers[slot];
      return std::pair(json(l, b.size * static_cast<std::int64_t>(b.dtype.itemsize())),
                       b.size.vmax() * static_cast<std::int64_t>(b.dtype.itemsize()));
    };
    // What a launch writes is at no other parameter of it.
    for (std::size_t k = 0; k < written.size(); ++k) {
      bool is_elsewhere = false;
      for (std::size_t j = 0; j < written.size(); ++j)
        is_elsewhere = is_elsewhere || (j != k && written[j] && step.buffers[j] == step.buffers[k]);
      if (written[k] || !is_elsewhere) continue;
      const auto [text, most] = bytes(k);
      const Memory former = add_temporary(most), now = step.buffers[k];
      use(former, text), use(now, text);
      steps_.push_back({std::nullopt, {former, now}, {}, text, "copy"});
      step.buffers[k] = former;
    }
    for (std::size_t k = 0; k < written.size(); ++k) {
      use(step.buffers[k], bytes(k).first);
      if (step.buffers[k].kind == Kind::temporary) temporaries_[step.buffers[k].index].title = step.title;
    }
    for (const UOp u : function.values) step.values.push_back(json(l, std::get<Variable>(u.arg())));
    steps_.push_back(std::move(step));
  }

  std::size_t function(const std::shared_ptr<const Kernel>& kernel) {
    for (std::size_t k = 0; k < functions_.size(); ++k)
      if (functions_[k].kernel == kernel) return k;
    DeviceFunction out{kernel, message(m_.name, "_k", functions_.size()), {}};
    for (const UOp u : kernel->uops) {
      if (u.op() == UOps::DEFINE_GLOBAL) out.globals.push_back(u);
      if (u.op() == UOps::DEFINE_VAR) out.values.push_back(u);
      out.has_index = out.has_index || u.op() == UOps::SPECIAL;
    }
    std::sort(out.globals.begin(), out.globals.end(),
              [](UOp a, UOp b) { return std::get<Global>(a.arg()).slot < std::get<Global>(b.arg()).slot; });
    try {
      if (language_.language == nullptr) {
        out.file = message(m_.name, "_k", functions_.size(), ".", language_.ending);
        m_.table.files.emplace_back(out.file,
                                    message("// ", title_of(*kernel), "\n",
                                            find_kernel_language(language_.word)->source(*kernel, out.name, nullptr)));
      } else {
        out.file = message(m_.name, ".", language_.ending);
        const CStyleParts parts = uops_to_cstyle_parts(language_.language(), out.name, kernel->uops);
        for (const std::string& helper : parts.helpers)
          if (seen_.insert(helper).second) helpers_ += message(helper, "\n");
        text_ += message("\n", c_comment(title_of(*kernel)), "\n", parts.types, parts.function);
      }
    } catch (const Error& error) {
      throw Error(error.kind(), message("[export] the kernel ", kernel->name, " of ", m_.function,
                                        " cannot be written in ", language_.word, ": ", error.what()));
    }
    functions_.push_back(std::move(out));
    return functions_.size() - 1;
  }

  /// Gives temporaries that never live at once one buffer.
  void share_temporaries() {
    std::vector<std::size_t> order(temporaries_.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const std::int64_t x = temporaries_[a].life.bytes, y = temporaries_[b].life.bytes;
      return x != y ? x > y : a < b;
    });
    std::vector<std::vector<std::size_t>> members;
    for (const std::size_t k : order) {
      Temporary& t = temporaries_[k];
      if (t.bytes.empty()) continue;  // no kernel has it as a parameter
      const auto is_free = [&](const std::vector<std::size_t>& block) {
        return std::all_of(block.begin(), block.end(), [&](std::size_t m) {
          const MemoryLife& other = temporaries_[m].life;
          return other.last < t.life.first || t.life.last < other.first;
        });
      };
      auto block = std::find_if(members.begin(), members.end(), is_free);
      if (block == members.end()) {
        members.emplace_back();
        block = members.end() - 1;
        blocks_.push_back({{}, m_.table.temporary_bytes});
        m_.table.temporary_bytes += aligned(t.life.bytes);
      }
      block->push_back(k);
      t.block = static_cast<std::size_t>(block - members.begin());
      Block& b = blocks_[t.block];
      for (const std::string& bytes : t.bytes)
        if (std::find(b.bytes.begin(), b.bytes.end(), bytes) == b.bytes.end()) b.bytes.push_back(bytes);
      m_.table.temporaries.push_back({t.title, t.life.bytes, b.at, t.life.first, t.life.last});
    }
    for (const Step& s : steps_) m_.table.steps.push_back(s.title);
  }

  void finish_sources() {
    if (language_.language == nullptr || functions_.empty()) return;
    const Language& language = language_.language();
    std::string begin = message("/* The kernels of ", m_.name, ".json, written by Strata. */\n");
    if (language_.word == "opencl") begin += "#pragma OPENCL FP_CONTRACT OFF\n";
    m_.table.files.emplace_back(functions_[0].file, message(begin, language.prelude, helpers_, text_));
  }

  std::size_t number_of(const Memory& memory) const {
    const std::size_t first_state = m_.tensors.size(), first_constant = first_state + m_.states.size();
    switch (memory.kind) {
      case Kind::tensor: return memory.index;
      case Kind::state: return first_state + memory.index;
      case Kind::constant: return first_constant + memory.index;
      case Kind::temporary: break;
    }
    return first_constant + m_.constants.all().size() + temporaries_[memory.index].block;
  }

  std::string shape(const Ints& shape) const {
    std::string out = "[";
    for (std::size_t k = 0; k < shape.size(); ++k) out += message(k == 0 ? "" : ", ", json(shape[k]));
    return out + "]";
  }

  void write_buffers(JsonWriter& to) const {
    const auto in_file = [&](std::size_t constant) { to.member("offset", m_.constants.all()[constant].at); };
    to.key("buffers").begin_array();
    for (const ModelTensor& t : m_.tensors) {
      to.begin_object().member("kind", !t.is_input ? "output" : t.is_written ? "in_out" : "input");
      to.member("name", t.name).member("dtype", t.dtype.name()).key("shape").raw(shape(t.shape));
      to.key("bytes").raw(json(product(t.shape) * static_cast<std::int64_t>(t.dtype.itemsize()))).end_object();
    }
    for (const ModelState& s : m_.states) {
      to.begin_object().member("kind", "state").member("name", s.name).member("dtype", s.dtype.name());
      to.key("shape").raw(shape(s.shape)).member("bytes", s.bytes);
      if (s.initial) in_file(*s.initial);
      to.end_object();
    }
    for (std::size_t k = 0; k < m_.constants.all().size(); ++k) {
      const Constant& c = m_.constants.all()[k];
      to.begin_object().member("kind", "weight").member("dtype", c.dtype.name()).member("bytes", c.bytes);
      in_file(k);
      to.end_object();
    }
    for (const Block& b : blocks_)
      to.begin_object().member("kind", "temporary").key("bytes").raw(largest_of(b.bytes)).end_object();
    to.end_array();
  }

  void write_functions(JsonWriter& to) const {
    to.key("kernels").begin_array();
    for (const DeviceFunction& f : functions_) {
      std::set<std::string> types;
      for (const UOp u : f.kernel->uops)
        if (!u.dtype().is_none()) types.emplace(u.dtype().scalar().name());
      to.begin_object().member("function", f.name).member("file", f.file);
      if (!f.has_index || language_.group > 0) to.member("group", f.has_index ? language_.group : 1);
      to.key("dtypes").begin_array();
      for (const std::string& type : types) to.value(type);
      to.end_array().key("parameters").begin_array();
      for (const UOp g : f.globals) {
        const BufferUse& b = f.kernel->buffers[static_cast<std::size_t>(std::get<Global>(g.arg()).slot)];
        to.begin_object().member("access", !b.written ? "read" : b.read ? "read_write" : "write");
        to.member("dtype", b.dtype.name()).end_object();
      }
      for (const UOp u : f.values) to.begin_object().member("value", u.dtype().name()).end_object();
      to.end_array().end_object();
    }
    to.end_array();
  }

  void write_steps(JsonWriter& to) const {
    to.key("steps").begin_array();
    for (const Step& s : steps_) {
      to.begin_object();
      if (!s.function) {
        to.key("copy").begin_object().member("to", static_cast<std::int64_t>(number_of(s.buffers[0])));
        to.member("from", static_cast<std::int64_t>(number_of(s.buffers[1]))).key("bytes").raw(s.size).end_object();
      } else {
        to.member("kernel", static_cast<std::int64_t>(*s.function)).key("items").raw(s.size);
        to.key("arguments").begin_array();
        for (const Memory& b : s.buffers) to.value(static_cast<std::int64_t>(number_of(b)));
        for (const std::string& v : s.values) to.raw(v);
        to.end_array().member("title", s.title);
      }
      to.end_object();
    }
    to.end_array();
  }

  std::string table() const {
    JsonWriter to;
    to.begin_object().member("format", "strata kernels 1").member("name", m_.name);
    to.member("language", language_.word).member("deterministic", m_.options.deterministic);
    if (!m_.constants.all().empty())
      to.key("weights")
          .begin_object()
          .member("file", m_.name + ".bin")
          .member("bytes", m_.constants.bytes())
          .end_object();
    to.key("sizes").begin_array();
    for (const ModelSize& s : m_.sizes)
      to.begin_object()
          .member("name", s.name)
          .member("min", s.variable.min())
          .member("max", s.variable.max())
          .end_object();
    to.end_array();
    write_buffers(to);
    write_functions(to);
    write_steps(to);
    return in_lines(to.end_object().take());
  }

  struct Block {
    std::vector<std::string> bytes;
    std::int64_t at;
  };

  Model& m_;
  const Captured& captured_;
  const DeviceLanguage& language_;
  Target target_;
  std::vector<std::tuple<LazyOp, std::vector<Narrowing>, std::shared_ptr<const Kernel>>> compiled_;
  std::vector<DeviceFunction> functions_;
  std::set<std::string> seen_;
  std::string helpers_, text_;
  std::vector<Temporary> temporaries_;
  std::map<std::size_t, std::size_t> by_place_;
  std::vector<Block> blocks_;
  std::vector<Step> steps_;
};

void Model::check_table_options() const {
  const auto refuse = [&](bool is_given, std::string_view what) {
    STRATA_CHECK(!is_given, domain, "[export] kernels in ", options.kernels, " are no C file: they have no ", what);
  };
  refuse(options.target != "generic", message("target (\"", options.target, "\")"));
  refuse(!options.object.empty(), message("object (\"", options.object, "\")"));
  refuse(options.selftest, "self test");
  refuse(options.cpp, "class for C++");
  refuse(is_file(), "head in front of their weights, which are in NAME.bin");
}

void Model::plan_table(const Captured& captured) { Table(*this, captured).write(); }

}  // namespace strata::exporting
