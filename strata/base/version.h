// The version of Strata. The build reads it from this file, too.
#pragma once

#define STRATA_VERSION "0.1.0"
