#include "image_options.h"

#include <fmt/format.h>

#include <string>

#include <ffkit/format/error.h>

namespace ffkit {

namespace {

constexpr const char* kGroup = "Pictures";
constexpr const char* kDctHelp =
    "dct: JPEGs in a code that is decoded about twice as fast and takes about 15 % more bytes; "
    "their files can be made again to the byte";

}  // namespace

void add_store_option(CLI::App& command, StoreAs& store) {
  command
      .add_option_function<std::string>(
          "--store", [&store](const std::string& name) { store = parse_store_as(name); },
          fmt::format("jpeg: pictures keep their bytes; {}", kDctHelp))
      ->check(CLI::IsMember({"jpeg", "dct"}))
      ->option_text("jpeg|dct")
      ->group(kGroup);
}

void add_exif_option(CLI::App& command, ExifUse& exif) {
  command
      .add_option_function<std::string>(
          "--exif", [&exif](const std::string& name) { exif = parse_exif_use(name); },
          "ignore: pixels as they are in the file, as torchvision takes them; apply: pictures that "
          "EXIF data turn or mirror are stored upright, encoded anew; DST/report.jsonl names them")
      ->check(CLI::IsMember({"apply", "ignore"}))
      ->option_text("apply|ignore")
      ->group(kGroup);
}

void add_image_options(CLI::App& command, ImageStorage& storage) {
  const std::string group = kGroup;
  command
      .add_option(
          "--max-resolution", storage.max_resolution,
          "Resizes pictures whose longer side has more than N pixels; others keep their bytes")
      ->option_text("N")
      ->group(group);
  command
      .add_option(
          "--short-side", storage.short_side,
          "Resizes pictures whose shorter side has more than N pixels; others keep their bytes")
      ->option_text("N")
      ->group(group);
  command
      .add_option("--jpeg-quality", storage.jpeg_quality,
                  "JPEG quality of pictures that are encoded anew; 1 .. 100")
      ->option_text("Q=90")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--store", [&storage](const std::string& name) { storage.store = parse_store_as(name); },
          fmt::format("jpeg: pictures keep their bytes, or become JPEG when resized; {}; raw: "
                      "pixels, which are large and need no decoding; smart: --raw-share of the "
                      "pictures as pixels, the others as JPEG",
                      kDctHelp))
      ->check(CLI::IsMember({"jpeg", "dct", "raw", "smart"}))
      ->option_text("jpeg|dct|raw|smart")
      ->group(group);
  command
      .add_option(
          "--raw-share", storage.raw_share,
          "With --store smart: the share of pictures stored as pixels, chosen with --seed; 0 .. 1")
      ->option_text("P=0.5")
      ->group(group);
  command
      .add_flag(
          "--fix-odd", storage.fix_odd,
          "Turns CMYK JPEGs, PNGs and everything else that is not a plain JPEG into RGB JPEGs; "
          "DST/report.jsonl names them")
      ->group(group);
  command
      .add_option_function<std::string>(
          "--check-images",
          [&storage](const std::string& name) { storage.check = parse_image_check(name); },
          "Check of each picture. header: its size and kind; decode: all of its pixels")
      ->check(CLI::IsMember({"header", "decode"}))
      ->option_text("header|decode")
      ->group(group);
}

void validate_image_options(const CLI::App& command, const ImageStorage& storage) {
  const auto given = [&command](const char* name) { return command.count(name) > 0; };
  const auto refuse = [&command](const std::string& reason) {
    throw CLI::ValidationError(command.get_name(), reason);
  };
  try {
    validate(storage);
  } catch (const Error& error) {
    refuse(error.text(OptionStyle::command_line));
  }
  if (given("--raw-share") && storage.store != StoreAs::smart) {
    refuse("--raw-share serves only --store smart");
  }
  if (storage.fix_odd && storage.store == StoreAs::raw) {
    refuse(
        "--fix-odd has nothing to do with --store raw, which stores the pixels of every picture");
  }
  if (given("--jpeg-quality") && !manifest_options(storage).contains("jpeg_quality")) {
    refuse(
        "--jpeg-quality serves only pictures that are re-encoded as JPEG; give --max-resolution, "
        "--short-side, --fix-odd or --exif apply as well");
  }
}

}  // namespace ffkit
