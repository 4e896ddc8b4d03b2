// Model: a captured function as a C file is about to say it: parameters, state, constants, memory, and the calls of
// routines in order. Internal to export/; model_text.cpp and others write it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/export/export_c.h"
#include "strata/export/routine.h"
#include "strata/schedule/memory_plan.h"
#include "strata/tensor/captured.h"

namespace strata::exporting {

/// A tensor that is a parameter of model_run().
struct ModelTensor {
  std::string name;
  DType dtype;
  Ints shape;
  bool is_input = true, is_written = false;
  std::optional<Buffer> value = {};                            ///< of the captured call, for the self test
  std::int64_t most() const { return product(shape).vmax(); }  ///< elements
};
/// A part of the state.
struct ModelState {
  std::string name;
  DType dtype;
  Ints shape;
  std::int64_t bytes = 0, at = 0;
  std::optional<std::size_t> initial = {};  ///< a constant; none: zeros
};
/// A size that is a parameter.
struct ModelSize {
  std::string name;
  Variable variable;
  std::int64_t value;  ///< in the captured call
};

/// A memory that outlives a step: a tensor, a part of the state or a constant, by its number.
struct ModelAddress {
  enum class Kind { tensor, state, constant } kind;
  std::size_t index;
};
/// A copy behind all kernels.
struct ModelCopy {
  ModelAddress to;
  std::optional<std::size_t> place;  ///< from which
  std::size_t constant = 0;          ///< from which, where there is no place
  Int bytes;
  std::string statement;
};

/// Kernels for devices, and the table of their launches (kernel_table.cpp).
struct ModelTable {
  std::string text;                                        ///< in JSON
  std::vector<std::pair<std::string, std::string>> files;  ///< sources, with their names
  std::size_t functions = 0;
  std::int64_t temporary_bytes = 0;  ///< for the largest sizes
  std::vector<std::string> steps;
  std::vector<ExportedPart> temporaries;
};

/// What the file has for one target: kernels, the statements that call them, and the plan of the arena.
struct ModelCode {
  ModelCode(const TargetRow& of_target, std::string of_prefix, bool deterministic, Constants& constants,
            ObjectCode* object)
      : target(of_target), prefix(std::move(of_prefix)), writer(prefix, target, deterministic, constants, object) {}

  const TargetRow& target;
  std::string prefix;  ///< of all names; the model's own name where there is one target
  RoutineWriter writer;
  std::int64_t arena_bytes = 0, stack_bytes = 0;
  std::vector<std::string> blocks;  ///< the bytes of the arena's blocks, where they depend on sizes
  std::string body;                 ///< the statements
  bool has_threads = false;
  std::vector<std::string> steps;   ///< titles, by call
  std::vector<ExportedPart> arena;  ///< what lies in it
  std::vector<std::int64_t> work;   ///< bytes, by call
};

constexpr std::int64_t kWeightsHead = 64;
constexpr std::uint64_t kWeightsMark = 0x5746617461727453;  ///< "StrataFW"

class Model {
 public:
  /// @throws Error as exported_c()
  Model(Captured captured, std::string name, const ExportOptions& options);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  std::string name, upper_name;
  ExportOptions options;
  std::string function;              ///< the name of the captured function
  std::vector<ModelTensor> tensors;  ///< inputs, then outputs
  std::vector<ModelState> states;
  std::vector<ModelSize> sizes;
  std::int64_t state_bytes = 0;
  KernelCost cost;
  Constants constants;
  ModelTable table;                    ///< with `kernels` in the options
  std::unique_ptr<ObjectCode> object;  ///< with `object` in the options
  std::vector<std::unique_ptr<ModelCode>>
      codes;  ///< else: by target, the first of which that a processor has is to run

