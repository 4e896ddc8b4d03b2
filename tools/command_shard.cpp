// `strata shard`: who owns which element of the tensors of a program, and the messages between the ranks of a mesh.
#include <algorithm>
#include <ostream>

#include "strata/base/json.h"
#include "strata/base/quotes.h"
#include "strata/expr/parse.h"
#include "strata/shard/carry.h"
#include "tools/ask_kernel.h"
#include "tools/command_parts.h"
#include "tools/commands.h"
#include "tools/number_lists.h"
#include "tools/shard_program.h"
#include "tools/units.h"

namespace strata::tools {
namespace {

/// The most ranks whose messages are all listed.
constexpr std::int64_t kMostListedRanks = 1024;
constexpr std::int64_t kMostListedMessages = std::int64_t{1} << 16;  // as JSON
constexpr std::int64_t kMostLines = 32;                              // of one kind, as text

/// A tensor of the program with its sharding.
struct ShardedTensor {
  ProgramTensor tensor;
  Sharding sharding;
  std::string reason;
};

struct TensorExchange {
  std::size_t tensor, result;  ///< of ShardedProgram::tensors
  Exchange exchange;
  std::int64_t itemsize;
};

struct ShardedProgram {
  MeshShape mesh;
  std::vector<ShardedTensor> tensors;
  std::vector<TensorExchange> exchanges;
};

// --- reading ---

template <class F>
auto in_text(const std::string& text, const std::string& where, const F& read) {
  try {
    return read();
  } catch (const Error& e) {
    throw TextError(e, text, where);
  }
}

using StatedShardings = std::vector<std::pair<std::string, std::string>>;

StatedShardings read_stated(const Invocation& invocation) {
  StatedShardings out;
  for (const std::string& item : invocation.values("--shard")) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos)
      throw UsageError("--shard " + item + ": expected NAME=SHARDING, as a=data:0", &invocation.command());
    std::string name = item.substr(0, equals);
    for (const auto& [other, sharding] : out)
      if (other == name) throw UsageError("--shard " + name + " is given twice", &invocation.command());
    out.emplace_back(std::move(name), item.substr(equals + 1));
  }
  return out;
}

/// Gives each tensor its sharding, inputs before the outputs that read them.
class ProgramReader {
 public:
  ProgramReader(MeshShape mesh, StatedShardings stated) : out_{std::move(mesh), {}, {}}, stated_(std::move(stated)) {}

  ShardedProgram run(const std::vector<ProgramOutput>& outputs) {
    for (const ProgramOutput& output : outputs)
      for (const ProgramRead& read : output.reads)
        if (!find(read.tensor.name)) add(read.tensor, {}, "no --shard");
    for (const ProgramOutput& output : outputs) add_output(output);
    for (const auto& [name, text] : stated_)
      STRATA_CHECK(find(name), domain, "[shard] --shard ", in_quotes(name), ": there are ", names());
    return std::move(out_);
  }

 private:
  std::optional<std::size_t> find(std::string_view name) const {
    for (std::size_t k = 0; k < out_.tensors.size(); ++k)
      if (out_.tensors[k].tensor.name == name) return k;
    return std::nullopt;
  }

  std::string names() const {
    std::string out;
    for (const ShardedTensor& t : out_.tensors) out += (out.empty() ? "" : ", ") + t.tensor.name;
    return out;
  }

  void add(const ProgramTensor& tensor, const std::vector<Split>& splits, const std::string& reason) {
    for (const auto& [name, text] : stated_)
      if (name == tensor.name) {
        const auto read = [&, &from = text] { return parse_sharding(out_.mesh, tensor.shape, from); };
        out_.tensors.push_back({tensor, in_text(text, "--shard " + name, read), "--shard"});
        return;
      }
    out_.tensors.push_back({tensor, Sharding::create(out_.mesh, tensor.shape, splits), reason});
  }

