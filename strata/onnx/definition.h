// Definition: the contents of an ONNX file as plain data. The reader (reader.h) makes a Definition of bytes, link()
// (link.h) checks it and gives every name a slot, and a Model (model.h) runs it.
//
// Graphs lie in one list, so that nothing recurses: an attribute refers to the graph of a branch or of a loop's body by
// its number. Graph 0 is the main graph.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strata/onnx/datum.h"

namespace strata::onnx {

struct Operator;

/// The types of attributes, by their numbers in the format.
enum class AttributeType : std::uint8_t {
  undefined = 0,
  number = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  numbers = 6,
  integers = 7,
  texts = 8,
};

/// A named constant of a node. The member that `type` names has the value.
struct Attribute {
  std::string name;
  AttributeType type = AttributeType::undefined;
  double number = 0;
  std::int64_t integer = 0;
  std::string text;
  Datum tensor;
  int graph = -1;  ///< number of the graph in Definition::graphs
  std::vector<double> numbers;
  std::vector<std::int64_t> integers;
  std::vector<std::string> texts;
  std::string reference;  ///< of a function's body: the attribute of the call that has the value
};

/// A node of a graph. An empty name of an input or output means that it is left out.
struct Node {
  std::string name, op, domain;
  std::vector<std::string> inputs, outputs;
  std::vector<Attribute> attributes;
  std::vector<int> input_slots, output_slots;  ///< by link(); -1 for what is left out
  const Operator* row = nullptr;               ///< by link(); null for a call of a function
  std::int64_t opset = 0;                      ///< by link()
  int function = -1;                           ///< by link(): number of the graph that is the function's body

  const Attribute* find(std::string_view attribute) const;
  /// `node "name" (Op)` for messages; a node without a name is called by its first output.
  std::string text() const;
};

/// The type of an input or output as the file states it.
struct Port {
  enum class Kind : std::uint8_t { unknown, tensor, texts, sequence, optional };
  std::string name;
  Kind kind = Kind::unknown;
  DType dtype;                       ///< of a tensor
  bool has_shape = false;            ///< false: any shape
  std::vector<std::int64_t> sizes;   ///< -1 for a size that is not a number
  std::vector<std::string> symbols;  ///< the name of each symbolic size; empty for numbers and unknown sizes
  /// "f32[batch, 3, ?]", "texts", "sequence".
  std::string type_text() const;
};

/// Nodes in an order in which each reads what earlier ones make.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Port> inputs, outputs;
  std::vector<std::pair<std::string, Datum>> initializers;
  int parent = -1;                             ///< the graph around this one; -1 for the main graph
  std::vector<int> input_slots, output_slots;  ///< by link()
  std::vector<int> initializer_slots;          ///< by link()
};

/// An operator that the file itself defines, by a graph.
struct Function {
  std::string name, domain;
  std::vector<std::string> attributes;
  std::map<std::string, std::int64_t> opsets;
  int graph = -1;
};

/// The contents of a file.
struct Definition {
  std::int64_t ir_version = 0;
  std::string producer;
  std::map<std::string, std::int64_t> opsets;  ///< version by domain; "" is the standard domain
  std::vector<Graph> graphs;
  std::vector<Function> functions;
  int slots = 0;  ///< by link(): the number of values
};

}  // namespace strata::onnx
