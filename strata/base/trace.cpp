// The RewriteTraces of a thread: a stack, linked through outer_.
#include "strata/base/trace.h"

#include <utility>

namespace strata {

thread_local RewriteTrace* RewriteTrace::current_ = nullptr;

RewriteTrace::RewriteTrace(Sink sink) : sink_(std::move(sink)), outer_(current_) { current_ = this; }

RewriteTrace::~RewriteTrace() { current_ = outer_; }

}  // namespace strata