  void add_output(const ProgramOutput& output) {
    std::vector<ShardedOperand> operands;
    for (const ProgramRead& read : output.reads)
      operands.push_back({out_.tensors[*find(read.tensor.name)].sharding, read.maps, itemsize_of(read.tensor)});
    const auto is_it = [&](const auto& stated) { return stated.first == output.tensor.name; };
    const bool is_stated = std::any_of(stated_.begin(), stated_.end(), is_it);
    const std::vector<Split> splits =
        is_stated ? std::vector<Split>() : chosen_splits(out_.mesh, output.tensor.shape, operands);
    add(output.tensor, splits, splits.empty() ? "no operand's axis is split" : "as its operands");
    const std::size_t result = out_.tensors.size() - 1;
    for (const ShardedOperand& operand : operands) {
      const std::size_t k = static_cast<std::size_t>(&operand - operands.data());
      out_.exchanges.push_back({*find(output.reads[k].tensor.name),
                                result,
                                {operand.sharding, out_.tensors[result].sharding, operand.reads},
                                operand.itemsize});
    }
  }

  static std::int64_t itemsize_of(const ProgramTensor& t) { return static_cast<std::int64_t>(t.dtype.itemsize()); }

  ShardedProgram out_;
  StatedShardings stated_;
};

// --- messages ---

std::int64_t bytes_of(const Message& m, std::int64_t itemsize) {
  std::int64_t out = 0;
  STRATA_CHECK(try_mul(m.elements, itemsize, out), overflow, "[shard] the bytes of a message leave 64 bits");
  return out;
}

/// Bytes by rank, and in all.
class Traffic {
 public:
  explicit Traffic(const MeshShape& mesh) : received(static_cast<std::size_t>(mesh.size()), 0), sent(received) {}
  void add(const Message& m, std::int64_t itemsize) {
    const std::int64_t bytes = bytes_of(m, itemsize);
    for (std::int64_t* sum : {&received[static_cast<std::size_t>(m.to)], &sent[static_cast<std::size_t>(m.from)], &all})
      STRATA_CHECK(try_add(*sum, bytes, *sum), overflow, "[shard] the bytes of all messages leave 64 bits");
    ++messages;
  }
  std::vector<std::int64_t> received, sent;
  std::int64_t all = 0, messages = 0;
};

/// Calls `visit` with the messages of an exchange: of all ranks by receiver, or those to and from one rank.
template <class Visit>
void for_each_message(const Exchange& exchange, std::optional<std::int64_t> rank, const Visit& visit) {
  const std::int64_t ranks = exchange.tensor().mesh().size();
  for (std::int64_t to = rank.value_or(0); to < (rank ? *rank + 1 : ranks); ++to)
    for (const Message& m : exchange.received(to)) visit(m);
  if (!rank) return;
  for (const Message& m : exchange.sent(*rank)) visit(m);
}

/// The first owners of the parts of a tensor: of all, or that of one rank.
std::vector<std::int64_t> first_owners(const Sharding& sharding, std::optional<std::int64_t> rank) {
  if (rank) return {sharding.first_owner(*rank)};
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < sharding.mesh().size(); ++r)
    if (sharding.first_owner(r) == r) out.push_back(r);
  return out;
}

// --- text ---

std::string type_text(const ProgramTensor& tensor) {
  std::string out(tensor.dtype.name());
  for (std::size_t j = 0; j < tensor.shape.size(); ++j) out += detail::message(j == 0 ? "[" : ",", tensor.shape[j]);
  return tensor.shape.empty() ? out : out + "]";
}

std::string splits_text(const Sharding& sharding) { return sharding.splits() ? render(*sharding.splits()) : "by hand"; }

std::string boxes_text(const std::vector<StridedBox>& boxes) {
  std::string out;
  for (std::size_t k = 0; k < boxes.size() && k < 4; ++k) out += (k == 0 ? "" : " ") + render(boxes[k]);
  if (boxes.size() > 4) out += detail::message(" and ", boxes.size() - 4, " more");
  return boxes.empty() ? "nothing" : out;
}

/// `0`, `0 1 2`, `0 1 2 .. 7`
std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank" : "ranks";
  const bool is_long = ranks.size() > 8;
  for (std::size_t k = 0; k < (is_long ? 3 : ranks.size()); ++k) out += detail::message(" ", ranks[k]);
  return is_long ? detail::message(out, " .. ", ranks.back(), ", ", ranks.size(), " ranks") : out;
}

