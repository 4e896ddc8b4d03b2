// The readers of the kinds of a text in the box. Internal to box_*.cpp.
#pragma once

#include "tools/box_text.h"
#include "tools/view_text.h"

namespace strata::tools {

/// Whether `statement` begins as a View, a ShapeTracker or a shape does.
bool looks_like_view(std::string_view statement);
BoxView read_box_view(const ViewSource& source, std::string_view statement, Work& work);

/// Whether `statement` begins as a layout or a call of the layout algebra does.
bool looks_like_layout(std::string_view statement);
BoxLayout read_box_layout(const ViewSource& source, std::string_view statement, Work& work);

}  // namespace strata::tools
