// The notation for parameters in the rows of operations.def, and macros that expand a list of parameters into
// declarations, types, argument names or texts. Files that read the table (value.h, tensor.h, table.cpp, the Python
// binding) use them.
//
//   STRATA_METHOD(one, renorm, (arg(double, p), axis..., opt(double, eps, 1e-7, "eps|epsilon")), ...)
//
// Kinds of parameters. An optional last string lists the names that Python accepts, if these are not the C++ name
// alone:
// - tensor(name)                one tensor
// - tensors(name)               several tensors
// - operand(name)               a tensor or a number
// - operand_or(name, default)   an operand with a default
// - maybe_tensor(name)          a tensor or none; default none
// - maybe_operand(name)         a tensor, a number or none; default none
// - arg(type, name)             a value of a C++ type
// - opt(type, name, default)    an arg with a default
//
// A reader of the table defines STRATA_ARRAY (Tensor, or the Value of formulas) and STRATA_OPERAND (the Operand beside
// it).
#pragma once

// STRATA_EACH(macro_, a(1), b(2)) expands to macro_a(1), macro_b(2); for up to twelve elements.
#define STRATA_EACH(macro, ...) STRATA_JOINED(STRATA_EACH_, STRATA_COUNT(__VA_ARGS__))(macro, __VA_ARGS__)
#define STRATA_JOINED(a, b) STRATA_JOINED_AS_THEY_ARE(a, b)
#define STRATA_JOINED_AS_THEY_ARE(a, b) a##b
#define STRATA_COUNT(...) STRATA_THIRTEENTH(__VA_ARGS__ __VA_OPT__(, ) 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define STRATA_THIRTEENTH(a, b, c, d, e, f, g, h, i, j, k, l, count, ...) count
#define STRATA_EACH_0(macro, ...)
#define STRATA_EACH_1(macro, first) macro##first
#define STRATA_EACH_2(macro, first, ...) macro##first, STRATA_EACH_1(macro, __VA_ARGS__)
#define STRATA_EACH_3(macro, first, ...) macro##first, STRATA_EACH_2(macro, __VA_ARGS__)
#define STRATA_EACH_4(macro, first, ...) macro##first, STRATA_EACH_3(macro, __VA_ARGS__)
#define STRATA_EACH_5(macro, first, ...) macro##first, STRATA_EACH_4(macro, __VA_ARGS__)
#define STRATA_EACH_6(macro, first, ...) macro##first, STRATA_EACH_5(macro, __VA_ARGS__)
#define STRATA_EACH_7(macro, first, ...) macro##first, STRATA_EACH_6(macro, __VA_ARGS__)
#define STRATA_EACH_8(macro, first, ...) macro##first, STRATA_EACH_7(macro, __VA_ARGS__)
#define STRATA_EACH_9(macro, first, ...) macro##first, STRATA_EACH_8(macro, __VA_ARGS__)
#define STRATA_EACH_10(macro, first, ...) macro##first, STRATA_EACH_9(macro, __VA_ARGS__)
#define STRATA_EACH_11(macro, first, ...) macro##first, STRATA_EACH_10(macro, __VA_ARGS__)
#define STRATA_EACH_12(macro, first, ...) macro##first, STRATA_EACH_11(macro, __VA_ARGS__)
#define STRATA_STRIP(...) __VA_ARGS__
// A comma where the list is not empty; nothing for an empty list.
#define STRATA_COMMA_AFTER(list) STRATA_COMMA_WHERE list
#define STRATA_COMMA_BEFORE(list) STRATA_COMMA_WHERE list
#define STRATA_COMMA_WHERE(...) __VA_OPT__(, )

/// The parameters as in a declaration: types, names and defaults.
#define STRATA_DECLARED(list) STRATA_EACH(STRATA_DECLARE_, STRATA_STRIP list)
#define STRATA_DECLARE_tensor(name, ...) const STRATA_ARRAY& name
#define STRATA_DECLARE_tensors(name, ...) std::span<const STRATA_ARRAY> name
#define STRATA_DECLARE_operand(name, ...) const STRATA_OPERAND& name
#define STRATA_DECLARE_operand_or(name, fallback, ...) const STRATA_OPERAND& name = fallback
#define STRATA_DECLARE_maybe_tensor(name, ...) const std::optional<STRATA_ARRAY>& name = {}
#define STRATA_DECLARE_maybe_operand(name, ...) const std::optional<STRATA_OPERAND>& name = {}
#define STRATA_DECLARE_arg(type, name, ...) type name
#define STRATA_DECLARE_opt(type, name, fallback, ...) type name = fallback

/// The parameters as in a definition: types and names, without defaults.
#define STRATA_DEFINED(list) STRATA_EACH(STRATA_DEFINE_, STRATA_STRIP list)
#define STRATA_DEFINE_tensor(name, ...) const STRATA_ARRAY& name
#define STRATA_DEFINE_tensors(name, ...) std::span<const STRATA_ARRAY> name
#define STRATA_DEFINE_operand(name, ...) const STRATA_OPERAND& name
#define STRATA_DEFINE_operand_or(name, fallback, ...) const STRATA_OPERAND& name
#define STRATA_DEFINE_maybe_tensor(name, ...) const std::optional<STRATA_ARRAY>& name
#define STRATA_DEFINE_maybe_operand(name, ...) const std::optional<STRATA_OPERAND>& name
#define STRATA_DEFINE_arg(type, name, ...) type name
#define STRATA_DEFINE_opt(type, name, fallback, ...) type name