  /// Whether the file chooses among targets when it runs.
  bool chooses() const { return codes.size() > 1; }
  bool has_threads() const;
  std::int64_t arena_bytes() const;  ///< for the largest sizes, whatever the target
  std::int64_t stack_bytes() const;
  /// The code that needs the largest arena.
  const ModelCode& largest() const;
  /// Whether the model is kernels for devices, and no C file.
  bool is_table() const { return !options.kernels.empty(); }
  bool is_file() const { return options.weights == "file"; }
  /// Whether the weights are a blob.
  bool is_pointer() const { return options.weights == "pointer" || is_file(); }
  /// The blob: of a file with a head of kWeightsHead bytes, which are a mark, the bytes that follow and their checksum.
  std::vector<std::byte> weights() const;
  std::int64_t weights_begin() const { return is_file() ? kWeightsHead : 0; }
  std::uint64_t weights_checksum() const;
  /// Whether model_run(), and model_reset(), read the blob of weights.
  bool reads_weights() const { return (is_pointer() || is_table()) && !constants.all().empty(); }
  /// The text of a size.
  std::string size(const Int& n) const;
  std::string constant(std::size_t c) const;

 private:
  static void drop_unused(Captured& captured);
  std::string looks_text(const Captured& captured) const;
  void name_tensors(const Captured& captured);
  void place_states(Captured& captured);
  void place_fed(const Captured& captured);
  void place_counter(const RecordedProgram& program, const RecordedProgram::Fed& f);
  void place_coming(const RecordedProgram::Fed& f);
  void place_outputs(const Captured& captured);
  void place_constants(const Captured& captured);
  void narrow_constants(const Captured& captured);
  class Table;
  void check_table_options() const;
  void check_object_options() const;
  void plan_table(const Captured& captured);
  void plan_codes(const Captured& captured);
  void plan_calls(const Captured& captured, ModelCode& code);
  void plan_arena(const Captured& captured, ModelCode& code);
  std::map<std::string, std::string> plan_blocks(ModelCode& code, std::span<const MemoryLife> lives,
                                                 std::span<const std::string> keys,
                                                 std::span<const std::string> bytes) const;
  static std::string place_mark(std::size_t place);
  bool is_free(const std::string& wanted) const;
  std::string taken(const std::string& wanted);
  std::string given_name(const std::vector<std::string>& given, std::size_t k, std::size_t count, char letter);
  void add_state(ModelState state, const void* initial);
  std::string state_address(std::size_t k) const;
  std::string variable(const RecordedProgram::Launch& launch, const Variable& v) const;
  std::string copy(const std::string& to, const std::string& from, const std::string& bytes) const;
  std::string bytes_of(const RecordedProgram& program, std::size_t place) const;

  std::vector<const TargetRow*> targets_;
  std::vector<std::string> names_;
  void put(std::size_t place, ModelAddress to, std::string text);

  std::map<std::size_t, std::string> address_;   // by place; those of the arena are "@place@"
  std::map<std::size_t, ModelAddress> where_;    // the same places
  std::map<std::size_t, std::size_t> constant_;  // by place
  std::map<std::size_t, NarrowWeight> narrow_;   // by place: constants that are stored in fewer bits
  std::vector<ModelCopy> last_;                  // the last statements
  std::string prelude_, advance_;                // the first and the last statements
};

/// @throws Error (budget) where the model needs more than the options allow
void check_limits(const ExportedModel& model, const ExportOptions& options);
std::string header_of(const Model& model);
/// The definition of the table of arguments.
std::string arguments_of(const Model& model);
std::string source_of(const Model& model);
// What a file with several targets has besides.
/// The function of the statements of a target.
std::string steps_of(const Model& model, const ModelCode& code);
/// The functions that choose a target and run its code. @param checks the statements that check the arguments
std::string choice_of(const Model& model, const std::string& checks);
/// The definition of NAME_chooses: whether the compiler compiles for several targets.
std::string choice_opening(const Model& model);
/// What stands around the code of a target.
std::string begin_of_target(const Model& model, const ModelCode& code);
std::string end_of_target(const ModelCode& code);
/// The enumeration of the targets, and the functions that choose, as declarations.
std::string choice_header(const Model& model);
std::string selftest_of(const Model& model);
/// The header for C++.
std::string wrapper_of(const Model& model);
/// The parameters of model_run(), one a line. @param with_names or types alone
std::string parameters_of(const Model& model);
/// The line of the user, without folders: "softmax, written at net.cpp:12"; empty where unknown.
std::string line_of(const Origin& origin);

}  // namespace strata::exporting
