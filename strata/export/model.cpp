#include "strata/export/model.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/narrow.h"
#include "strata/graph/order_rows.h"

namespace strata::exporting {

using detail::message;

namespace {

bool are_zeros(const void* data, std::int64_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  return std::all_of(at, at + bytes, [](unsigned char c) { return c == 0; });
}

}  // namespace

Model::Model(Captured captured, std::string of_name, const ExportOptions& of_options)
    : name(std::move(of_name)),
      upper_name(upper(name)),
      options(of_options),
      function(captured.name),
      targets_(targets_of(options.target)) {
  STRATA_CHECK(is_model_name(name), domain, "[export] \"", name,
               "\" is no name of a model: letters, digits and single underscores, and no word of C");
  if (is_table()) check_table_options();
  check_object_options();
  STRATA_CHECK(options.weights == "embed" || is_pointer(), domain,
               "[export] weights are \"embed\", \"file\" or \"pointer\", not \"", options.weights, "\"");
  const std::string& stored = options.weight_dtype;
  STRATA_CHECK(stored == "f32" || stored == "f16" || stored == "int8", domain,
               "[export] weights are stored as \"f32\", \"f16\" or \"int8\", not \"", stored, "\"");
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
  if (options.weight_dtype != "f32") narrow_constants(captured);
  if (is_table())
    plan_table(captured);
  else
    plan_codes(captured);
}

void Model::check_object_options() const {
  if (options.object.empty()) {
    constexpr std::string_view advice = ": give its machine, e.g. object \"x86_64\"";
    STRATA_CHECK(options.cpu.empty(), domain, "[export] the CPU \"", options.cpu, "\" is of an object", advice);
    STRATA_CHECK(options.features.empty(), domain, "[export] the features \"", options.features, "\" are of an object",
                 advice);
    return;
  }
  STRATA_CHECK(targets_.size() == 1, domain, "[export] an object is for one target, not \"", options.target,
               "\": only a C file chooses when it runs");
}

void Model::put(std::size_t place, ModelAddress to, std::string text) {
  if (address_.emplace(place, std::move(text)).second) where_.emplace(place, to);
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
  if (constants.all()[c].bytes == 0) return "((const unsigned char *)\"\")";  // no array has no elements
  return is_pointer() ? message("((const unsigned char *)weights + ", weights_begin() + constants.all()[c].at, ")")
                      : message("(const unsigned char *)", name, "_c", c);
}

std::uint64_t Model::weights_checksum() const {
  const std::vector<std::byte> all = weights();
  const auto begin = static_cast<std::size_t>(weights_begin());
  return checksum(all.data() + begin, all.size() - begin);
}

std::vector<std::byte> Model::weights() const {
  const Constants& all = constants;
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

namespace {

/// Whether the kernels write the new value over the old one.
bool is_in_place(const Captured& captured, const CapturedState& s) {
  const auto& updates = captured.program.updates;
  return std::any_of(updates.begin(), updates.end(),
                     [&](const RecordedUpdate& u) { return u.after == s.after && s.before == u.before; });
}

}  // namespace

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
      if (is_in_place(captured, s)) {
        put(s.after, {ModelAddress::Kind::tensor, tensors.size()}, t.name);
        continue;
      }
      const std::string bytes = message("(size_t)", size(product(x.shape)), " * sizeof(*", t.name, ")");
      last_.push_back({{ModelAddress::Kind::tensor, tensors.size()},
                       s.after,
                       0,
                       product(x.shape) * static_cast<std::int64_t>(x.dtype.itemsize()),
                       copy(t.name, place_mark(s.after), bytes)});
    }
    if (x.place) put(*x.place, {ModelAddress::Kind::tensor, tensors.size()}, t.name);
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
    state.initial = constants.add(state.dtype, std::vector<std::byte>(from, from + state.bytes));
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
      put(*s.before, {ModelAddress::Kind::state, k}, state_address(k));
    }
    if (is_in_place(captured, s) || (!s.before && !address_.contains(s.after)))
      put(s.after, {ModelAddress::Kind::state, k}, state_address(k));
    else
      last_.push_back({{ModelAddress::Kind::state, k},
                       s.after,
                       0,
                       bytes,
                       copy(state_address(k), place_mark(s.after), message(bytes))});
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
  STRATA_CHECK(!is_table(), domain, "[export] ", function,
               " draws random numbers: a table of launches has no counter that grows with each run");
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
  put(f.place, {ModelAddress::Kind::state, k}, state_address(k));
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
    const std::size_t c = constants.add(dtypes::float32, std::vector<std::byte>(from, from + bytes));
    put(f.place, {ModelAddress::Kind::constant, c}, constant(c));
    return;
  }
  STRATA_CHECK(!is_table(), domain, "[export] ", function,
               " is fed other values in its next call, which a table of launches cannot say");
  STRATA_CHECK(!options.selftest, domain, "[export] ", function,
               " is fed other values in its next call: its self test would not be fed those of the captured call");
  const std::size_t k = states.size();
  const std::vector<std::byte> zeros(static_cast<std::size_t>(bytes) + 8);
  add_state({taken(message("runs", k)), dtypes::uint8, {bytes + 8}, bytes + 8}, zeros.data());
  const std::string runs = message("*(uint64_t *)(void *)", state_address(k));
  for (std::size_t e = 0; e < tables.size(); ++e) {
    const auto* const from = reinterpret_cast<const std::byte*>(tables[e].data());
    const std::size_t c =
        constants.add(dtypes::float32, std::vector<std::byte>(from, from + tables[e].size() * sizeof(float)));
    const std::string end = message(tables[e].size() - 1, "u");
    const std::string at = tables[e].size() == 1 ? "0" : message(runs, " < ", end, " ? ", runs, " : ", end);
    prelude_ += message("  ((float *)(void *)(", state_address(k), " + 8))[", e, "] = ((const float *)(const void *)",
                        constant(c), ")[", at, "];\n");
  }
  advance_ += message("  ++", runs, ";\n");
  put(f.place, {ModelAddress::Kind::state, k}, message("(", state_address(k), " + 8)"));
}

