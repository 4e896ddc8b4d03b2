// The transport between ranks of one process, through its memory: for simulated meshes. A rank may have a thread of its
// own, or one thread may drive all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "strata/mesh/transport.h"

namespace strata {

/// The table of the transport; its connect() fails, because memory_worlds() makes its worlds.
const StrataMeshTable& memory_table();
/// Connects `ranks` ranks of this process: a world for each, to be given to disconnect(). Any thread may use one, one
/// at a time. @pre ranks >= 1
std::vector<StrataMeshWorld*> memory_worlds(std::int32_t ranks);

}  // namespace strata
