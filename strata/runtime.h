// Devices, buffers, compiled kernels, the disk cache, and the executor with threads.
#pragma once

#include "strata/base/standard.h"

#include "strata/runtime/allocator.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/clang_program.h"
#include "strata/runtime/device.h"
#include "strata/runtime/disk_cache.h"
#include "strata/runtime/host_compiler.h"
#include "strata/runtime/program.h"
#include "strata/runtime/tbb_executor.h"
