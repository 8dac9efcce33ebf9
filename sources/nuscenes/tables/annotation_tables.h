// What nuScenes' tables say of boxes: category, instance, attribute, sample_annotation.
#pragma once

#include <filesystem>

#include "nuscenes/tables/tables.h"

namespace ffkit::nuscenes {

// Reads them into `tables`, whose samples must be there. Throws as read_tables().
void read_annotation_tables(const std::filesystem::path& folder, Tables& tables);

}  // namespace ffkit::nuscenes