/// Lines of one kind: the first ones, and how many there are beyond them.
class FewLines {
 public:
  explicit FewLines(Lines& lines) : lines_(lines) {}
  void print(std::string_view label, const std::string& text, const std::string& note = "") {
    if (++count_ <= kMostLines) lines_.print(count_ == 1 ? label : "", text, note);
  }
  void end() {
    if (count_ > kMostLines)
      lines_.print("", detail::message("and ", count_ - kMostLines, " more"), "--rank N shows one rank");
  }

 private:
  Lines& lines_;
  std::int64_t count_ = 0;
};

class ShardPrinter {
 public:
  ShardPrinter(Console& console, bool colour, std::optional<std::int64_t> rank)
      : console_(console), lines_(console, colour), rank_(rank) {}

  void print(const ShardedProgram& program) {
    lines_.print("mesh", render(program.mesh),
                 detail::message(program.mesh.size(), program.mesh.size() == 1 ? " rank" : " ranks"));
    for (const ShardedTensor& t : program.tensors) print_tensor(t);
    Traffic traffic(program.mesh);
    for (const TensorExchange& e : program.exchanges) print_exchange(program, e, traffic);
    console_.out << '\n';
    print_bytes(program, traffic);
  }

 private:
  void print_tensor(const ShardedTensor& t) {
    console_.out << '\n';
    lines_.print(t.tensor.name, detail::message(type_text(t.tensor), "  ", splits_text(t.sharding)), t.reason);
    const bool is_padded = t.sharding.padded_shape() != t.sharding.shape();
    lines_.print("layout", render(t.sharding.layout()),
                 is_padded ? "of the padded shape " + render(t.sharding.padded_shape()) : "");
    FewLines owners(lines_);
    for (const std::int64_t first : first_owners(t.sharding, rank_))
      owners.print("owners",
                   detail::message(ranks_text(t.sharding.replicas(first)), ": ", boxes_text(t.sharding.pieces(first))));
    owners.end();
  }

  void print_exchange(const ShardedProgram& program, const TensorExchange& e, Traffic& traffic) {
    console_.out << '\n';
    const std::string label = program.tensors[e.tensor].tensor.name + " for " + program.tensors[e.result].tensor.name;
    FewLines lines(lines_);
    bool is_empty = true;
    for_each_message(e.exchange, rank_, [&](const Message& m) {
      is_empty = false;
      traffic.add(m, e.itemsize);
      lines.print(label, detail::message(m.from, " -> ", m.to, ": ", boxes_text(m.boxes)),
                  bytes_text(static_cast<std::uint64_t>(bytes_of(m, e.itemsize))) +
                      (m.is_larger ? ", larger than needed" : ""));
    });
    if (is_empty) lines_.print(label, "no messages");
    lines.end();
  }

  void print_bytes(const ShardedProgram& program, const Traffic& traffic) {
    const auto text = [](std::int64_t bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); };
    FewLines ranks(lines_);
    for (std::int64_t r = rank_.value_or(0); r < (rank_ ? *rank_ + 1 : program.mesh.size()) && traffic.messages > 0;
         ++r)
      ranks.print("bytes",
                  detail::message("rank ", r, " receives ", text(traffic.received[static_cast<std::size_t>(r)]),
                                  ", sends ", text(traffic.sent[static_cast<std::size_t>(r)])));
    ranks.end();
    lines_.print("total", text(traffic.all),
                 detail::message(traffic.messages, traffic.messages == 1 ? " message" : " messages",
                                 rank_ ? detail::message(" of rank ", *rank_) : ""));
  }

  Console& console_;
  Lines lines_;
  std::optional<std::int64_t> rank_;
};

// --- JSON ---

/// A list of boxes; a box has [begin, length, stride, count] for each axis.
void write_boxes(JsonWriter& json, const std::vector<StridedBox>& boxes) {
  json.key("boxes").begin_array();
  for (const StridedBox& box : boxes) {
    json.begin_array();
    for (const Stripes& s : box) write_numbers(json, std::vector<std::int64_t>{s.begin, s.length, s.stride, s.count});
    json.end_array();
  }
  json.end_array();
}

void write_index(JsonWriter& json, std::string_view name, const Index& index) {
  json.key(name);
  write_numbers(json, std::span<const std::int64_t>(index.data(), index.size()));
}

