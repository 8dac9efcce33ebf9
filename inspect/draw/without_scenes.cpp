// Keyframes of nuScenes in a build without their source.
#include "base/left_out.h"
#include "draw/own_sheets.h"

namespace ffkit {

void write_scene_sheet(const Dataset&, int64_t, const SceneSheet&) {
  require_built("source", "nuscenes");
}

}  // namespace ffkit
