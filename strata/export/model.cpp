#include "strata/export/model.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/narrow.h"
#include "strata/export/stack.h"

namespace strata::exporting {

using detail::message;

namespace {

bool are_zeros(const void* data, std::int64_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  return std::all_of(at, at + bytes, [](unsigned char c) { return c == 0; });
}

std::string place_mark(std::size_t place) { return message("@", place, "@"); }

/// `text` with each mark `@key@` replaced by of(key).
template <class Of>
std::string with_marks(std::string_view text, const Of& of) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t begin = text.find('@', at);
    out += text.substr(at, begin - at);
    if (begin == std::string_view::npos) return out;
    const std::size_t end = text.find('@', begin + 1);
    out += of(std::string(text.substr(begin + 1, end - begin - 1)));
    at = end + 1;
  }
}

}  // namespace

Model::Model(Captured captured, std::string of_name, const ExportOptions& of_options)
    : name(std::move(of_name)),
      upper_name(upper(name)),
      options(of_options),
      function(captured.name),
      writer(name, options.target, options.deterministic) {
  STRATA_CHECK(is_model_name(name), domain, "[export] \"", name,
               "\" is no name of a model: letters, digits and single underscores, and no word of C");
  STRATA_CHECK(options.weights == "embed" || is_pointer(), domain,
               "[export] weights are \"embed\", \"file\" or \"pointer\", not \"", options.weights, "\"");
  STRATA_CHECK(
      options.weight_dtype != "int8", domain,
      "[export] weights as \"int8\" need scales: nn::quantize() makes them, and the file has its int8 weights");
  STRATA_CHECK(options.weight_dtype == "f32" || options.weight_dtype == "f16", domain,
               "[export] weights are stored as \"f32\" or \"f16\", not \"", options.weight_dtype, "\"");
  if (captured.keeps_values && !captured.values.empty()) {
    const auto& [v, value] = captured.values[0];
    throw Error(ErrorKind::domain,
                message("[export] ", function, " is captured for ", v.name(), " = ", value,
                        " alone, while its bounds are [", v.min(), ", ", v.max(), "]: call it with two values of ",
                        v.name(), " before the export, and let the function not depend on the value"));
  }
  STRATA_CHECK(
      !captured.state_is_read_by_host, domain, "[export] ", function,
      " reads elements of a tensor to which it assigns (item(), a size, a branch): what follows from them would "
      "stay as in the captured call");
  if (!captured.read_by_host.empty()) throw Error(ErrorKind::domain, looks_text(captured));
  for (const auto& [v, value] : captured.values) {
    const auto is_same = [&](const ModelSize& s) { return s.variable.name() == v.name(); };
    if (std::none_of(sizes.begin(), sizes.end(), is_same)) sizes.push_back({c_name(v.name()), v, value});
  }
  drop_unused(captured);
  name_tensors(captured);
  place_states(captured);
  place_fed(captured);
  place_outputs(captured);
  place_constants(captured);
  if (options.weight_dtype == "f16") narrow_constants(captured);
  plan_calls(captured);
  plan_arena(captured);
}

std::string Model::size(const Int& n) const {
  return c_size(n, [&](const Variable& v) {
    for (const ModelSize& s : sizes)
      if (s.variable.name() == v.name()) return s.name;
    STRATA_CHECK(v.bound_value(), domain, "[export] the size ", n.render(), " has the variable ", v.name(),
                 ", which is no argument");
    return message(*v.bound_value());
  });
}

std::string Model::constant(std::size_t c) const {
  if (writer.constants().all()[c].bytes == 0) return "((const unsigned char *)\"\")";  // no array has no elements
  return is_pointer()
             ? message("((const unsigned char *)weights + ", weights_begin() + writer.constants().all()[c].at, ")")
             : message("(const unsigned char *)", name, "_c", c);
}

