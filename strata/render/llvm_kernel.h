// LlvmKernel: the writer of a kernel in LLVM IR, for llvm.cpp. Internal to render/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "strata/render/llvm.h"
#include "strata/render/llvm_names.h"
#include "strata/render/llvm_ops.h"
#include "strata/render/usage.h"

namespace strata::rendering {

/// An open LOOP, SPECIAL or IF.
struct Block {
  UOp begin{};
  std::string name{};     // the first part of its labels
  std::string counter{};  // of a loop: "%ridx0"
  std::string first{}, end{};
  std::string before{};              // the label of the LLVM block that branches into it
  bool may_skip = true;              // false: a loop that has at least one iteration
  std::size_t position = 0;          // of a loop: the reserved place of its phi nodes
  std::vector<UOp> accs{};           // accumulators defined outside and assigned inside
  std::vector<std::string> outer{};  // their values before
  std::vector<std::string> inner{};  // of a loop: their values at the begin of an iteration
};

class LlvmKernel : private LlvmTypes {
 public:
  LlvmKernel(std::string_view name, const UOpGraph& list, const LlvmOptions& options)
      : LlvmTypes(options.lacks.halves),
        name_(name),
        list_(list),
        polls_(options.polls.any() ? options.polls : options.looks),
        lines_(options.lines),
        usage_(list),
        text_(lines_ != nullptr),
        ops_(text_, options),
        values_(list.size()) {}
  std::string render();
  LlvmParts parts();

 private:
  void find_arguments();
  void find_assignments();
  void add_assignment(UOp phi, const std::vector<UOp>& open);
  std::string function();
  void note_lines(const std::string& text) const;
  std::string parameters() const;

  void visit(UOp u);
  std::string alu(UOp u);
  void begin_special(UOp u);
  void begin_loop(UOp u, Block block, DType dtype);
  void poll(UOp loop, const Block& block);
  void end_loop(Block block);
  void begin_if(UOp u);
  void end_if(const Block& block);
  void open(UOp u, Block block);
  Block close();

  void define_local(UOp u);
  void load(UOp u);
  void store(UOp u);
  void vectorize(UOp u);
  bool shuffle(UOp u);
  bool mask(UOp u);
  std::string address(UOp u, const std::string& name, bool inbounds);
  std::string read(const std::string& name, DType dtype, const std::string& at);
  std::string masked_read(UOp u, const std::string& name);
  void write(const std::string& name, UOp value, const std::string& at);
  void stream(const std::string& name, UOp value, const std::string& at, UOp pointer, std::int64_t bytes);
  const std::string& is_aligned(UOp pointer, std::int64_t bytes);
  std::string memory_value(const std::string& name, UOp value);

  const std::string& value(UOp u) const { return values_[u.num()]; }
  std::string typed(UOp u) const { return detail::message(llvm_type(u.dtype()), " ", value(u)); }
  static std::string name_of(UOp u) { return detail::message(stem(u.op()), u.num()); }

  std::string name_;
  const UOpGraph& list_;
  const Polls& polls_;
  SourceLines* lines_;
  Usage usage_;
  LlvmText text_;
  LlvmOps ops_;
  std::vector<std::string> values_;  // by UOp; of an accumulator its current value
  std::vector<Block> blocks_;
  std::vector<LlvmArgument> buffers_, variables_;
  std::unordered_map<std::size_t, std::vector<UOp>> assigned_;  // by the UOp that begins a block
  std::unordered_set<std::uint64_t> known_assigned_;
  std::size_t locals_ = 0;  // the reserved place of allocas, at the beginning
  std::int64_t local_bytes_ = 0;
  bool is_part_ = false;                                  // of a module for a file that others link
  std::unordered_map<std::string, std::string> aligned_;  // the values of is_aligned() that exist
  std::size_t loops_ = 0;
};

}  // namespace strata::rendering
