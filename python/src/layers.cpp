// Binds the layers of strata/nn. A layer is called like a function of tensors; its tensors are attributes.
#include "strata/nn/layers.h"
#include "strata/nn/recurrent.h"

#include <memory>
#include <string>

#include "python/src/location.h"
#include "python/src/modules.h"

namespace strata::python {

namespace {

Tensor layer_input(const py::object& x) { return tensor_of({x.ptr(), "layer", "input"}); }

template <class L>
using LayerClass = py::class_<L, nn::Module>;

/// Binds the layer's function as __call__() and forward().
template <class L, class F, class... More>
void called(LayerClass<L>& c, const F& f, const More&... more) {
  c.def("__call__", f, more...).def("forward", f, more..., "The same as calling the layer.");
}

/// Binds a layer that is called with one tensor.
template <class L>
LayerClass<L> layer(py::module_& m, const char* name, const char* doc) {
  LayerClass<L> out(m, name, py::dynamic_attr(), collected_once(), doc);
  const auto call = [name](const L& l, const py::object& x) {
    const LocationScope scope(name);
    return l(layer_input(x));
  };
  called(out, call, py::arg("input"));
  return out;
}

/// The tensor, or nothing for None, that was assigned to an attribute of a layer. @throws py::type_error naming the
/// attribute
std::optional<Tensor> assigned_tensor(const py::object& value, const char* name, bool may_be_absent) {
  if (const Tensor* const t = tensor_in(value.ptr())) return *t;
  if (value.is_none() && may_be_absent) return std::nullopt;
  throw py::type_error(detail::message("[Module] ", name, " must be a Tensor", may_be_absent ? " or None" : "",
                                       ", not ", value.is_none() ? "None" : Py_TYPE(value.ptr())->tp_name));
}

/// Binds a tensor of a layer as an attribute. Assignment makes another tensor the parameter (Module::set()).
/// `state_name`: its name in state_dict(), if that differs.
template <class T, class L>
void with_tensor(LayerClass<L>& c, const char* name, T L::* member, const char* doc, const char* state_name = nullptr) {
  const char* const full = state_name != nullptr ? state_name : name;
  constexpr bool may_be_absent = std::is_same_v<T, std::optional<Tensor>>;
  c.def_property(
      name, [member](const L& l) { return l.*member; },
      [full](L& l, const py::object& value) { l.set(full, assigned_tensor(value, full, may_be_absent)); }, doc);
}

template <class L>
LayerClass<L>& with_weight(LayerClass<L>& c) {
  with_tensor<Tensor, L>(c, "weight", &L::weight, "The weight. Assigning a tensor makes that tensor the parameter.");
  return c;
}
template <class L>
LayerClass<L>& with_bias(LayerClass<L>& c) {
  with_tensor<decltype(L::bias), L>(
      with_weight(c), "bias", &L::bias,
      std::is_same_v<decltype(L::bias), Tensor>
          ? "The bias. Assigning a tensor makes that tensor the parameter."
          : "The bias, or None. Assigning a tensor makes that tensor the parameter; assigning None "
            "removes the bias.");
  return c;
}

/// Binds what Linear and Conv have in common. NOTE: a property would take its name from the attributes of subclasses.
template <class L>
void quantizable(LayerClass<L>& c) {
  with_bias(c);
  c.def("is_quantized", &L::is_quantized,
        "Whether nn.quantize() has made the layer compute in integers. Then its state has the tensors weight (int8), "
        "bias "
        "(int32), output_scale, input_scale and input_zero_point.");
}

/// Binds an inner layer as a read-only attribute.
template <class Inner, class L>
void with_inner(LayerClass<L>& c, const char* name, Inner L::* member, const char* doc) {
  c.def_property_readonly(
      name, [member](L& l) -> Inner& { return l.*member; }, py::return_value_policy::reference_internal, doc);
}

/// The kernel sizes of `axes` spatial axes, from one number or a sequence.
std::vector<std::int64_t> kernel_sizes(const py::object& kernel, std::size_t axes) {
  return per_axis_of({kernel.ptr(), "Conv", "kernel_size"}).of("Conv", "kernel_size", axes, 1);
}

/// The Python classes Conv1d, Conv2d and Conv3d. In C++ they have one class.
template <std::size_t axes>
class ConvLayer final : public nn::Conv {
 public:
  ConvLayer(std::int64_t in, std::int64_t out, const py::object& kernel, const py::object& stride,
            const py::object& padding, const py::object& dilation, std::int64_t groups, bool has_bias)
      : nn::Conv(in, out, kernel_sizes(kernel, axes),
                 {.stride = per_axis_of({stride.ptr(), "Conv", "stride"}),
                  .padding = conv_padding_of({padding.ptr(), "Conv", "padding"}),
                  .dilation = per_axis_of({dilation.ptr(), "Conv", "dilation"}),
                  .groups = groups},
                 has_bias) {}
};

template <std::size_t axes>
void bind_conv(py::module_& m, const char* name) {
  auto c =
      layer<ConvLayer<axes>>(m, name,
                             "Convolution over the spatial axes: (batch, in_channels, sizes...) to (batch, "
                             "out_channels, sizes...). The weight has the shape (out_channels, in_channels / groups, "
                             "kernel...). Raises DomainError unless `groups` divides both numbers of channels.");
  c.def(py::init<std::int64_t, std::int64_t, py::object, py::object, py::object, py::object, std::int64_t, bool>(),
        py::arg("in_channels"), py::arg("out_channels"), py::arg("kernel_size"), py::arg("stride") = 1,
        py::arg("padding") = 0, py::arg("dilation") = 1, py::arg("groups") = 1, py::arg("bias") = true);
  quantizable(c);
}

/// The Python classes BatchNorm1d, 2d and 3d, which all accept inputs of any number of dimensions.
template <int dimensions>
class BatchNormLayer final : public nn::BatchNorm {
 public:
  using nn::BatchNorm::BatchNorm;
};

template <int dimensions>
void bind_batch_norm(py::module_& m, const char* name) {
  using L = BatchNormLayer<dimensions>;
  auto c = layer<L>(m, name,
                    "Normalises each channel over the batch and the sizes, then scales by `weight` and adds "
                    "`bias`. In training, the mean and variance are those of the batch, and each call "
                    "updates running_mean and running_var. After eval(), the mean and variance are "
                    "running_mean and running_var.");
  c.def(py::init<std::int64_t, double, double>(), py::arg("num_features"), py::arg("eps") = 1e-5,
        py::arg("momentum") = 0.1);
  with_bias(c);
  with_tensor<Tensor, L>(c, "running_mean", &L::running_mean,
                         "The running mean of each channel. Each call in training updates the running mean.");
  with_tensor<Tensor, L>(c, "running_var", &L::running_var,
                         "The running variance of each channel. Each call in training updates the running "
                         "variance.");
}

Ints normalized_sizes(const py::object& shape) { return sizes_of({shape.ptr(), "norm", "normalized_shape"}); }

AttentionOptions attention_options(const std::optional<Tensor>& mask, bool causal) {
  return {.mask = mask, .causal = causal};
}

void bind_attention(py::module_& m) {
  using MHA = nn::MultiheadAttention;
  LayerClass<MHA> attention(m, "MultiheadAttention", py::dynamic_attr(), collected_once(),
                            "Scaled dot product attention in num_heads heads: (batch, length, embed_dim) to the same "
                            "shape. `key` defaults to `query`, and `value` to `key`. Raises DomainError unless "
                            "num_heads divides embed_dim.");
  attention.def(py::init<std::int64_t, std::int64_t, bool>(), py::arg("embed_dim"), py::arg("num_heads"),
                py::arg("bias") = true);
  called(
      attention,
      [](const MHA& l, const Tensor& query, const std::optional<Tensor>& key, const std::optional<Tensor>& value,
         const std::optional<Tensor>& mask, bool causal) {
        const LocationScope scope("MultiheadAttention");
        return l(query, key.value_or(query), value.value_or(key.value_or(query)), attention_options(mask, causal));
      },
      py::arg("query"), py::arg("key") = py::none(), py::arg("value") = py::none(), py::arg("attn_mask") = py::none(),
      py::arg("is_causal") = false);
  with_inner(attention, "query", &MHA::query, "The Linear layer that projects the queries.");
  with_inner(attention, "key", &MHA::key, "The Linear layer that projects the keys.");
  with_inner(attention, "value", &MHA::value, "The Linear layer that projects the values.");
  with_inner(attention, "out", &MHA::out, "The Linear layer that projects the joined heads.");
}

void bind_block(py::module_& m) {
  using Block = nn::TransformerBlock;
  LayerClass<Block> block(m, "TransformerBlock", py::dynamic_attr(), collected_once(),
                          "A transformer block: y = x + drop(attention(norm1(x))), then y + "
                          "drop(down(gelu(up(norm2(y))))). `hidden` is the number of features between `up` and "
                          "`down`.");
  block.def(py::init<std::int64_t, std::int64_t, std::int64_t, double>(), py::arg("embed_dim"), py::arg("num_heads"),
            py::arg("hidden"), py::arg("dropout") = 0.0);
  called(
      block,
      [](const Block& l, const Tensor& x, const std::optional<Tensor>& mask, bool causal) {
        const LocationScope scope("TransformerBlock");
        return l(x, attention_options(mask, causal));
      },
      py::arg("input"), py::arg("attn_mask") = py::none(), py::arg("is_causal") = false);
  with_inner(block, "norm1", &Block::norm1, "The LayerNorm before the attention.");
  with_inner(block, "norm2", &Block::norm2, "The LayerNorm before the feed-forward part.");
  with_inner(block, "attention", &Block::attention, "The MultiheadAttention layer.");
  with_inner(block, "up", &Block::up, "The Linear layer from embed_dim to hidden features.");
  with_inner(block, "down", &Block::down, "The Linear layer from hidden features to embed_dim.");
  with_inner(block, "drop", &Block::drop, "The Dropout layer after the attention and after the feed-forward part.");
}

template <class L>
void with_recurrent_weights(LayerClass<L>& c) {
  with_tensor<Tensor, L>(c, "weight_ih", &L::weight_ih, "The weight for the input. The gates are stacked on axis 0.",
                         "weight_ih_l0");
  with_tensor<Tensor, L>(c, "weight_hh", &L::weight_hh,
                         "The weight for the hidden state. The gates are stacked on axis 0.", "weight_hh_l0");
  with_tensor<Tensor, L>(c, "bias_ih", &L::bias_ih, "The bias that is added with weight_ih.", "bias_ih_l0");
  with_tensor<Tensor, L>(c, "bias_hh", &L::bias_hh, "The bias that is added with weight_hh.", "bias_hh_l0");
}

nn::RecurrentOptions recurrent_options(std::int64_t layers, bool bias, bool batch_first, double dropout,
                                       bool bidirectional) {
  return {layers, bidirectional, batch_first, bias, dropout};
}

/// The constructor arguments behind the sizes, as in torch.nn.
template <class L>
void with_recurrent_options(LayerClass<L>& c) {
  c.def(py::init([](std::int64_t in, std::int64_t features, std::int64_t layers, bool bias, bool batch_first,
                    double dropout, bool bidirectional) {
          return std::make_unique<L>(in, features,
                                     recurrent_options(layers, bias, batch_first, dropout, bidirectional));
        }),
        py::arg("input_size"), py::arg("hidden_size"), py::arg("num_layers") = 1, py::arg("bias") = true,
        py::arg("batch_first") = true, py::arg("dropout") = 0.0, py::arg("bidirectional") = false);
}

constexpr const char* kRecurrentDoc =
    " The input is (batch, length, input_size), or (length, batch, input_size) with batch_first=False. A state is "
    "(batch, hidden_size) with one layer in one direction, else (num_layers * directions, batch, hidden_size), and "
    "defaults to zeros. With `bidirectional`, the output has the features of both directions side by side. `lengths`, "
    "integers (batch,), says where each sequence ends: behind it the output is 0, and the last state is that of its "
    "last element. `dropout` acts between layers, in training. The steps are one loop, as of strata.scan().";

/// NOTE: a tensor is a sequence, too, whose elements are no state.
std::optional<std::pair<Tensor, Tensor>> lstm_state(const py::object& state) {
  if (state.is_none()) return std::nullopt;
  const bool is_pair = (py::isinstance<py::tuple>(state) || py::isinstance<py::list>(state)) && py::len(state) == 2;
  const py::object hidden = is_pair ? py::object(state[py::int_(0)]) : py::none();
  const py::object cell = is_pair ? py::object(state[py::int_(1)]) : py::none();
  const Tensor *const h = tensor_in(hidden.ptr()), *const c = tensor_in(cell.ptr());
  if (h == nullptr || c == nullptr)
    throw py::type_error(
        detail::message("[LSTM] the state is a pair of tensors (hidden, cell), not ", Py_TYPE(state.ptr())->tp_name));
  return std::pair(*h, *c);
}

/// Binds a layer whose state is one tensor.
template <class L>
void with_one_state(LayerClass<L>& c, const char* name) {
  called(
      c,
      [name](const L& l, const Tensor& x, const std::optional<Tensor>& state, const std::optional<Tensor>& lengths) {
        const LocationScope scope(name);
        const auto both = l(x, state, lengths);
        return py::make_tuple(both.first, both.second);
      },
      py::arg("input"), py::arg("state") = py::none(), py::arg("lengths") = py::none());
  with_recurrent_weights(c);
}

void bind_recurrent(py::module_& m) {
  static const std::string rnn_doc = std::string(
                                         "An RNN over a sequence. A call returns (output, hidden): `output` "
                                         "(batch, length, hidden_size) is the hidden state of each step, "
                                         "`hidden` the last one. `nonlinearity` is 'tanh' or 'relu'.") +
                                     kRecurrentDoc;
  LayerClass<nn::RNN> rnn(m, "RNN", py::dynamic_attr(), collected_once(), rnn_doc.c_str());
  rnn.def(py::init([](std::int64_t in, std::int64_t features, std::int64_t layers, const std::string& nonlinearity,
                      bool bias, bool batch_first, double dropout, bool bidirectional) {
            STRATA_CHECK(nonlinearity == "tanh" || nonlinearity == "relu", domain, "[RNN] the nonlinearity '",
                         nonlinearity, "' is neither 'tanh' nor 'relu'");
            return std::make_unique<nn::RNN>(in, features,
                                             recurrent_options(layers, bias, batch_first, dropout, bidirectional),
                                             nonlinearity == "relu");
          }),
          py::arg("input_size"), py::arg("hidden_size"), py::arg("num_layers") = 1, py::arg("nonlinearity") = "tanh",
          py::arg("bias") = true, py::arg("batch_first") = true, py::arg("dropout") = 0.0,
          py::arg("bidirectional") = false);
  with_one_state(rnn, "RNN");
  static const std::string lstm_doc = std::string(
                                          "An LSTM over a sequence. A call returns (output, (hidden, cell)): "
                                          "`output` (batch, length, hidden_size) is the hidden state of each "
                                          "step, `hidden` and `cell` are the last state.") +
                                      kRecurrentDoc;
  LayerClass<nn::LSTM> lstm(m, "LSTM", py::dynamic_attr(), collected_once(), lstm_doc.c_str());
  with_recurrent_options(lstm);
  called(
      lstm,
      [](const nn::LSTM& l, const Tensor& x, const py::object& state, const std::optional<Tensor>& lengths) {
        const LocationScope scope("LSTM");
        const nn::LSTM::Result r = l(x, lstm_state(state), lengths);
        return py::make_tuple(r.output, py::make_tuple(r.hidden, r.cell));
      },
      py::arg("input"), py::arg("state") = py::none(), py::arg("lengths") = py::none());
  with_recurrent_weights(lstm);
  static const std::string gru_doc = std::string(
                                         "A GRU over a sequence. A call returns (output, hidden): `output` "
                                         "(batch, length, hidden_size) is the hidden state of each step, "
                                         "`hidden` the last one.") +
                                     kRecurrentDoc;
  LayerClass<nn::GRU> gru(m, "GRU", py::dynamic_attr(), collected_once(), gru_doc.c_str());
  with_recurrent_options(gru);
  with_one_state(gru, "GRU");
}

}  // namespace

void bind_layer_classes(py::module_& m) {
  auto linear = layer<nn::Linear>(m, "Linear",
                                  "x @ weight.T + bias: (..., in_features) to (..., out_features). The weight has the "
                                  "shape (out_features, in_features).");
  linear.def(py::init<std::int64_t, std::int64_t, bool>(), py::arg("in_features"), py::arg("out_features"),
             py::arg("bias") = true);
  quantizable(linear);
  bind_conv<1>(m, "Conv1d");
  bind_conv<2>(m, "Conv2d");
  bind_conv<3>(m, "Conv3d");
  auto embedding = layer<nn::Embedding>(m, "Embedding",
                                        "Looks up a row of the weight for each index: integers of shape (...) to (..., "
                                        "embedding_dim). The weight has the shape (num_embeddings, embedding_dim).");
  embedding.def(py::init<std::int64_t, std::int64_t>(), py::arg("num_embeddings"), py::arg("embedding_dim"));
  with_weight(embedding);
  layer<nn::Dropout>(m, "Dropout",
                     "In training, sets each element to 0 with probability `p` and divides the others by 1 - "
                     "p. After eval(), returns the input.")
      .def(py::init<double>(), py::arg("p") = 0.5)
      .def_readonly("p", &nn::Dropout::p, "The probability that an element is set to 0.");
  bind_attention(m);
  bind_block(m);
  bind_recurrent(m);
}

void bind_norm_layers(py::module_& m) {
  bind_batch_norm<1>(m, "BatchNorm1d");
  bind_batch_norm<2>(m, "BatchNorm2d");
  bind_batch_norm<3>(m, "BatchNorm3d");
  auto layer_norm =
      layer<nn::LayerNorm>(m, "LayerNorm",
                           "Normalises over the last dimensions, whose sizes must be `normalized_shape`, then "
                           "scales by `weight` and adds `bias`; see layer_norm().");
  layer_norm.def(py::init([](const py::object& shape, double eps) {
                   return std::make_unique<nn::LayerNorm>(normalized_sizes(shape), eps);
                 }),
                 py::arg("normalized_shape"), py::arg("eps") = 1e-5);
  with_bias(layer_norm);
  auto group_norm =
      layer<nn::GroupNorm>(m, "GroupNorm",
                           "Splits the channels into num_groups groups and normalises each group of each batch "
                           "element; see group_norm().");
  group_norm.def(py::init<std::int64_t, std::int64_t, double>(), py::arg("num_groups"), py::arg("num_channels"),
                 py::arg("eps") = 1e-5);
  with_bias(group_norm);
  auto instance_norm = layer<nn::InstanceNorm>(
      m, "InstanceNorm", "Normalises each channel of each batch element over the sizes; see instance_norm().");
  instance_norm.def(py::init<std::int64_t, double>(), py::arg("num_features"), py::arg("eps") = 1e-5);
  with_bias(instance_norm);
  auto rms_norm = layer<nn::RMSNorm>(m, "RMSNorm",
                                     "Divides by the root mean square over the last dimensions, whose sizes must be "
                                     "`normalized_shape`, then scales by `weight`; see rms_norm().");
  rms_norm.def(py::init([](const py::object& shape, std::optional<double> eps) {
                 return std::make_unique<nn::RMSNorm>(normalized_sizes(shape), eps);
               }),
               py::arg("normalized_shape"), py::arg("eps") = py::none());
  with_weight(rms_norm);
}

}  // namespace strata::python