std::uint64_t Model::weights_checksum() const {
  const std::vector<std::byte> all = weights();
  const auto begin = static_cast<std::size_t>(weights_begin());
  return checksum(all.data() + begin, all.size() - begin);
}

std::vector<std::byte> Model::weights() const {
  const Constants& all = writer.constants();
  std::vector<std::byte> out(static_cast<std::size_t>(weights_begin() + all.bytes()));
  std::byte* const content = out.data() + weights_begin();
  for (const Constant& c : all.all()) std::copy_n(c.data, c.bytes, content + c.at);
  if (!is_file()) return out;
  const std::uint64_t head[] = {kWeightsMark, static_cast<std::uint64_t>(all.bytes()),
                                checksum(content, static_cast<std::size_t>(all.bytes()))};
  std::memcpy(out.data(), head, sizeof head);
  return out;
}

/// The name, which no other parameter may have, nor one whose macros would be the same.
std::string Model::taken(const std::string& wanted) {
  STRATA_CHECK(is_free(wanted), domain, "[export] two arguments are named ", wanted,
               " (macros have the name in upper case)");
  names_.push_back(wanted);
  return wanted;
}
bool Model::is_free(const std::string& wanted) const {
  const auto is_same = [&](const std::string& known) { return upper(known) == upper(wanted); };
  return std::none_of(names_.begin(), names_.end(), is_same) &&
         std::none_of(sizes.begin(), sizes.end(), [&](const ModelSize& s) { return is_same(s.name); });
}

std::string Model::given_name(const std::vector<std::string>& given, std::size_t k, std::size_t count, char letter) {
  if (given.empty()) {
    std::string wanted = count == 1 ? std::string(1, letter) : message(std::string(1, letter), k);
    while (!is_free(wanted)) wanted.insert(0, 1, letter);
    return taken(wanted);
  }
  STRATA_CHECK(given.size() == count, domain, "[export] ", given.size(), " names are given for ", count, " tensors");
  std::string wanted = c_name(given[k]);
  if (wanted.starts_with(name + "_")) wanted += "_";  // as the functions and types of the file
  if (options.unique_names && !is_free(wanted)) {
    int more = 2;
    while (!is_free(message(wanted, "_", more))) ++more;
    wanted = message(wanted, "_", more);
  }
  return taken(wanted);
}

std::string Model::looks_text(const Captured& captured) const {
  std::string names;
  for (const std::size_t k : captured.read_by_host) {
    const bool is_named = options.inputs.size() == captured.inputs.size();
    names += message(names.empty() ? "" : ", ", is_named ? options.inputs[k] : message(k));
  }
  return message("[export] ", function, " reads elements of the argument ", names,
                 " (item(), a size, a branch): what follows from them would stay as in the captured call");
}

