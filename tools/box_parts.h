// The readers of views and layouts, which read_box() (box_text.h) calls. Internal to box_*.cpp.
#pragma once

#include "tools/box_text.h"
#include "tools/view_text.h"

namespace strata::tools {

/// Whether `statement` begins like a View, a ShapeTracker or a shape.
bool looks_like_view(std::string_view statement);
BoxView read_box_view(const ViewSource& source, std::string_view statement, Work& work);

/// Whether `statement` begins like a layout or a call of the layout algebra.
bool looks_like_layout(std::string_view statement);
BoxLayout read_box_layout(const ViewSource& source, std::string_view statement, Work& work);

}  // namespace strata::tools
