// Steps of graph programs: layers of neural networks, windows, and what has as many elements as the data say.
#include "strata/tensor/functional.h"
#include "tests/fuzz/graph_program.h"

namespace strata::oracle {

namespace {

using Tensors = GraphOp::Tensors;
constexpr double kEps = 0.5;  // so that what is divided by is not nearly 0

/// Five small numbers, from 1 to 3.
bool draw_layer(Choices& c, Tensors, StepArgs& args) {
  args.clear();
  for (int k = 0; k < 5; ++k) args.push_back(1 + c.below(3));
  return true;
}
/// (batch, 2 or 4 channels, height, width)
Tensor image(const Tensor& x, const StepArgs& a) { return shaped(x, {a[0], 2 * (1 + a[1] / 3), 2 + a[2], 2 + a[3]}); }
Tensor channels(const Tensor& x, const Tensor& like) { return shaped(x, {sizes_of(like)[1]}); }

GraphFamily windows_of_layers() {
  return {4,
          {{"conv1d", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor x = shaped(in[0], {a[0], 2, 4 + a[1]}), w = shaped(in[1], {a[2], 2, a[3]});
              return conv1d(x, w, {}, {.stride = a[4], .padding = "valid", .dilation = 1 + a[4] % 2});
            }},
           {"conv2d_groups", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor x = image(in[0], a), w = shaped(in[1], {2 * a[4], sizes_of(x)[1] / 2, 2, 2});
              return conv2d(x, w, {}, {.stride = a[3], .padding = 1, .dilation = a[2] % 2 + 1, .groups = 2});
            }},
           {"conv2d_relu_pool", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor x = image(in[0], a), w = shaped(in[1], {a[4], sizes_of(x)[1], 2, 1});
              return max_pool2d(conv2d(x, w).relu(), 2, {.stride = PerAxis(a[3] % 2 + 1)});
            }},
           {"conv3d", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return conv3d(shaped(in[0], {1, a[0], 2, 3, 2}), shaped(in[1], {a[1], a[0], 2, 2, 1}), {},
                            {.padding = a[2] % 2});
            }},
           {"max_pool1d", 1, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return max_pool1d(shaped(in[0], {a[0], a[1], 5}), 2,
                                {.stride = PerAxis(a[2]), .padding = a[3] % 2, .ceil_mode = a[4] == 1});
            }},
           {"avg_pool2d", 1, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return avg_pool2d(image(in[0], a), 3,
                                {.stride = PerAxis(a[3]), .padding = 1, .count_include_pad = a[4] == 1});
            }},
           {"adaptive_avg_pool2d", 1, draw_layer,
            [](Tensors in, const StepArgs& a) { return adaptive_avg_pool2d(image(in[0], a), a[4]); }},
           {"unfold_image", 1, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return unfold(image(in[0], a), 2, {.padding = a[4] % 2, .stride = a[4]});
            }},
           {"fold", 1, draw_layer, [](Tensors in, const StepArgs& a) {
              const std::int64_t places = 2 + a[2];
              return fold(shaped(in[0], {a[0], 4 * a[1], places * places}), 3 + a[2], 2);
            }}}};
}

GraphFamily norms() {
  return {4,
          {{"batch_norm", 3, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor x = image(in[0], a);
              return batch_norm(x, {}, {}, channels(in[1], x), channels(in[2], x), {.training = true, .eps = kEps});
            }},
           {"group_norm", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor x = image(in[0], a), out = group_norm(x, 2, channels(in[1], x), {}, kEps);
              return a[4] == 1 ? out : out.relu();
            }},
           {"instance_norm", 1, draw_layer,
            [](Tensors in, const StepArgs& a) { return instance_norm(image(in[0], a), {}, {}, kEps); }},
           {"rms_norm", 1, draw_layer,
            [](Tensors in, const StepArgs&) { return rms_norm(in[0], {in[0].size(-1)}, {}, kEps); }},
           {"softmax_of_product", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor y = shaped(in[0], {a[0], a[1]}).matmul(shaped(in[1], {a[1], a[2] + 1}));
              return (a[3] == 1 ? y : y.tanh() * 2).softmax(a[4] % 2);
            }},
           {"expensive_softmax", 1, draw_layer,
            [](Tensors in, const StepArgs& a) { return in[0].sin().exp().softmax(-(a[0] % 2) - 1); }},
           {"expensive_norm", 1, draw_layer,
            [](Tensors in, const StepArgs&) { return layer_norm(in[0].tanh(), {in[0].size(-1)}, {}, {}, kEps); }},
           {"glu", 1, draw_layer,
            [](Tensors in, const StepArgs& a) { return glu(shaped(in[0], {a[0], 2 * a[1], a[2]}), 1); }}}};
}

GraphFamily rarer_functions() {
  return {4,
          {{"tensordot", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return shaped(in[0], {a[0], a[1], a[2]}).tensordot(shaped(in[1], {a[1], a[2], a[3]}));
            }},
           {"bmm", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return shaped(in[0], {a[0], a[1], a[2]}).bmm(shaped(in[1], {a[0], a[2], a[3]}));
            }},
           {"cdist", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              return shaped(in[0], {a[0], a[1]}).cdist(shaped(in[1], {a[2], a[1]}) + 0.375, 1);
            }},
           {"diff", 1, draw_layer, [](Tensors in, const StepArgs& a) { return in[0].diff(a[0] % 2 + 1, -1); }},
           {"cummin", 1, draw_layer,
            [](Tensors in, const StepArgs& a) { return a[0] == 1 ? in[0].cummin(-1).second : in[0].cummin(-1).first; }},
           {"embedding", 2, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const Tensor rows = shaped(in[1], {a[0], a[1]}).cast(dtypes::int64).remainder(a[2]);
              return embedding(rows, shaped(in[0], {a[2], a[3]}));
            }},
           {"addcmul", 3, draw_layer, [](Tensors in, const StepArgs& a) { return in[0].addcmul(in[1], in[2], a[0]); }},
           {"aminmax", 1, draw_layer,
            [](Tensors in, const StepArgs& a) {
              const auto [least, most] = in[0].aminmax(-1, a[0] == 1);
              return most - least;
            }},
           {"movedim", 1, draw_layer, [](Tensors in, const StepArgs&) { return in[0].movedim({0}, {-1}); }}}};
}

/// Of a mask of no floats, whose elements are the same in all ways.
bool draw_mask(Choices&, Tensors in, StepArgs& args) {
  args.clear();
  return !in[1].dtype().is_float();
}
GraphFamily as_many_as_there_are() {
  return {1,
          {{"masked_select", 2, draw_mask,
            [](Tensors in, const StepArgs&) {
              return in[1].masked_select(in[1].ne(0)).cast(dtypes::float32) * in[0].sum();
            }},
           {"masked_select_of", 2, draw_mask,
            [](Tensors in, const StepArgs&) {
              const Tensor mask = shaped(in[1], to_ints(sizes_of(in[0]))).ne(0);
              return in[0].masked_select(mask);
            }},
           {"nonzero", 2, draw_mask, [](Tensors in, const StepArgs&) { return in[1].nonzero() + in[0].ndim(); }}}};
}

}  // namespace

std::vector<GraphFamily> layer_families() {
  return {windows_of_layers(), norms(), rarer_functions(), as_many_as_there_are()};
}

}  // namespace strata::oracle
