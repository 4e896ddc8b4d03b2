// The version of Strata. The build reads it from here too.
#pragma once

#define STRATA_VERSION "0.1.0"
