// The options of ffconvert that say how pictures are stored: the same for every kind of source that
// has some.
#pragma once

#include <CLI/CLI.hpp>

#include <ffkit/converter/image_storage.h>

namespace ffkit {

// Adds --max-resolution, --short-side, --jpeg-quality and so on; they write to `storage`, which
// must outlive `command`.
void add_image_options(CLI::App& command, ImageStorage& storage);
// Adds --store jpeg|dct alone, for what takes pictures as they are; it writes to `store`, which
// must outlive `command`.
void add_store_option(CLI::App& command, StoreAs& store);
// Adds --exif apply|ignore; it writes to `exif`, which must outlive `command`.
void add_exif_option(CLI::App& command, ExifUse& exif);
// Throws CLI::ValidationError where validate() would throw, and for an option that would change
// nothing.
void validate_image_options(const CLI::App& command, const ImageStorage& storage);

}  // namespace ffkit
