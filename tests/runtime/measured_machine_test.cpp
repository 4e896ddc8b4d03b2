// The numbers of a machine: kept in the disk cache, and read back.
#include "strata/runtime/measured_machine.h"

#include <gtest/gtest.h>

#include "strata/base/flags.h"
#include "strata/codegen/lower.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/posix_io.h"

namespace strata {
namespace {

TEST(MeasuredMachine, IsKeptForItsVectors) {
  const PrivateFolder top;
  const ScopedFlag on(flags::DISK_CACHE, true);
  const ScopedFlag folder(flags::CACHE_DIR, top.file("cache"));
  EXPECT_EQ(measured_machine(64), nullptr);
  Machine m = machine_of(64);
  m.latency = 3.25;
  ASSERT_TRUE(keep_machine(m, 64));
  ASSERT_NE(measured_machine(64), nullptr);
  EXPECT_EQ(*measured_machine(64), m);
  EXPECT_EQ(measured_machine(32), nullptr);
  Target target;
  target.vector_bytes = 64;
  EXPECT_EQ(target.machine(), machine_of(64));
  target.measured = measured_machine(64);
  EXPECT_EQ(target.machine(), m);
}

TEST(MeasuredMachine, WithoutACacheThereIsNone) {
  const ScopedFlag off(flags::DISK_CACHE, false);
  EXPECT_FALSE(keep_machine(machine_of(64), 64));
  EXPECT_EQ(measured_machine(64), nullptr);
}

}  // namespace
}  // namespace strata