/// The types of the parameters alone.
#define STRATA_TYPES(list) STRATA_EACH(STRATA_TYPE_, STRATA_STRIP list)
#define STRATA_TYPE_tensor(name, ...) const STRATA_ARRAY&
#define STRATA_TYPE_tensors(name, ...) std::span<const STRATA_ARRAY>
#define STRATA_TYPE_operand(name, ...) const STRATA_OPERAND&
#define STRATA_TYPE_operand_or(name, fallback, ...) const STRATA_OPERAND&
#define STRATA_TYPE_maybe_tensor(name, ...) const std::optional<STRATA_ARRAY>&
#define STRATA_TYPE_maybe_operand(name, ...) const std::optional<STRATA_OPERAND>&
#define STRATA_TYPE_arg(type, name, ...) type
#define STRATA_TYPE_opt(type, name, fallback, ...) type

/// The names of the parameters alone, to pass them on as arguments.
#define STRATA_PASSED(list) STRATA_EACH(STRATA_PASS_, STRATA_STRIP list)
#define STRATA_PASS_tensor(name, ...) name
#define STRATA_PASS_tensors(name, ...) name
#define STRATA_PASS_operand(name, ...) name
#define STRATA_PASS_operand_or(name, fallback, ...) name
#define STRATA_PASS_maybe_tensor(name, ...) name
#define STRATA_PASS_maybe_operand(name, ...) name
#define STRATA_PASS_arg(type, name, ...) name
#define STRATA_PASS_opt(type, name, fallback, ...) name

/// The initializers of ops::ParameterText, one per parameter.
#define STRATA_TEXTS(list) STRATA_EACH(STRATA_TEXT_, STRATA_STRIP list)
#define STRATA_TEXT_tensor(name, ...) {"Tensor", #name, nullptr __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_tensors(name, ...) {"tensors", #name, nullptr __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_operand(name, ...) {"operand", #name, nullptr __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_operand_or(name, fallback, ...) {"operand", #name, #fallback __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_maybe_tensor(name, ...) {"Tensor", #name, "{}" __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_maybe_operand(name, ...) {"operand", #name, "{}" __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_arg(type, name, ...) {#type, #name, nullptr __VA_OPT__(, ) __VA_ARGS__}
#define STRATA_TEXT_opt(type, name, fallback, ...) {#type, #name, #fallback __VA_OPT__(, ) __VA_ARGS__}

/// The result type of an operation, by the row's `result`: one tensor, a pair, or a list.
#define STRATA_RESULT(result) STRATA_RESULT_##result
#define STRATA_RESULT_one STRATA_ARRAY
#define STRATA_RESULT_pair std::pair<STRATA_ARRAY, STRATA_ARRAY>
#define STRATA_RESULT_list std::vector<STRATA_ARRAY>

/// macro(name, ...) for each name of a list of up to six names, without separators.
#define STRATA_EACH_NAME(macro, list, ...) STRATA_EACH_NAME_OF((STRATA_STRIP list), macro, __VA_ARGS__)
#define STRATA_EACH_NAME_OF(list, ...) \
  STRATA_NAME_CALL(STRATA_JOINED(STRATA_NAME_, STRATA_COUNT list), (__VA_ARGS__), STRATA_STRIP list)
#define STRATA_NAME_CALL(macro, ...) macro(__VA_ARGS__)
#define STRATA_NAME_WITH(name, macro, ...) macro(name, __VA_ARGS__)
#define STRATA_NAME_0(more, ...)
#define STRATA_NAME_1(more, first) STRATA_NAME_MAKE(STRATA_NAME_WITH, first, STRATA_STRIP more)
#define STRATA_NAME_MAKE(macro, ...) macro(__VA_ARGS__)
#define STRATA_NAME_2(more, first, ...) STRATA_NAME_1(more, first) STRATA_NAME_1(more, __VA_ARGS__)
#define STRATA_NAME_3(more, first, ...) STRATA_NAME_1(more, first) STRATA_NAME_2(more, __VA_ARGS__)
#define STRATA_NAME_4(more, first, ...) STRATA_NAME_1(more, first) STRATA_NAME_3(more, __VA_ARGS__)
#define STRATA_NAME_5(more, first, ...) STRATA_NAME_1(more, first) STRATA_NAME_4(more, __VA_ARGS__)
#define STRATA_NAME_6(more, first, ...) STRATA_NAME_1(more, first) STRATA_NAME_5(more, __VA_ARGS__)

/// "name", for each name of a list, each with a comma behind it.
#define STRATA_NAMES(list) STRATA_EACH_NAME(STRATA_NAME_TEXT, list, )
#define STRATA_NAME_TEXT(name, ...) #name,