/// Drops the kernels whose results nothing reads, e.g. those that computed a shape for the host.
void Model::drop_unused(Captured& captured) {
  RecordedProgram& program = captured.program;
  std::vector<bool> is_needed(program.places.size());
  const auto need = [&](const std::optional<std::size_t>& place) {
    if (place) is_needed[*place] = true;
  };
  for (const CapturedTensor& x : captured.inputs) need(x.place);
  for (const CapturedTensor& y : captured.outputs) need(y.place);
  for (const CapturedState& s : captured.states) need(s.before), need(s.after);
  std::vector<RecordedProgram::Launch> kept;
  for (std::size_t k = program.launches.size(); k-- > 0;) {
    RecordedProgram::Launch& l = program.launches[k];
    const std::vector<BufferUse>& uses = l.kernel->kernel().buffers;
    bool keeps = false;
    for (std::size_t slot = 0; slot < l.places.size(); ++slot)
      keeps = keeps || (uses[slot].written && is_needed[l.places[slot]]);
    if (!keeps) continue;
    for (const std::size_t place : l.places) need(place);
    kept.push_back(std::move(l));
  }
  program.launches.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

void Model::name_tensors(const Captured& captured) {
  const auto is_own = [](const CapturedTensor& x) { return !x.same_as; };
  const auto inputs = static_cast<std::size_t>(std::count_if(captured.inputs.begin(), captured.inputs.end(), is_own));
  std::size_t at = 0;
  for (std::size_t k = 0; k < captured.inputs.size(); ++k) {
    const CapturedTensor& x = captured.inputs[k];
    if (x.same_as) continue;
    ModelTensor t{given_name(options.inputs, at++, inputs, 'x'), x.dtype, x.shape, true, false, x.value};
    for (const CapturedState& s : captured.states) {
      if (s.input != k) continue;
      t.is_written = true;
      last_.emplace_back(s.after, copy(t.name, place_mark(s.after),
                                       message("(size_t)", size(product(x.shape)), " * sizeof(*", t.name, ")")));
    }
    if (x.place) address_.emplace(*x.place, t.name);
    tensors.push_back(std::move(t));
  }
  for (std::size_t k = 0; k < captured.outputs.size(); ++k) {
    const CapturedTensor& y = captured.outputs[k];
    tensors.push_back(
        {given_name(options.outputs, k, captured.outputs.size(), 'y'), y.dtype, y.shape, false, true, y.value});
  }
}

std::string Model::copy(const std::string& to, const std::string& from, const std::string& bytes) const {
  return message("  ", name, "_copy(", to, ", ", from, ", ", bytes, ");\n");
}

void Model::add_state(ModelState state, const void* initial) {
  state.at = state_bytes;
  state_bytes += aligned(state.bytes);
  if (!are_zeros(initial, state.bytes)) {
    const auto* const from = static_cast<const std::byte*>(initial);
    state.initial = writer.constants().add(state.dtype, std::vector<std::byte>(from, from + state.bytes));
  }
  states.push_back(std::move(state));
}
std::string Model::state_address(std::size_t k) const {
  return message("((unsigned char *)state + ", states[k].at, ")");
}

void Model::place_states(Captured& captured) {
  const auto is_own = [](const CapturedState& s) { return !s.input; };
  const auto count = static_cast<std::size_t>(std::count_if(captured.states.begin(), captured.states.end(), is_own));
  for (const CapturedState& s : captured.states) {
    if (s.input) continue;
    const std::int64_t bytes = s.size * static_cast<std::int64_t>(s.dtype.itemsize());
    const std::size_t k = states.size();
    add_state({given_name(options.states, k, count, 's'), s.dtype, s.shape, bytes}, s.value);
    if (s.before) {
      STRATA_CHECK(!address_.contains(*s.before), domain, "[export] ", function, " assigns two values to one memory");
      address_.emplace(*s.before, state_address(k));
    }
    const auto& updates = captured.program.updates;
    const bool is_in_place = std::any_of(updates.begin(), updates.end(), [&](const RecordedUpdate& u) {
      return u.after == s.after && s.before == u.before;
    });
    if (is_in_place || (!s.before && !address_.contains(s.after)))
      address_.emplace(s.after, state_address(k));
    else
      last_.emplace_back(s.after, copy(state_address(k), place_mark(s.after), message(bytes)));
  }
}

void Model::place_fed(const Captured& captured) {
  for (const RecordedProgram::Fed& f : captured.program.fed) {
    STRATA_CHECK(f.rule.is_known(), undefined, "[export] ", function,
                 " is fed a value at each call by a function of the program's, which C cannot call");
    if (f.rule.coming)
      place_coming(f);
    else
      place_counter(captured.program, f);
  }
}

/// A counter, e.g. of random numbers: a part of the state, which grows with each run.
void Model::place_counter(const RecordedProgram& program, const RecordedProgram::Fed& f) {
  const RecordedProgram::Place& place = program.places[f.place];
  std::vector<std::uint64_t> growth = f.rule.steps, next(growth.size());
  std::memcpy(next.data(), place.memory, static_cast<std::size_t>(place.bytes));
  for (std::uint64_t& step : growth) {
    if (step == 0 || f.rule.shared == 0) continue;
    step = 0;
    for (const RecordedProgram::Fed& other : program.fed)
      if (other.rule.shared == f.rule.shared)
        for (const std::uint64_t s : other.rule.steps) step += s;
  }
  STRATA_CHECK(!options.selftest, domain, "[export] ", function,
               " draws random numbers: its self test would not draw those of the captured call again");
  const std::size_t k = states.size();
  for (std::size_t e = 0; e < growth.size(); ++e) next[e] += growth[e];
  add_state({taken(message("random", k)), dtypes::uint64, {static_cast<std::int64_t>(growth.size())}, place.bytes},
            next.data());
  for (std::size_t e = 0; e < growth.size(); ++e)
    if (growth[e] != 0)
      advance_ += message("  ((uint64_t *)(void *)", state_address(k), ")[", e, "] += ", growth[e], "u;\n");
  address_.emplace(f.place, state_address(k));
}

/// Values that come to rest, e.g. the corrections of an optimiser: constants where they rest, else tables, and a
/// counter of the runs in the state.
void Model::place_coming(const RecordedProgram::Fed& f) {
  constexpr std::int64_t most = std::int64_t{1} << 17, far = std::int64_t{1} << 40;
  const std::vector<float> last = f.rule.coming(far);
  std::vector<std::vector<float>> tables(last.size());
  for (std::int64_t runs = 0, resting = 0; resting < static_cast<std::int64_t>(last.size()); ++runs) {
    STRATA_CHECK(runs < most, undefined, "[export] ", function, " is fed a value that changes for more than ", most,
                 " calls");
    const std::vector<float> now = f.rule.coming(runs);
    resting = 0;
    for (std::size_t e = 0; e < now.size(); ++e) {
      const bool rests = !tables[e].empty() && tables[e].back() == last[e];
      if (!rests) tables[e].push_back(now[e]);
      resting += tables[e].back() == last[e] ? 1 : 0;
    }
  }
  const auto bytes = static_cast<std::int64_t>(last.size() * sizeof(float));
  if (std::all_of(tables.begin(), tables.end(), [](const auto& t) { return t.size() == 1; })) {
    const auto* const from = reinterpret_cast<const std::byte*>(last.data());
    const std::size_t c = writer.constants().add(dtypes::float32, std::vector<std::byte>(from, from + bytes));
    address_.emplace(f.place, constant(c));
    return;
  }
  STRATA_CHECK(!options.selftest, domain, "[export] ", function,
               " is fed other values in its next call: its self test would not be fed those of the captured call");
  const std::size_t k = states.size();
  const std::vector<std::byte> zeros(static_cast<std::size_t>(bytes) + 8);
  add_state({taken(message("runs", k)), dtypes::uint8, {bytes + 8}, bytes + 8}, zeros.data());
  const std::string runs = message("*(uint64_t *)(void *)", state_address(k));
  for (std::size_t e = 0; e < tables.size(); ++e) {
    const auto* const from = reinterpret_cast<const std::byte*>(tables[e].data());
    const std::size_t c =
        writer.constants().add(dtypes::float32, std::vector<std::byte>(from, from + tables[e].size() * sizeof(float)));
    const std::string end = message(tables[e].size() - 1, "u");
    const std::string at = tables[e].size() == 1 ? "0" : message(runs, " < ", end, " ? ", runs, " : ", end);
    body += message("  ((float *)(void *)(", state_address(k), " + 8))[", e, "] = ((const float *)(const void *)",
                    constant(c), ")[", at, "];\n");
  }
  advance_ += message("  ++", runs, ";\n");
  address_.emplace(f.place, message("(", state_address(k), " + 8)"));
}

void Model::place_outputs(const Captured& captured) {
  for (std::size_t k = 0; k < captured.outputs.size(); ++k) {
    const CapturedTensor& y = captured.outputs[k];
    const std::string& to = tensors[tensors.size() - captured.outputs.size() + k].name;
    const std::string bytes = message("(size_t)", size(product(y.shape)), " * sizeof(*", to, ")");
    if (y.place && captured.program.places[*y.place].is_written && !address_.contains(*y.place)) {
      address_.emplace(*y.place, to);
      continue;
    }
    // In front of the copies to the state: an output may be what the state was.
    if (y.place) {
      last_.insert(last_.begin(), {*y.place, copy(to, place_mark(*y.place), bytes)});
      continue;
    }
    const std::size_t c =
        writer.constants().add(y.dtype, y.value->data(), static_cast<std::int64_t>(y.value->nbytes()));
    advance_ += copy(to, constant(c), bytes);
  }
}

void Model::place_constants(const Captured& captured) {
  std::map<std::size_t, DType> used;
  for (const RecordedProgram::Launch& l : captured.program.launches)
    for (std::size_t slot = 0; slot < l.places.size(); ++slot)
      if (const DType dtype = l.kernel->kernel().buffers[slot].dtype; !dtype.is_none())
        used.emplace(l.places[slot], dtype);
  for (const auto& [place, dtype] : used)
    if (!captured.program.places[place].is_written && !address_.contains(place)) constant_.emplace(place, 0);
}

/// Finds the constants that are stored as f16: those that kernels alone read, all as f32, and that f16 can hold.
void Model::narrow_constants(const Captured& captured) {
  std::set<std::size_t> others;
  for (const RecordedProgram::Launch& l : captured.program.launches)
    for (std::size_t slot = 0; slot < l.places.size(); ++slot)
      if (const DType dtype = l.kernel->kernel().buffers[slot].dtype;
          !dtype.is_none() && (RoutineWriter::is_loop(*l.kernel) || dtype != dtypes::float32))
        others.insert(l.places[slot]);
  for (const auto& [place, c] : constant_) {
    if (others.contains(place)) continue;
    const RecordedProgram::Place& from = captured.program.places[place];
    const auto count = static_cast<std::size_t>(from.bytes) / sizeof(float);
    const std::span<const float> elements(static_cast<const float*>(from.memory), count);
    std::optional<std::vector<std::uint16_t>> bits = halves_of(elements);
    if (!bits) continue;
    for (std::size_t k = 0; options.selftest && k < count; ++k)
      STRATA_CHECK(Scalar::from_bits(dtypes::float16, (*bits)[k]).as_double() == static_cast<double>(elements[k]),
                   domain, "[export] ", function, " has the weight ", elements[k],
                   ", which f16 rounds: its self test would compare with results of other weights. Round them before");
    halves_.emplace(place, std::move(*bits));
  }
}

std::string Model::variable(const RecordedProgram::Launch& launch, const Variable& v) const {
  const bool is_own = std::find(launch.own.begin(), launch.own.end(), v.name()) != launch.own.end();
  for (const ModelSize& s : sizes)
    if (!is_own && s.variable.name() == v.name()) return s.name;
  const std::vector<Variable>& all = launch.kernel->kernel().variables;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].name() == v.name()) return message(launch.values[k]);
  STRATA_CHECK(v.bound_value(), domain, "[export] ", launch.kernel->kernel().name, " has the variable ", v.name(),
               ", which is no argument");
  return message(*v.bound_value());
}

