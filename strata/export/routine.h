// Routines: the C functions of an exported file. A kernel, with those that run first, and a loop are one routine each,
// which takes the memory of its slots, its variables, memory to work in, and the callback for threads. Internal to
// export/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "strata/codegen/kernel.h"
#include "strata/export/constants.h"
#include "strata/export/narrow.h"
#include "strata/export/object.h"
#include "strata/export/targets.h"
#include "strata/runtime/device.h"

namespace strata::exporting {

/// Elements that are known when the file is written.
struct Known {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
};
/// What is known of a slot of a routine.
struct SlotFacts {
  bool is_fixed = false;  ///< the elements are the same at each call: of a loop, in all steps
  std::optional<Known> known = {};
  Narrowing narrow = {};  ///< how the elements are stored, which the kernel takes for f32
};

/// A kernel that runs first and whose results serve all calls.
struct Packing {
  std::shared_ptr<const Kernel> kernel;
  std::vector<std::size_t> writes;  ///< slots
  bool is_plain = false;            ///< written without vectors
};

struct Routine {
  struct Slot {
    std::size_t slot;
    DType dtype;
    bool is_written;
  };
  std::string name, text;
  std::string title;                   ///< the kernel for a comment, with its shapes
  std::vector<Slot> slots;             ///< parameters: the slots that are used, and those that `packings` write
  std::vector<Variable> variables;     ///< parameters
  std::vector<std::size_t> constants;  ///< parameters: addresses of constants
  std::vector<Packing> packings;       ///< to be run before the first call
  std::vector<BufferUse> buffers;      ///< by slot
  std::int64_t work = 0;               ///< bytes
  bool has_threads = false;
  std::int64_t stack = 0;  ///< bytes, with all that it calls
  std::size_t parameters() const {
    return slots.size() + variables.size() + constants.size() + (work > 0 ? 1 : 0) + (has_threads ? 1 : 0);
  }
};

/// The kernel, with the dtypes and shapes of what it stores: "E_n2: f32 [4, 3]".
std::string title_of(const Kernel& kernel);

/// The texts of a call.
struct CallTexts {
  std::function<std::string(std::size_t slot)> pointer;  ///< a `void *` or a pointer to bytes
  std::function<std::string(const Variable&)> variable;
  std::function<std::string(std::size_t constant)> constant;
  std::string work, threads;
};
/// The statement that calls the routine.
std::string call_of(const Routine& routine, const CallTexts& texts);

/// Compiles kernels for a target and writes them. All texts have the prefix "strata_" where the file's own belongs.
class RoutineWriter {
 public:
  /// @param constants where packed weights go @param object where kernels go; null: they are written in C @pre both
  /// outlive the writer
  RoutineWriter(std::string prefix, const TargetRow& target, bool deterministic, Constants& constants,
                ObjectCode* object);

  /// The routine of a kernel. @param facts by slot
  const Routine& kernel(const LazyOp& ast, const std::vector<SlotFacts>& facts);
  /// The routine of a kernel or a loop, on all levels. @param facts by slot @throws Error (domain) for a loop whose
  /// number of steps is an element of a tensor
  const Routine& of(const CompiledKernel& kernel, const std::vector<SlotFacts>& facts);
  /// The statements that run a packing. `texts.pointer` gives the slots. @param routine of which they become
  /// a part
  std::string packing(const Packing& packing, const CallTexts& texts, Routine& routine);
  /// The work of a run of a kernel or a loop, with each variable at its upper bound.
  static KernelCost cost(const CompiledKernel& kernel);
  /// Whether the kernel is a loop.
  static bool is_loop(const CompiledKernel& kernel);
  /// The elements that a packing writes, by its `writes`; nothing where they depend on what is not known.
  std::optional<std::vector<std::size_t>> known(const Packing& packing, const std::vector<SlotFacts>& facts,
                                                std::vector<std::optional<Known>>& packed);

  const std::vector<std::string>& helpers() const { return helpers_; }
  const std::set<std::string>& types() const { return types_; }
  const std::vector<std::string>& functions() const { return functions_; }
  std::size_t kernels() const { return units_.size(); }

 private:
  /// The functions of one list.
  struct Unit {
    std::string name;
    std::shared_ptr<const Kernel> kernel;
    std::vector<UOp> globals, variables;  ///< the parameters
    std::vector<bool> stored;             ///< by global
    bool is_shared = false;               ///< its loop is cut into parts
    std::int64_t stack = 0;               ///< bytes, with what runs a part
  };
  const Unit& unit(const std::shared_ptr<const Kernel>& kernel, bool is_plain);
  static std::string arguments(const Unit& unit, const CallTexts& texts, const std::string& begin,
                               const std::string& end);
  std::string run(const Unit& unit, const CallTexts& texts) const;
  void write_kernel(Unit& unit, bool is_plain);
  void declare_kernel(const Unit& unit);
  void write_part(const Unit& unit);
  std::shared_ptr<const Kernel> compiled(const LazyOp& ast, const std::vector<int>& kept, bool& is_plain) const;
  static void use(const Unit& unit, Routine& routine, std::set<std::size_t>& used);
  static std::vector<std::shared_ptr<const Kernel>> find_packings(const Kernel& kernel, std::vector<bool> fixed,
                                                                  bool is_plain, Routine& routine);
  static std::map<std::size_t, std::string> place_slots(const Kernel& kernel, const std::set<std::size_t>& used,
                                                        Routine& routine);
  const Routine& order(const LazyOp& ast);
  void finish(Routine& routine, const std::string& body);

  struct LoopTask;
  class LoopText;

  std::string prefix_;
  Target target_, plain_;
  bool is_plain_;
  Constants& constants_;
  ObjectCode* object_;
  std::vector<std::string> helpers_, functions_;
  std::set<std::string> seen_, types_;
  std::map<const Kernel*, std::unique_ptr<Unit>> units_;
  struct Made {
    LazyOp ast;
    std::vector<bool> fixed;
    std::vector<Narrowing> narrow;
    std::unique_ptr<Routine> routine;
  };
  std::vector<Made> made_;
  std::vector<std::unique_ptr<Routine>> loops_;
};

}  // namespace strata::exporting
