// The code of a model for each target: the calls of its routines, and the plan of its arena.

#include <algorithm>
#include <set>

#include "strata/base/check.h"
#include "strata/export/c_text.h"
#include "strata/export/model.h"
#include "strata/export/stack.h"

namespace strata::exporting {

using detail::message;

namespace {

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

std::string Model::place_mark(std::size_t place) { return message("@", place, "@"); }

void Model::plan_codes(const Captured& captured) {
  if (!options.object.empty()) object = std::make_unique<ObjectCode>(options, *targets_.front());
  for (const TargetRow* const target : targets_) {
    const std::string prefix = targets_.size() == 1 ? name : message(name, "_", target->word);
    codes.push_back(std::make_unique<ModelCode>(*target, prefix, options.deterministic, constants, object.get()));
    codes.back()->body = prelude_;
    plan_calls(captured, *codes.back());
    plan_arena(captured, *codes.back());
  }
  if (object) object->compile();
}

bool Model::has_threads() const {
  return std::any_of(codes.begin(), codes.end(), [](const auto& code) { return code->has_threads; });
}
const ModelCode& Model::largest() const {
  return **std::max_element(codes.begin(), codes.end(),
                            [](const auto& a, const auto& b) { return a->arena_bytes < b->arena_bytes; });
}
std::int64_t Model::arena_bytes() const { return largest().arena_bytes; }
std::int64_t Model::stack_bytes() const {
  std::int64_t out = 0;
  for (const auto& code : codes) out = std::max(out, code->stack_bytes);
  if (object) out += object->stack_bytes();
  if (!chooses()) return out;
  // NAME_run() calls NAME_run_on(), which calls the code of the target: each keeps all parameters.
  const std::size_t given = tensors.size() + sizes.size() + 6;
  return out + 2 * frame_of_caller(given, given, 0);
}

/// The calls of the routines, for the code's target.
void Model::plan_calls(const Captured& captured, ModelCode& code) {
  const RecordedProgram& program = captured.program;
  std::size_t called = 0;  // the most parameters of a routine
  for (std::size_t k = 0; k < program.launches.size(); ++k) {
    const RecordedProgram::Launch& l = program.launches[k];
    std::vector<SlotFacts> facts(l.places.size());
    for (std::size_t slot = 0; slot < facts.size(); ++slot) {
      const RecordedProgram::Place& place = program.places[l.places[slot]];
      if (!constant_.contains(l.places[slot])) continue;
      const auto stored = narrow_.find(l.places[slot]);
      if (stored == narrow_.end()) {
        facts[slot] = {true, Known{static_cast<const std::byte*>(place.memory), place.bytes}};
        continue;
      }
      const std::vector<std::byte>& bytes = stored->second.bytes;
      facts[slot] = {true, Known{bytes.data(), std::ssize(bytes)}, stored->second.form};
    }
    const Routine& r = code.writer.of(*l.kernel, facts);
    std::map<std::size_t, std::size_t> packed;  // constants by slot
    std::vector<std::optional<Known>> known;
    for (const Packing& p : r.packings) {
      const auto made = code.writer.known(p, facts, known);
      STRATA_ASSERT(made, "a packing of weights that are not known");
      for (std::size_t n = 0; n < p.writes.size(); ++n) packed[p.writes[n]] = (*made)[n];
    }
    CallTexts texts;
    texts.pointer = [&](std::size_t slot) -> std::string {
      if (const auto p = packed.find(slot); p != packed.end()) return constant(p->second);
      const std::size_t place = l.places.at(slot);
      if (!constant_.contains(place)) return place_mark(place);
      const Known& all = *facts[slot].known;
      const DType dtype =
          facts[slot].narrow.is_narrow() ? facts[slot].narrow.dtype : l.kernel->kernel().buffers[slot].dtype;
      return constant(constants.add(dtype, all.data, all.bytes));
    };
    texts.variable = [&](const Variable& v) { return variable(l, v); };
    texts.constant = [&](std::size_t c) { return constant(c); };
    texts.work = message("@w", k, "@");
    texts.threads = "&threads";
    code.has_threads = code.has_threads || r.has_threads;
    code.steps.push_back(r.title);
    code.stack_bytes = std::max(code.stack_bytes, r.stack);
    called = std::max(called, r.parameters());
    const KernelCost work = RoutineWriter::cost(*l.kernel);
    if (&code == codes.front().get()) cost.operations += work.operations, cost.bytes += work.bytes;
    std::string line = r.title;
    if (const std::string origin = options.lines ? line_of(l.origin) : std::string(); !origin.empty())
      line += message(" (", origin, ")");
    code.body += message("  ", c_comment(line), "\n  ", call_of(r, texts));
    code.work.push_back(r.work);
  }
  for (const ModelCopy& c : last_)
    if (c.place) code.body += c.statement;
  code.body += advance_;
  const bool ends_in_call = code.work.size() == 1 && last_.empty() && advance_.empty();
  const std::int64_t arrays = (code.has_threads ? 16 : 0) + (sizes.empty() ? 0 : 8 * (std::ssize(code.blocks) + 2));
  code.stack_bytes += frame_of_caller(ends_in_call ? 0 : 8, called, arrays);
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
void Model::plan_arena(const Captured& captured, ModelCode& code) {
  const RecordedProgram& program = captured.program;
  std::map<std::size_t, MemoryLife> life;
  for (std::size_t k = 0; k < program.launches.size(); ++k)
    for (const std::size_t place : program.launches[k].places) {
      if (address_.contains(place) || constant_.contains(place)) continue;
      const auto [it, is_new] = life.emplace(place, MemoryLife{program.places[place].bytes, k, k});
      it->second.last = k;
    }
  for (const ModelCopy& c : last_)
    if (const auto it = c.place ? life.find(*c.place) : life.end(); it != life.end())
      it->second.last = program.launches.size();
  std::vector<MemoryLife> lives;
  std::vector<std::string> keys, bytes;
  const auto add_part = [&](const std::string& what, const MemoryLife& l) {
    const std::string step = l.first < code.steps.size() ? code.steps[l.first] : "";
    code.arena.push_back({message(what, step), l.bytes, 0, l.first, l.last});
  };
  for (const auto& [place, l] : life) {
    lives.push_back(l);
    add_part("", l);
    keys.push_back(message(place));
    if (!sizes.empty()) bytes.push_back(bytes_of(program, place));
  }
  for (std::size_t k = 0; k < code.work.size(); ++k) {
    if (code.work[k] == 0) continue;
    lives.push_back({code.work[k], k, k});
    add_part("memory to work in of ", lives.back());
    keys.push_back(message("w", k));
    if (!sizes.empty()) bytes.push_back(message("(size_t)", code.work[k]));
  }
  std::map<std::string, std::string> text;
  if (sizes.empty()) {
    const ArenaPlan plan = strata::plan_arena(lives);
    code.arena_bytes = plan.bytes;
    for (std::size_t k = 0; k < lives.size(); ++k) {
      text[keys[k]] = message("(base + ", plan.offsets[k], ")");
      code.arena[k].at = plan.offsets[k];
    }
  } else {
    text = plan_blocks(code, lives, keys, bytes);
  }
  code.body = with_marks(code.body, [&](const std::string& key) {
    if (const auto it = text.find(key); it != text.end()) return it->second;
    const auto place = static_cast<std::size_t>(std::stoull(key));
    if (const auto it = address_.find(place); it != address_.end()) return it->second;
    const auto& use = program.places[place];
    DType dtype = dtypes::uint8;
    return constant(constants.add(dtype, use.memory, use.bytes));
  });
}

/// Blocks that share bytes of the arena one after another, for sizes that are not known: the sizes of a block's members
/// decide its own when the model runs.
std::map<std::string, std::string> Model::plan_blocks(ModelCode& code, std::span<const MemoryLife> lives,
                                                      std::span<const std::string> keys,
                                                      std::span<const std::string> bytes) const {
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
      code.blocks.emplace_back();
      seen.emplace_back();
      begins.push_back(code.arena_bytes);
      code.arena_bytes += aligned(lives[k].bytes);
    }
    block->push_back(k);
    const auto b = static_cast<std::size_t>(block - members.begin());
    code.arena[k].at = begins[b];
    if (seen[b].insert(bytes[k]).second)
      code.blocks[b] = code.blocks[b].empty() ? bytes[k] : message(name, "_most(", code.blocks[b], ", ", bytes[k], ")");
    text[keys[k]] = message("(base + at[", b, "])");
  }
  return text;
}

}  // namespace strata::exporting