void Model::place_outputs(const Captured& captured) {
  for (std::size_t k = 0; k < captured.outputs.size(); ++k) {
    const CapturedTensor& y = captured.outputs[k];
    const std::size_t number = tensors.size() - captured.outputs.size() + k;
    const ModelAddress where{ModelAddress::Kind::tensor, number};
    const std::string& to = tensors[number].name;
    const Int size_in_bytes = product(y.shape) * static_cast<std::int64_t>(y.dtype.itemsize());
    const std::string bytes = message("(size_t)", size(product(y.shape)), " * sizeof(*", to, ")");
    if (y.place && captured.program.places[*y.place].is_written && !address_.contains(*y.place)) {
      put(*y.place, where, to);
      continue;
    }
    // In front of the copies to the state: an output may be what the state was.
    if (y.place) {
      last_.insert(last_.begin(), {where, y.place, 0, size_in_bytes, copy(to, place_mark(*y.place), bytes)});
      continue;
    }
    const std::size_t c = constants.add(y.dtype, y.value->data(), static_cast<std::int64_t>(y.value->nbytes()));
    last_.push_back({where, std::nullopt, c, size_in_bytes, {}});
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

/// Finds the constants that are stored as weight_dtype: those that kernels alone read, neither loops nor functions that
/// sort rows, all as f32, and that it can hold.
void Model::narrow_constants(const Captured& captured) {
  std::set<std::size_t> others;
  for (const RecordedProgram::Launch& l : captured.program.launches)
    for (std::size_t slot = 0; slot < l.places.size(); ++slot)
      if (const DType dtype = l.kernel->kernel().buffers[slot].dtype;
          !dtype.is_none() && (RoutineWriter::is_loop(*l.kernel) || ordered_by(l.kernel->kernel().ast) != nullptr ||
                               dtype != dtypes::float32))
        others.insert(l.places[slot]);
  for (const auto& [place, c] : constant_) {
    if (others.contains(place)) continue;
    const RecordedProgram::Place& from = captured.program.places[place];
    const auto count = static_cast<std::size_t>(from.bytes) / sizeof(float);
    const std::span<const float> elements(static_cast<const float*>(from.memory), count);
    std::optional<NarrowWeight> stored =
        narrowed(elements, options.weight_dtype == "f16" ? dtypes::float16 : dtypes::int8);
    if (!stored) continue;
    for (std::size_t k = 0; options.selftest && k < count; ++k)
      STRATA_CHECK(stored->element(k) == static_cast<double>(elements[k]), domain, "[export] ", function,
                   " has the weight ", elements[k], ", which ", options.weight_dtype,
                   " rounds: its self test would compare with results of other weights. Round them before");
    narrow_.emplace(place, std::move(*stored));
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

std::string line_of(const Origin& origin) {
  if (!origin.is_known()) return {};
  std::string_view file = origin.file;
  file = file.substr(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
  return message(origin.operation, ", written at ", file, ":", origin.line);
}

}  // namespace strata::exporting
