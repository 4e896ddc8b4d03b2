// A pendulum swings up: of thousands of random futures, computed in one graph, the good ones are followed.
//
//   rollout [--rollouts N] [--seconds S] [--seed N]
//
// Model predictive path integral control (Williams et al., 2017): each twentieth of a second, every rollout tries the
// plan with noise of its own; the plan becomes the mean of what they tried, weighted by softmax(-cost). The motor is
// too weak to lift the pendulum at once. The exit status is 1 unless it stands at the end.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "strata/strata.h"

namespace {

using namespace strata;

constexpr double kStep = 0.05;      // seconds
constexpr double kGravity = 9.81;   // of a pendulum of 1 m and 1 kg: torque that holds it level
constexpr double kMotor = 5;        // most torque
constexpr double kNoise = 3;        // of the torques that are tried
constexpr double kTemperature = 2;  // how much better a rollout is to count e times as much
constexpr std::int64_t kHorizon = 30;

struct Options {
  std::int64_t rollouts = 2048;
  double seconds = 6;
  std::uint64_t seed = 1;
};

/// The angle from upright, in radians, and how fast it changes: of numbers or of tensors.
template <class T>
struct Pendulum {
  T angle, speed;

  void advance(const T& torque) {
    using std::sin;
    if constexpr (std::is_same_v<T, Tensor>)
      speed = speed + (angle.sin() * kGravity + torque) * kStep;
    else
      speed = speed + (sin(angle) * kGravity + torque) * kStep;
    angle = angle + speed * kStep;
  }
};

/// What a rollout pays each step: for not being up, for being fast, for torque.
Tensor price(const Pendulum<Tensor>& p, const Tensor& torque) {
  return (1.0 - p.angle.cos()) * 4.0 + p.speed.square() * 0.05 + torque.square() * 0.002;
}

/// The plan's torques, improved. Of `state` (angle, speed) and `plan` (horizon).
Tensor improved(const Tensor& state, const Tensor& plan, std::int64_t rollouts) {
  const Tensor tried = (plan + randn({rollouts, kHorizon}) * kNoise).clip(-kMotor, kMotor).contiguous();
  Pendulum<Tensor> p{state[0].expand({rollouts}), state[1].expand({rollouts})};
  Tensor cost = Tensor::zeros({rollouts});
  for (std::int64_t t = 0; t < kHorizon; ++t) {
    const Tensor torque = tried.select(1, t);
    p.advance(torque);
    cost = cost + price(p, torque);
  }
  const Tensor weights = (cost / -kTemperature).softmax(0);
  return (weights.unsqueeze(1) * tried).sum(0);
}

/// The pendulum as a line: its tip moves from left to right, `O` above the pivot and `o` below.
void print_pendulum(double time, const Pendulum<double>& p, double torque) {
  char line[42];
  std::memset(line, ' ', 41);
  line[41] = 0;
  line[20] = '|';
  line[20 + std::lround(20 * std::sin(p.angle))] = std::cos(p.angle) > 0 ? 'O' : 'o';
  std::printf("%5.2f s  [%s]  height %5.2f  torque %5.2f\n", time, line, std::cos(p.angle), torque);
}

int run(const Options& options) {
  STRATA_CHECK(options.rollouts >= 1 && options.seconds >= 1 && options.seconds <= 3600, request, "[rollout] ",
               options.rollouts, " rollouts over ", options.seconds, " s: at least one rollout, and 1 to 3600 s");
  manual_seed(options.seed);
  auto improve = jit([&](const Tensor& state, const Tensor& plan) { return improved(state, plan, options.rollouts); });
  Pendulum<double> p{3.1415926, 0};  // hangs
  std::vector<float> plan(kHorizon, 0.0F);
  const auto steps = static_cast<std::int64_t>(options.seconds / kStep);
  double lowest = 1, seconds = 0;  // how high it is in the last second; what replays take
  for (std::int64_t k = 0; k < steps; ++k) {
    const std::vector<float> state = {static_cast<float>(p.angle), static_cast<float>(p.speed)};
    const auto begin = std::chrono::steady_clock::now();
    plan = improve(Tensor::from(state, {2}), Tensor::from(plan, {kHorizon})).to_vector<float>();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (k >= 2) seconds += took.count();
    const double torque = plan.front();
    STRATA_CHECK(std::isfinite(torque), domain, "[rollout] a torque of ", torque, " in step ", k);
    p.advance(torque);
    plan.erase(plan.begin());
    plan.push_back(0);
    if (k % 6 == 0) print_pendulum(static_cast<double>(k) * kStep, p, torque);
    if (static_cast<double>(steps - k) * kStep <= 1) lowest = std::min(lowest, std::cos(p.angle));
  }
  const double each = seconds / static_cast<double>(std::max<std::int64_t>(steps - 2, 1));
  std::printf("%lld rollouts of %lld steps in %.2f ms on %s: %.1f million steps of a pendulum a second\n",
              static_cast<long long>(options.rollouts), static_cast<long long>(kHorizon), each * 1e3,
              std::string(Device::default_device().name()).c_str(),
              static_cast<double>(options.rollouts * kHorizon) / each * 1e-6);
  const bool is_up = lowest > 0.95;
  std::printf("the pendulum %s: its height was %.3f at least in the last second\n", is_up ? "is up" : "is not up",
              lowest);
  return is_up ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options;
    for (int k = 1; k + 1 < argc; k += 2) {
      if (std::strcmp(argv[k], "--rollouts") == 0)
        options.rollouts = std::stoll(argv[k + 1]);
      else if (std::strcmp(argv[k], "--seconds") == 0)
        options.seconds = std::stod(argv[k + 1]);
      else if (std::strcmp(argv[k], "--seed") == 0)
        options.seed = std::stoull(argv[k + 1]);
    }
    return run(options);
  } catch (const std::exception& e) {
    std::cerr << "rollout: " << e.what() << "\n";
    return 1;
  }
}