void write_tensor(JsonWriter& json, const ShardedTensor& t, std::optional<std::int64_t> rank) {
  const Sharding& s = t.sharding;
  json.begin_object().member("name", t.tensor.name).member("dtype", t.tensor.dtype.name());
  write_index(json, "shape", t.tensor.shape);
  json.key("splits");
  if (s.splits())
    json.value(render(*s.splits()));
  else
    json.null();
  json.member("reason", t.reason).member("layout", render(s.layout()));
  write_index(json, "padded_shape", s.padded_shape());
  json.key("owners").begin_array();
  for (const std::int64_t first : first_owners(s, rank)) {
    json.begin_object().key("ranks");
    write_numbers(json, s.replicas(first));
    write_index(json, "local_shape", s.local_shape(first));
    write_boxes(json, s.pieces(first));
    json.end_object();
  }
  json.end_array().end_object();
}

void write_exchange(JsonWriter& json, const ShardedProgram& program, const TensorExchange& e,
                    std::optional<std::int64_t> rank, Traffic& traffic) {
  json.begin_object().member("tensor", program.tensors[e.tensor].tensor.name);
  json.member("result", program.tensors[e.result].tensor.name).key("messages").begin_array();
  for_each_message(e.exchange, rank, [&](const Message& m) {
    traffic.add(m, e.itemsize);
    STRATA_CHECK(traffic.messages <= kMostListedMessages, budget, "[shard] more than ", kMostListedMessages,
                 " messages: --rank N lists those of one rank");
    json.begin_object().member("from", m.from).member("to", m.to).member("elements", m.elements);
    json.member("bytes", bytes_of(m, e.itemsize)).member("larger", m.is_larger);
    write_boxes(json, m.boxes);
    json.end_object();
  });
  json.end_array().end_object();
}

std::string to_json(const ShardedProgram& program, std::optional<std::int64_t> rank) {
  JsonWriter json;
  json.begin_object().key("mesh").begin_object().key("names").begin_array();
  for (const std::string& name : program.mesh.names()) json.value(name);
  json.end_array();
  write_index(json, "sizes", program.mesh.sizes());
  json.member("ranks", program.mesh.size()).end_object().key("tensors").begin_array();
  for (const ShardedTensor& t : program.tensors) write_tensor(json, t, rank);
  json.end_array().key("exchanges").begin_array();
  Traffic traffic(program.mesh);
  for (const TensorExchange& e : program.exchanges) write_exchange(json, program, e, rank, traffic);
  json.end_array().key("ranks").begin_array();
  for (std::int64_t r = rank.value_or(0); r < (rank ? *rank + 1 : program.mesh.size()); ++r) {
    json.begin_object().member("rank", r).member("received", traffic.received[static_cast<std::size_t>(r)]);
    json.member("sent", traffic.sent[static_cast<std::size_t>(r)]).end_object();
  }
  return json.end_array().member("messages", traffic.messages).member("bytes", traffic.all).end_object().take();
}

}  // namespace

int command_shard(const Invocation& invocation, Console& console) {
  const auto mesh_text = invocation.value("--mesh");
  if (!mesh_text) throw UsageError("--mesh is missing: the axes of ranks, as data=2,model=4", &invocation.command());
  StatedShardings stated = read_stated(invocation);
  std::optional<std::int64_t> rank;
  if (const auto text = invocation.value("--rank")) rank = parse_integer(*text, "--rank", invocation.command());
  try {
    MeshShape mesh = in_text(*mesh_text, "--mesh", [&] { return parse_mesh(*mesh_text); });
    if (rank) mesh.check(*rank);
    STRATA_CHECK(rank || mesh.size() <= kMostListedRanks, budget, "[shard] the messages of ", mesh.size(),
                 " ranks are too many to list: --rank N shows those of one");
    const std::vector<ProgramOutput> outputs = outputs_of(read_kernel(invocation.arguments().front()));
    const ShardedProgram program = ProgramReader(std::move(mesh), std::move(stated)).run(outputs);
    if (invocation.has("--json"))
      console.out << to_json(program, rank) << '\n';
    else
      ShardPrinter(console, wants_colour(invocation, console), rank).print(program);
    return 0;
  } catch (const TextError& e) {
    console.err << paint(console.colour_err, Style::red, "strata:") << ' ' << e.what() << '\n';
    if (e.column() != 0) console.err << show_caret(e.text(), e.column()) << '\n';
    return 1;
  }
}

}  // namespace strata::tools