void Model::plan_calls(const Captured& captured) {
  const RecordedProgram& program = captured.program;
  std::size_t called = 0;  // the most parameters of a routine
  for (std::size_t k = 0; k < program.launches.size(); ++k) {
    const RecordedProgram::Launch& l = program.launches[k];
    std::vector<SlotFacts> facts(l.places.size());
    for (std::size_t slot = 0; slot < facts.size(); ++slot) {
      const RecordedProgram::Place& place = program.places[l.places[slot]];
      if (!constant_.contains(l.places[slot])) continue;
      const auto bits = halves_.find(l.places[slot]);
      if (bits == halves_.end()) {
        facts[slot] = {true, Known{static_cast<const std::byte*>(place.memory), place.bytes}};
        continue;
      }
      const auto narrow = std::as_bytes(std::span(bits->second));
      facts[slot] = {true, Known{narrow.data(), static_cast<std::int64_t>(narrow.size())}, true};
    }
    const Routine& r = writer.of(*l.kernel, facts);
    std::map<std::size_t, std::size_t> packed;  // constants by slot
    std::vector<std::optional<Known>> known;
    for (const Packing& p : r.packings) {
      const auto constants = writer.known(p, facts, known);
      STRATA_ASSERT(constants, "a packing of weights that are not known");
      for (std::size_t n = 0; n < p.writes.size(); ++n) packed[p.writes[n]] = (*constants)[n];
    }
    CallTexts texts;
    texts.pointer = [&](std::size_t slot) -> std::string {
      if (const auto p = packed.find(slot); p != packed.end()) return constant(p->second);
      const std::size_t place = l.places.at(slot);
      if (!constant_.contains(place)) return place_mark(place);
      const Known& all = *facts[slot].known;
      const DType dtype = facts[slot].is_narrow ? dtypes::float16 : l.kernel->kernel().buffers[slot].dtype;
      return constant(writer.constants().add(dtype, all.data, all.bytes));
    };
    texts.variable = [&](const Variable& v) { return variable(l, v); };
    texts.constant = [&](std::size_t c) { return constant(c); };
    texts.work = message("@w", k, "@");
    texts.threads = "&threads";
    has_threads = has_threads || r.has_threads;
    steps.push_back(r.title);
    stack_bytes = std::max(stack_bytes, r.stack);
    called = std::max(called, r.parameters());
    const KernelCost work = RoutineWriter::cost(*l.kernel);
    cost.operations += work.operations, cost.bytes += work.bytes;
    std::string line = r.title;
    if (const std::string origin = options.lines ? line_of(l.origin) : std::string(); !origin.empty())
      line += message(" (", origin, ")");
    body += message("  ", c_comment(line), "\n  ", call_of(r, texts));
    work_.push_back(r.work);
  }
  for (const auto& [place, statement] : last_) body += statement;
  body += advance_;
  const bool ends_in_call = work_.size() == 1 && last_.empty() && advance_.empty();
  const std::int64_t arrays = (has_threads ? 16 : 0) + (sizes.empty() ? 0 : 8 * (std::ssize(blocks) + 2));
  stack_bytes += frame_of_caller(ends_in_call ? 0 : 8, called, arrays);
}

