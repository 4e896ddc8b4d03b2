// `strata doctor` and `strata bench`: what they say of this machine, and of one that lacks things.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "strata/base/flags.h"
#include "strata/base/json.h"
#include "strata/runtime/device.h"
#include "strata/runtime/measured_machine.h"
#include "strata/runtime/posix_io.h"
#include "tests/tools/command_line.h"
#include "tools/machine.h"

namespace strata::tools {
namespace {

TEST(Doctor, TellsWhatIsHere) {
  const Output r = run({"doctor"});
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  const std::string name(Device::default_device().name());
  for (const std::string& text : {std::string("processor"), std::string("memory"), std::string("compilers"),
                                  std::string("disk cache"), "2+3 is 5 on " + name})
    EXPECT_TRUE(has(r.out, text)) << r.out << " lacks " << text;
  for (const Device* device : Device::all()) EXPECT_TRUE(has(r.out, std::string(device->name()))) << device->name();
  EXPECT_FALSE(has(r.out, "\x1b"));
}

TEST(Doctor, JsonHasAllOfIt) {
  const Output r = run({"doctor", "--json"});
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  JsonDocument document;
  document.read(r.out);
  for (const std::string key : {"version", "processor", "features", "processors", "threads", "memory", "available",
                                "devices", "compilers", "llvm", "opencl", "cache", "mpi", "check", "command"})
    EXPECT_TRUE(document.salvage(key).has_value()) << key;
  EXPECT_TRUE(has(*document.salvage("check"), R"("right":true)")) << r.out;
}

TEST(Doctor, ADeviceThatDoesNotComputeIsStatus1) {
  for (const auto& [device, reason] :
       {std::pair<std::string, std::string>{"NULL", "NULL computes nothing"}, {"VAX", "there is no device \"VAX\""}}) {
    const ScopedFlag flag(flags::DEVICE, device);
    const Output r = run({"doctor"});
    EXPECT_EQ(r.status, 1);
    EXPECT_TRUE(has(r.out, reason)) << r.out;
    EXPECT_TRUE(has(run({"doctor", "--json"}).out, R"("right":false)"));
  }
}

TEST(Doctor, WhatIsMissingHasOneCommand) {
  const PrivateFolder empty;
  const std::string before = std::getenv("PATH");
  setenv("PATH", empty.path().c_str(), 1);
  const Output r = run({"doctor"});
  setenv("PATH", before.c_str(), 1);
  EXPECT_TRUE(has(r.out, "there is no C compiler")) << r.out;
  EXPECT_TRUE(has(r.out, "none on PATH")) << r.out;
  const std::size_t command = r.out.find("\nmissing     apt-get install ");
  ASSERT_NE(command, std::string::npos) << r.out;
  EXPECT_TRUE(has(r.out.substr(command), " gcc")) << r.out;
}

// With a launcher of ours on PATH. Ranks that meet, and that do not: tests/mesh/run_ranks.py.
TEST(Doctor, MpiAndItsLauncher) {
  const PrivateFolder folder;
  const std::string before = std::getenv("PATH");
  const std::string launcher = folder.file("mpirun");
  std::ofstream(launcher) << "#!/bin/sh\necho 'HYDRA build details:'\necho '    Version:   9.8'\n";
  ASSERT_EQ(chmod(launcher.c_str(), 0700), 0);
  setenv("PATH", (folder.path() + ":" + before).c_str(), 1);
  const Output alone = run({"doctor"});
  EXPECT_TRUE(has(alone.out, "\nlauncher    " + launcher) && has(alone.out, "Version:   9.8")) << alone.out;
  EXPECT_FALSE(has(alone.out, "\nranks ")) << alone.out;
  EXPECT_TRUE(has(run({"doctor", "--json"}).out, R"("launcher_version":"Version:   9.8")"));
  setenv("PATH", before.c_str(), 1);
}

TEST(Machine, IsReadFromTheSystemsTexts) {
  const HostMachine x86 = parse_host_machine(
      "processor\t: 0\nmodel\t\t: 1\nmodel name\t: A Processor @ 2GHz\nflags\t\t: fpu avx2 avx512f "
      "fma\n"
      "vmx flags\t: avx\n\nprocessor\t: 1\nmodel name\t: Another\n",
      "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n");
  EXPECT_EQ(x86.processor, "A Processor @ 2GHz");
  EXPECT_EQ(x86.features, (std::vector<std::string>{"avx2", "fma", "avx512f"}));
  EXPECT_EQ(x86.memory, 2048U << 10);
  EXPECT_EQ(x86.available, 1024U << 10);
  const HostMachine arm = parse_host_machine("processor\t: 0\nFeatures\t: fp asimd sve\n", "");
  EXPECT_EQ(arm.processor, "");
  EXPECT_EQ(arm.features, (std::vector<std::string>{"asimd", "sve"}));
  EXPECT_EQ(arm.memory, 0U);
  EXPECT_GE(this_machine().processors, 1U);
}

TEST(Bench, MeasuresEachOnceBesideTheRoofline) {
  const Output r = run({"bench", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  std::istringstream lines(r.out);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    JsonDocument document;
    document.read(line);
    names.push_back(document.salvage("name").value_or(""));
    EXPECT_NE(document.salvage("bytes_per_second").value_or("0"), "0") << line;
    EXPECT_NE(document.salvage("operations_per_second").value_or("0"), "0") << line;
  }
  std::vector<std::string> expected{"\"roofline\""};
  for (const std::string_view name : split(find_command("bench")->completes, '|'))
    expected.push_back('"' + std::string(name) + '"');
  EXPECT_EQ(names, expected);
}

TEST(Bench, KeepsTheNumbersOfTheMachine) {
  const PrivateFolder top;
  const ScopedFlag on(flags::DISK_CACHE, true);
  const ScopedFlag folder(flags::CACHE_DIR, top.file("cache"));
  const int vector_bytes = Device::default_device().target().vector_bytes;
  const Output r = run({"bench", "--machine", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  JsonDocument document;
  document.read(r.out);
  EXPECT_EQ(document.salvage("kept"), "true") << r.out;
  const std::shared_ptr<const Machine> kept = measured_machine(vector_bytes);
  ASSERT_NE(kept, nullptr);
  for (const MachineNumber& n : machine_numbers()) EXPECT_GT(kept.get()->*n.value, 0) << n.name;
  EXPECT_LT(kept->l1_bytes, kept->l2_bytes);
  const Output table = run({"bench", "--machine"});
  EXPECT_TRUE(has(table.out, "\nlatency ") && has(table.out, "Kept in the cache folder")) << table.out;
  const ScopedFlag off(flags::DISK_CACHE, false);
  EXPECT_TRUE(has(run({"bench", "--machine"}).out, "Not kept"));
}

TEST(Bench, OfSomeAsATable) {
  const Output r = run({"bench", "matmul"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(has(r.out, "GFLOP/s")) << r.out;
  EXPECT_TRUE(has(r.out, "\nmatmul ")) << r.out;
  EXPECT_FALSE(has(r.out, "softmax")) << r.out;
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  const Output unknown = run({"bench", "mattmul"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_TRUE(has(unknown.err, "did you mean 'matmul'?")) << unknown.err;
  EXPECT_EQ(run({"bench", "--device", "INTERP"}).status, 2);
  const ScopedFlag flag(flags::DEVICE, std::string("INTERP"));
  const Output r = run({"bench", "sum"});
  EXPECT_EQ(r.status, 1);
  EXPECT_TRUE(has(r.err, "INTERP cannot be measured")) << r.err;
}

}  // namespace
}  // namespace strata::tools
