// ffinspect view: a contact sheet of some samples.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include <nlohmann/json.hpp>

#include <ffkit/image/image_options.h>

#include "base/make_error.h"
#include "base/printable.h"
#include "commands.h"
#include "data/data_sets.h"
#include "draw/contact_sheet.h"
#include "draw/own_sheets.h"
#include "text/output.h"
#include "tools/common/output_file.h"
#include "views/record_views.h"

namespace ffkit {
namespace {

constexpr const char* kViewFooter =
    R"(Under each picture are the number of its record, its label, its class and the readable name of the class. A picture
that cannot be decoded is drawn as a crossed box with the reason in it. Boxes and joints of a set made from COCO are drawn into its pictures. --record N
--size 1024 shows one large picture.

With --json: one document with split, field, output, width, height, samples: [record, label, class, class_name,
  problem], where problem says why a picture cannot be shown; num_boxes and num_joints too, where records have them.
With --json and --record of nuScenes: split, record, token, scene, num_boxes, num_boxes_drawn (in camera images), problems, output,
  width, height; with --results also num_predictions, num_predictions_drawn.
For nuScenes, --size is the width of one camera's image; default: 640. With --results, annotations are green and predictions magenta.
With --results of classes, the predicted class and its score are under each picture; --json has found_class and score.
With --results of persons, each picture is the crop of one person, with the true root in green and the found root in magenta; --json has root, found_root and
distance of each person.

With --transform or --config, the pictures are those that a Loader over the whole split gives the network for --draw-seed and the epochs 0 .. --draws - 1, as bytes that are not
normalised, scaled to fit --size. Masks (--mask), boxes and key points have the same geometry. With --json, samples have views: a list of [view, copy, epoch, width,
height, geometry, num_boxes, problem], where geometry is the 3 x 3 matrix from pixels of the picture to those of the view, and num_boxes counts the boxes that are kept.
Steps of geometry are done first, in their order, then augmentations, then RandomErasing. A TEXT has these transforms, with the names, parameters and defaults of Python's ffkit:
)";

// What --help says below the options.
std::string view_footer() {
  std::string footer = kViewFooter;
  for (const std::string& signature : transform_signatures()) {
    footer += "\n  ";
    footer += signature;
  }
  return footer;
}

struct ViewOptions {
  Target target;
  int64_t count = 24;
  std::optional<int64_t> record;
  std::optional<uint64_t> seed;
  std::string field;
  std::string mask;
  std::string output;
  SheetOptions sheet;
  bool size_is_given = false;
  std::string results;
  bool wrong = false;
  double min_score = 0.3;
  bool min_score_is_given = false;
  std::vector<std::string> transforms;
  std::string config;  // of a run, whose transforms stand for --transform
  int64_t draws = 1;
  uint64_t draw_seed = 0;
  bool columns_are_given = false;
};

// `count` different numbers below `total`, in order: spread evenly, or drawn with a seed. The same
// everywhere: the generator and the way to draw from it (Floyd's) are fixed.
std::vector<int64_t> draw_records(int64_t total, int64_t count, std::optional<uint64_t> seed) {
  std::vector<int64_t> records;
  if (!seed) {
    for (int64_t i = 0; i < count; ++i) {
      records.push_back(total / count * i + total % count * i / count);
    }
    return records;
  }
  std::mt19937_64 random(*seed);
  std::set<int64_t> drawn;
  for (int64_t last = total - count; last < total; ++last) {
    const auto range = static_cast<uint64_t>(last) + 1;
    const uint64_t limit = std::numeric_limits<uint64_t>::max() / range * range;
    uint64_t bits = random();
    while (bits >= limit) bits = random();  // or small numbers would come more often
    const auto candidate = static_cast<int64_t>(bits % range);
    if (!drawn.insert(candidate).second) drawn.insert(last);
  }
  records.assign(drawn.begin(), drawn.end());
  return records;
}

size_t find_image_field(const Dataset& dataset, const std::string& wanted) {
  const Schema& schema = dataset.schema();
  if (!wanted.empty()) {
    const size_t i = schema.require(wanted);
    const FieldType type = schema.fields[i].type;
    if (type == FieldType::image || type == FieldType::bytes) return i;
    throw error_at(dataset.path(), ErrorCode::invalid_argument,
                   "field '{}' has no pictures; its type is {}", wanted, to_string(type));
  }
  const auto found = std::ranges::find(schema.fields, FieldType::image, &Field::type);
  if (found == schema.fields.end()) {
    throw error_at(dataset.path(), ErrorCode::invalid_argument, "has no field of type image");
  }
  return static_cast<size_t>(found - schema.fields.begin());
}

// The position in `dataset`, which may be a choice of its split's records, of the record with this
// number in the split.
int64_t find_record(const Dataset& dataset, int64_t number) {
  if (!dataset.is_subset() && number < dataset.num_records()) return number;
  for (int64_t i = 0; dataset.is_subset() && i < dataset.num_records(); ++i) {
    if (dataset.index_in_split(i) == number) return i;
  }
  const std::string problem =
      dataset.is_subset() ? fmt::format("record {} is not chosen by --where and --indices", number)
                          : fmt::format("has {} records, from number 0; there is no record {}",
                                        dataset.num_records(), number);
  throw error_at(dataset.path(), ErrorCode::invalid_argument, problem);
}

// Reads the record; what is wrong with it becomes the entry's problem.
SheetEntry make_entry(const Dataset& dataset, int64_t index, size_t image_field,
                      std::optional<size_t> mask_field, Json& json) {
  SheetEntry entry;
  const int64_t number = dataset.index_in_split(index);
  entry.lines.push_back(fmt::format("#{}", number));
  json = {{"record", number}, {"label", nullptr}, {"class", nullptr}, {"class_name", nullptr}};
  try {
    std::vector<std::byte> bytes;
    dataset.read(index, bytes);
    const RecordView record(dataset.schema(), bytes, dataset.name(index));
    if (const auto label = label_of(dataset.schema(), record); label) {
      const std::string name = class_of(dataset.manifest(), *label);
      const std::string readable = class_name_of(dataset.manifest(), *label);
      json.update({{"label", *label}, {"class", name}, {"class_name", readable}});
      entry.lines.back() += fmt::format("  {} {}", *label, name);
      if (!readable.empty() && readable != name) entry.lines.push_back(readable);
    }
    const auto image = record.bytes(image_field);
    entry.image.assign(image.begin(), image.end());
    if (mask_field) {
      if (record.is_null(*mask_field)) {
        entry.lines.emplace_back("no mask");
      } else {
        const auto mask = record.bytes(*mask_field);
        entry.mask.assign(mask.begin(), mask.end());
      }
    }
    if (dataset.schema().index_of("boxes") >= 0) {
      entry.boxes = marked_boxes(dataset, record);
      json["num_boxes"] = entry.boxes.size();
    }
    if (dataset.schema().index_of("joints") >= 0) {
      entry.points = marked_joints(dataset.schema(), record);
      json["num_joints"] = entry.points.size();
    }
  } catch (const Error& error) {
    entry.problem = error.text(OptionStyle::command_line);
  }
  return entry;
}

// Of the records of `dataset`, the positions of the `count` most confident mistakes.
std::vector<int64_t> most_wrong(const Dataset& dataset, const ClassResults& results,
                                int64_t count) {
  std::map<int64_t, int64_t> positions;  // of records of the split
  for (int64_t i = 0; i < dataset.num_records(); ++i) positions[dataset.index_in_split(i)] = i;
  std::vector<int64_t> out;
  for (const int64_t record : results.wrong()) {
    const auto found = positions.find(record);
    if (found != positions.end() && std::ssize(out) < count) out.push_back(found->second);
  }
  return out;
}

// The option that asks for views; empty without one.
std::string views_option(const ViewOptions& options) {
  if (!options.config.empty()) return "--config";
  return options.transforms.empty() ? "" : "--transform";
}

// Refuses what would be without effect beside views, and what is without effect without them.
void check_beside_views(const ViewOptions& options, const CLI::App& command) {
  const std::string views = views_option(options);
  if (!views.empty() && !options.results.empty()) {
    throw CLI::ValidationError(
        "--results", "results are drawn into whole pictures only; leave it out, or " + views);
  }
  for (const char* name : {"--draws", "--draw-seed"}) {
    if (views.empty() && command.count(name) > 0) {
      throw CLI::RequiresError(name, "--transform or --config");
    }
  }
}

// What --transform or --config asks for; nothing without them.
std::optional<ViewRequest> view_request(const ViewOptions& options, const Schema& schema,
                                        size_t image_field) {
  if (views_option(options).empty()) return std::nullopt;
  const std::string& field = schema.fields[image_field].name;
  return ViewRequest{
      .image_field = field,
      .mask_field = options.mask,
      .wanted = parse_view_texts(
          options.config.empty() ? options.transforms
                                 : std::vector<std::string>{shown_transform_of_run(options.config)},
          field),
      .seed = options.draw_seed,
      .num_epochs = options.draws};
}

std::string title_of_views(const ViewRequest& request) {
  return request.num_epochs == 1 ? fmt::format("; views of epoch 0, seed {}", request.seed)
                                 : fmt::format("; views of epochs 0 to {}, seed {}",
                                               request.num_epochs - 1, request.seed);
}

int view(const ViewOptions& options) {
  require_picture_output(options.output, options.target.json);
  const Dataset dataset = open_one_split(options.target);
  std::vector<std::filesystem::path> inputs = input_files(dataset, options.target);
  if (!options.results.empty()) inputs.emplace_back(options.results);
  if (!options.config.empty()) inputs.emplace_back(options.config);
  require_no_input(options.output, inputs);
  std::optional<int64_t> chosen;
  if (options.record) chosen = find_record(dataset, *options.record);
  if (chosen && options.field.empty() && has_scenes(dataset.schema())) {
    if (const std::string views_by = views_option(options); !views_by.empty()) {
      throw CLI::ValidationError(views_by,
                                 "shows views of one picture, and a keyframe of nuScenes has "
                                 "several; choose one with --field");
    }
    if (!options.mask.empty()) {
      throw CLI::ValidationError("--mask", "keyframes of nuScenes have no masks; leave it out");
    }
    SceneSheet scene = {.output = options.output,
                        .results = options.results,
                        .min_score = options.min_score,
                        .json = options.target.json};
    if (options.size_is_given) scene.camera_width = std::clamp(options.sheet.size, 160, 1600);
    write_scene_sheet(dataset, *chosen, scene);
    return 0;
  }
  std::unique_ptr<PersonResults> roots;
  std::optional<ClassResults> classes;
  if (!options.results.empty() && ClassResults::can_be(options.results)) {
    classes.emplace(dataset.whole_split(), options.results);
    if (const std::string note = classes->disagreement(); !note.empty()) {
      fmt::print(stderr, "ffinspect: warning: {}: {}\n", options.results, note);
    }
  } else if (options.wrong) {
    throw error_at(options.results, ErrorCode::invalid_argument,
                   "has no predicted classes; each line needs record, class and score");
  } else if (!options.results.empty()) {
    if (!has_roots(dataset.schema()) || !options.field.empty()) {
      throw error_at(
          dataset.path(), ErrorCode::invalid_argument,
          "results can be drawn into one keyframe of nuScenes, or into a split of persons; give "
          "--record for a nuScenes split, and leave out --field");
    }
    if (options.min_score_is_given) {
      throw CLI::ValidationError("--min-score",
                                 "has no effect on a split of persons; leave it out");
    }
    roots = read_person_results(dataset.whole_split(), options.results);
  }
  const size_t image_field = find_image_field(dataset, options.field);
  const std::vector<int64_t> records =
      chosen          ? std::vector<int64_t>{*chosen}
      : options.wrong ? most_wrong(dataset, *classes, options.count)
                      : draw_records(dataset.num_records(),
                                     std::min(options.count, dataset.num_records()), options.seed);
  if (records.empty() && options.wrong) {
    throw error_at(options.results, ErrorCode::invalid_argument,
                   "has no picture with a wrong predicted class; leave out --wrong");
  }
  if (records.empty()) {
    throw error_at(dataset.path(), ErrorCode::invalid_argument, "has no records");
  }
  std::optional<size_t> mask_field;
  if (!options.mask.empty()) mask_field = find_image_field(dataset, options.mask);
  const std::optional<ViewRequest> views = view_request(options, dataset.schema(), image_field);
  SheetOptions sheet = options.sheet;
  if (views) sheet.columns = columns_of_views(*views, sheet.columns, options.columns_are_given);
  std::vector<SheetEntry> entries;
  std::vector<Json> samples(records.size());
  for (size_t i = 0; i < records.size(); ++i) {
    entries.push_back(make_entry(dataset, records[i], image_field, mask_field, samples[i]));
    if (roots) roots->add(dataset.index_in_split(records[i]), entries.back(), samples[i]);
    if (classes) classes->add(dataset.index_in_split(records[i]), entries.back(), samples[i]);
  }
  const std::string title =
      fmt::format("{}: {} of {} records{}", dataset.manifest().split,
                  with_commas(std::ssize(records)), with_commas(dataset.num_records()),
                  views           ? title_of_views(*views)
                  : roots         ? "; true roots green, found ones magenta"
                  : options.wrong ? "; the most confident mistakes first"
                                  : "");
  if (views) {
    check_sheet_size(title, std::ssize(records) * views->num_pictures(), sheet);
    show_views(dataset, records, *views, entries, samples);
  }
  const Canvas canvas = make_contact_sheet(title, entries, sheet);
  write_output(options.output, encode_png(canvas.view()));
  if (options.target.json) {
    // Of a record's pictures, the first problem.
    const size_t num_pictures = entries.size() / records.size();
    for (size_t i = entries.size(); i-- > 0;) {
      Json& problem = samples[i / num_pictures]["problem"];
      if (!entries[i].problem.empty()) problem = entries[i].problem;
    }
    print_json({{"split", dataset.manifest().split},
                {"field", dataset.schema().fields[image_field].name},
                {"output", options.output},
                {"width", canvas.width()},
                {"height", canvas.height()},
                {"samples", samples}});
  }
  return 0;
}

}  // namespace