std::string Model::bytes_of(const RecordedProgram& program, std::size_t place) const {
  std::vector<std::string> all;
  for (const RecordedProgram::Launch& l : program.launches) {
    for (std::size_t slot = 0; slot < l.places.size(); ++slot) {
      if (l.places[slot] != place) continue;
      const BufferUse& b = l.kernel->kernel().buffers[slot];
      const std::string text = message("(size_t)", c_size(b.size, [&](const Variable& v) { return variable(l, v); }),
                                       "*", b.dtype.itemsize());
      if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(text);
    }
  }
  std::string out = all.at(0);
  for (std::size_t k = 1; k < all.size(); ++k) out = message(name, "_most(", out, ", ", all[k], ")");
  return out;
}

/// Gives intermediate results and the memory that routines work in their parts of the arena.
void Model::plan_arena(const Captured& captured) {
  const RecordedProgram& program = captured.program;
  std::map<std::size_t, MemoryLife> life;
  for (std::size_t k = 0; k < program.launches.size(); ++k)
    for (const std::size_t place : program.launches[k].places) {
      if (address_.contains(place) || constant_.contains(place)) continue;
      const auto [it, is_new] = life.emplace(place, MemoryLife{program.places[place].bytes, k, k});
      it->second.last = k;
    }
  for (const auto& [place, statement] : last_)
    if (const auto it = life.find(place); it != life.end()) it->second.last = program.launches.size();
  std::vector<MemoryLife> lives;
  std::vector<std::string> keys, bytes;
  const auto add_part = [&](const std::string& what, const MemoryLife& l) {
    const std::string step = l.first < steps.size() ? steps[l.first] : "";
    arena.push_back({message(what, step), l.bytes, 0, l.first, l.last});
  };
  for (const auto& [place, l] : life) {
    lives.push_back(l);
    add_part("", l);
    keys.push_back(message(place));
    if (!sizes.empty()) bytes.push_back(bytes_of(program, place));
  }
  for (std::size_t k = 0; k < work_.size(); ++k) {
    if (work_[k] == 0) continue;
    lives.push_back({work_[k], k, k});
    add_part("memory to work in of ", lives.back());
    keys.push_back(message("w", k));
    if (!sizes.empty()) bytes.push_back(message("(size_t)", work_[k]));
  }
  std::map<std::string, std::string> text;
  if (sizes.empty()) {
    const ArenaPlan plan = strata::plan_arena(lives);
    arena_bytes = plan.bytes;
    for (std::size_t k = 0; k < lives.size(); ++k) {
      text[keys[k]] = message("(base + ", plan.offsets[k], ")");
      arena[k].at = plan.offsets[k];
    }
  } else {
    text = plan_blocks(lives, keys, bytes);
  }
  body = with_marks(body, [&](const std::string& key) {
    if (const auto it = text.find(key); it != text.end()) return it->second;
    const auto place = static_cast<std::size_t>(std::stoull(key));
    if (const auto it = address_.find(place); it != address_.end()) return it->second;
    const auto& use = program.places[place];
    DType dtype = dtypes::uint8;
    return constant(writer.constants().add(dtype, use.memory, use.bytes));
  });
}

