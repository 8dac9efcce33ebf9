// Cameras of a scene view, with boxes drawn into them.
#pragma once

#include <string>
#include <vector>

#include "draw/canvas.h"
#include "scenes/scene_record.h"

namespace ffkit {

// Draws the camera's picture to `place`, its name above. Boxes of which some corner is seen are
// drawn into it, those far away first: the front face with a cross, the name where it covers no
// other one (the number of those without is above the picture), an arrow to where it is in one
// second; with dashes where less than 40 % can be seen or where it is behind another one of its
// kind. The name of a prediction stands below it. Adds the numbers of boxes to `counts`. Where the
// picture is missing or damaged there is a crossed box with the reason, which is returned; ""
// otherwise.
std::string draw_camera(Canvas& canvas, const Rect& place, const Keyframe& record,
                        const std::string& name, const std::vector<SeenBox>& boxes,
                        BoxCounts& counts);

}  // namespace ffkit