void add_view_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ViewOptions>();
  CLI::App* command = add_command(
      app, "view", "Draws some records, with their numbers, labels and classes, into one PNG file",
      options->target, view_footer());
  command
      ->add_option("--count", options->count,
                   "Number of records to draw, which are spread evenly over the split")
      ->check(CLI::Range(1, 2'000))
      ->capture_default_str();
  command
      ->add_option("--record", options->record,
                   "Draws only this record. For nuScenes, the picture shows all cameras with "
                   "boxes, and the scene from above")
      ->option_text("N")
      ->check(CLI::NonNegativeNumber);
  CLI::Option* results =
      command
          ->add_option(
              "--results", options->results,
              "Results to draw beside the truth. These are classes of pictures as fftrain writes "
              "them (.jsonl), roots of persons as 'fftrain --task rootnet' writes them, or, with "
              "--record, detections in the official JSON format of nuScenes")
          ->option_text("FILE");
  command
      ->add_flag("--wrong", options->wrong,
                 "Draws only the mistakes in predicted classes of --results. The mistakes with the "
                 "highest scores come first")
      ->needs(results);
  command
      ->add_option("--min-score", options->min_score,
                   "Lowest score that a detection must have to be drawn")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str()
      ->needs(results);
  command->add_option("--seed", options->seed, "Chooses the records at random, with this seed")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--field", options->field,
                   "Field with the pictures. The default is the first field of type image")
      ->option_text("NAME");
  command
      ->add_option("--mask", options->mask,
                   "Field with masks (PNG files of numbers) that are drawn over the pictures, in "
                   "the colours of VOC. The number 0 is transparent")
      ->option_text("NAME");
  CLI::Option* transform =
      command
          ->add_option("--transform", options->transforms,
                       "Shows each picture after these transforms, as the network sees the "
                       "picture. An example is \"RandomResizedCrop(224, scale=(0.4, 1)), "
                       "ColorJitter(0.4)\". With \"global*2: ...\", the view has the name 'global' "
                       "and two copies. Views with names may be given several times")
          ->option_text("TEXT")
          ->allow_extra_args(false);
  command
      ->add_option(
          "--config", options->config,
          "File config.toml of a run of fftrain, with transforms to use instead of --transform")
      ->option_text("FILE")
      ->excludes(transform);
  command
      ->add_option("--draws", options->draws,
                   "Number of epochs for which each view is drawn, side by side")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--draw-seed", options->draw_seed,
                   "Seed of the loader, which determines all random numbers of the transforms")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--columns", options->sheet.columns, "Number of pictures in a row of the sheet")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--size", options->sheet.size,
                   "Largest width and height of a picture in the sheet, in pixels")
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  add_picture_output(*command, options->output);
  add_choice_options(*command, options->target);
  command->callback([options, command, &action] {
    options->size_is_given = command->count("--size") > 0;
    options->min_score_is_given = command->count("--min-score") > 0;
    options->columns_are_given = command->count("--columns") > 0;
    check_beside_views(*options, *command);
    action = [options] { return view(*options); };
  });
}

}  // namespace ffkit