/// Blocks that share bytes of the arena one after another, for sizes that are not known: the sizes of a block's members
/// decide its own when the model runs.
std::map<std::string, std::string> Model::plan_blocks(std::span<const MemoryLife> lives,
                                                      std::span<const std::string> keys,
                                                      std::span<const std::string> bytes) {
  std::vector<std::size_t> order(lives.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lives[a].bytes != lives[b].bytes ? lives[a].bytes > lives[b].bytes : a < b;
  });
  std::vector<std::vector<std::size_t>> members;
  std::vector<std::int64_t> begins;
  std::vector<std::set<std::string>> seen;  // by block: the sizes of its members
  std::map<std::string, std::string> text;
  for (const std::size_t k : order) {
    const auto is_free = [&](const std::vector<std::size_t>& block) {
      return std::all_of(block.begin(), block.end(), [&](std::size_t m) {
        return lives[m].last < lives[k].first || lives[k].last < lives[m].first;
      });
    };
    auto block = std::find_if(members.begin(), members.end(), is_free);
    if (block == members.end()) {
      members.emplace_back();
      block = members.end() - 1;
      blocks.emplace_back();
      seen.emplace_back();
      begins.push_back(arena_bytes);
      arena_bytes += aligned(lives[k].bytes);
    }
    block->push_back(k);
    const auto b = static_cast<std::size_t>(block - members.begin());
    arena[k].at = begins[b];
    if (seen[b].insert(bytes[k]).second)
      blocks[b] = blocks[b].empty() ? bytes[k] : message(name, "_most(", blocks[b], ", ", bytes[k], ")");
    text[keys[k]] = message("(base + at[", b, "])");
  }
  return text;
}

std::string line_of(const Origin& origin) {
  if (!origin.is_known()) return {};
  std::string_view file = origin.file;
  file = file.substr(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
  return message(origin.operation, ", written at ", file, ":", origin.line);
}

}  // namespace strata::exporting
