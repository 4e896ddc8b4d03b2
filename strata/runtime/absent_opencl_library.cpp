// In place of opencl_library.cpp where OpenCL's headers are not to be had.
#include "strata/base/check.h"
#include "strata/runtime/opencl_library.h"

namespace strata {

std::unique_ptr<const OpenClLibrary> OpenClLibrary::open(const char*) {
  throw Error(ErrorKind::undefined, "[opencl] Strata was built without OpenCL's headers: " + remedy().text());
}

std::vector<OpenClPlatform> OpenClLibrary::platforms(const char*) {
  open();
  return {};
}

Remedy OpenClLibrary::remedy() { return {"ocl-icd-opencl-dev", true}; }

const OpenClLibrary& OpenClLibrary::shared() {
  open();
  throw InternalError("[opencl] there is no library");
}

}  // namespace strata
