#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include <ffkit/base/enum_names.h>
#include <ffkit/image/exif.h>
#include <ffkit/image/image_codec.h>
#include <ffkit/text/token_data.h>

#include "base/make_error.h"
#include "data/data_sets.h"
#include "serve/served_set.h"
#include "serve/site.h"
#include "text/output.h"

namespace ffkit::serve {
namespace {

constexpr int64_t kMaxValues = 1000;  // numbers of a tensor, items of a list
constexpr int64_t kMaxTokens = 2000;

// Fields of one record. Of a damaged one those are there that are whole by themselves.
class FieldReader {
 public:
  FieldReader(const ServedSplit& split, int64_t number) : split_(split), number_(number) {
    try {
      split.whole().read(number, bytes_);
      record_.emplace(split.schema(), bytes_, split.whole().name(number));
    } catch (const Error& error) {
      problem_ = error.text(OptionStyle::command_line);
    }
  }
  // Why the record cannot be read; else empty.
  const std::string& problem() const { return problem_; }
  // Null where it cannot be read.
  const RecordView* record() const { return record_ ? &*record_ : nullptr; }
  // Lives until the next call. Throws what reading it throws.
  FieldView field(size_t i) {
    if (record_) return record_->field(i);
    const bool is_there = split_.whole().read_field(number_, i, bytes_);
    return FieldView(split_.schema().fields[i], bytes_, !is_there, split_.whole().name(number_));
  }

 private:
  const ServedSplit& split_;
  int64_t number_;
  std::vector<std::byte> bytes_;
  std::optional<RecordView> record_;
  std::string problem_;
};

// Numbers of tensors of up to kMaxValues.
Detail detail_of(const Field& field, const FieldView& view) {
  if (field.type != FieldType::tensor || view.is_null()) return Detail::sizes;
  int64_t count = 1;
  for (const int64_t side : view.tensor().shape) count *= side;
  return count <= kMaxValues ? Detail::values : Detail::sizes;
}

Json field_entry(const Field& field, FieldReader& reader, size_t i) {
  Json json = {{"name", field.name}, {"type", to_string(field.type)}};
  try {
    const FieldView view = reader.field(i);
    json["text"] = field_text(field, view, kMaxValues);
    json["value"] = field_json(field, view, detail_of(field, view));
    const int64_t left_out = std::ssize(json["value"]) - kMaxValues;
    if (json["value"].is_array() && left_out > 0) {
      json["value"].erase(json["value"].begin() + kMaxValues, json["value"].end());
      json["num_left_out"] = left_out;
    }
  } catch (const Error& error) {
    json["problem"] = error.text(OptionStyle::command_line);
  }
  return json;
}

Json picture_entry(const Field& field, FieldReader& reader, size_t i) {
  Json json = {{"field", field.name}, {"encoding", nullptr}, {"width", nullptr},
               {"height", nullptr},   {"num_bytes", 0},      {"exif", Json::object()},
               {"problem", nullptr}};
  try {
    const FieldView view = reader.field(i);
    if (view.is_null()) {
      json["problem"] = "there is no picture in this record (null)";
      return json;
    }
    const auto image = view.bytes();
    json["num_bytes"] = image.size();
    json["encoding"] = to_string(detect_image_encoding(image));
    const ImageInfo info = read_image_info(image);
    json["width"] = info.width;
    json["height"] = info.height;
    json["orientation"] = exif_orientation(image);
    const ExifTags tags = exif_tags(image);
    for (const auto& [name, value] : tags.known) json["exif"][name] = value;
    if (tags.has_place) json["exif"]["GPS"] = "says where it was taken";
    if (tags.num_others > 0) json["exif"]["other tags"] = fmt::to_string(tags.num_others);
  } catch (const Error& error) {
    json["problem"] = error.text(OptionStyle::command_line);
  }
  return json;
}

Json box_list(const std::vector<SheetBox>& boxes) {
  Json list = Json::array();
  for (const SheetBox& box : boxes) {
    list.push_back({{"x", box.x},
                    {"y", box.y},
                    {"width", box.width},
                    {"height", box.height},
                    {"label", box.class_number},
                    {"name", box.name},
                    {"is_found", box.is_prediction}});
  }
  return list;
}

constexpr EnumName<SheetPoint::Kind> kPointNames[] = {{SheetPoint::Kind::joint, "joint"},
                                                      {SheetPoint::Kind::hidden_joint, "hidden"},
                                                      {SheetPoint::Kind::true_root, "true root"},
                                                      {SheetPoint::Kind::found_root, "found root"}};

Json point_list(const std::vector<SheetPoint>& points) {
  Json list = Json::array();
  for (const SheetPoint& point : points) {
    list.push_back({{"x", point.x},
                    {"y", point.y},
                    {"visible", point.kind != SheetPoint::Kind::hidden_joint},
                    {"kind", name_of(kPointNames, point.kind)}});
  }
  return list;
}

Json finding_json(const Finding& finding, const std::string& file) {
  return {{"found", finding.found < 0 ? Json() : Json(finding.found)},
          {"found_name", finding.found_name},
          {"file", file},
          {"is_right", finding.is_right ? Json(*finding.is_right) : Json()},
          {"score", number_or_null(finding.score)},
          {"loss", number_or_null(finding.loss)},
          {"error", number_or_null(finding.error)}};
}

// The other records of its group.
Json duplicates_of(SiteState& state, const ServedSplit& split, int64_t record) {
  Json list = Json::array();
  const auto duplicates = state.duplicates();
  if (!duplicates) return list;
  const auto& splits = duplicates->splits();
  const auto at = std::ranges::find(splits, split.name(), &DuplicateSplit::name) - splits.begin();
  const int own = static_cast<int>(at);
  const auto group = duplicates->group_of(own, record);
  if (!group) return list;
  for (const DuplicateRecord& other : duplicates->groups()[static_cast<size_t>(*group)].records) {
    if (other.split == own && other.record == record) continue;
    list.push_back({{"split", duplicates->splits()[static_cast<size_t>(other.split)].name},
                    {"record", other.record},
                    {"group", *group},
                    {"exact", other.exact},
                    {"distance", other.distance}});
  }
  return list;
}

}  // namespace

http::Response answer_record(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  const int64_t number = ServedSet::record_of(split, request);
  const Dataset& dataset = split.whole();
  const Schema& schema = split.schema();
  FieldReader reader(split, number);
  Json json = {{"split", split.name()}, {"record", number}, {"id", nullptr},
               {"label", nullptr},      {"class", nullptr}, {"class_name", nullptr},
               {"problem", nullptr}};
  const auto add_label = [&](int64_t label) {
    json["label"] = label;
    add_class(dataset.manifest(), label, json);
  };
  if (const RecordView* record = reader.record()) {
    const auto id = static_cast<size_t>(split.id_field());
    if (split.id_field() >= 0 && !record->is_null(id)) json["id"] = record->string(id);
    if (const auto label = label_of(schema, *record)) add_label(*label);
    const Dataset::Location place = dataset.locate(number);
    json["num_bytes"] = place.record.stored_bytes;
    json["shard"] = dataset.shard(place.shard_index).path().filename().string();
    json["offset"] = place.record.offset;
  } else {
    json["problem"] = reader.problem();
    if (split.id_field() >= 0) {
      const Field& id = schema.fields[static_cast<size_t>(split.id_field())];
      json["id"] = value_json(*split.columns().get(id.name), number);
    }
    if (split.has_labels()) add_label(label_in(*split.columns().get("label"), number));
  }
  json["fields"] = Json::array();
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    json["fields"].push_back(field_entry(schema.fields[i], reader, i));
  }
  json["pictures"] = Json::array();
  for (const size_t i : split.picture_fields()) {
    json["pictures"].push_back(picture_entry(schema.fields[i], reader, i));
  }
  SheetEntry entry;
  if (reader.record() != nullptr) add_marks(split, number, *reader.record(), entry);
  json["results"] = Json::array();
  json["crop"] = nullptr;
  for (const auto& [findings, file] : {std::pair(split.findings, state.set.results_file),
                                       std::pair(split.others, state.set.others_file)}) {
    const auto finding = findings ? findings->find(number) : std::nullopt;
    if (finding) json["results"].push_back(finding_json(*finding, file));
  }
  json["result"] = json["results"].empty() ? Json() : json["results"][0];
  if (entry.crop) json["crop"] = box_list({*entry.crop})[0];
  json["boxes"] = box_list(entry.boxes);
  json["joints"] = point_list(entry.points);
  json["duplicates"] = duplicates_of(state, split, number);
  return json_response(json);
}

http::Response answer_tokens(SiteState& state, const http::Request& request) {
  const ServedSplit& split = state.set.split_of(request);
  if (split.kind() != "tokens") {
    throw error_of(ErrorCode::invalid_argument, "the records of the split '{}' are not tokens",
                   split.name());
  }
  const int64_t number = ServedSet::record_of(split, request);
  const int64_t from = request.number("from", 0, 0, std::numeric_limits<int64_t>::max());
  std::vector<std::byte> bytes;
  split.whole().read(number, bytes);
  const RecordView record(split.schema(), bytes, split.whole().name(number));
  const text::TokenBlock block(record, split.schema());
  int64_t end = std::min(block.num_tokens(), from + std::min(kMaxTokens, block.num_tokens()));
  Json json = {{"num_tokens", block.num_tokens()},
               {"num_documents", block.num_documents()},
               {"from", from},
               {"tokens", Json::array()},
               {"documents", Json::array()},
               {"problem", nullptr}};
  // A data set of tokens need not have its tokenizer.
  const text::Tokenizer* tokenizer = nullptr;
  try {
    tokenizer = &state.tokenizer();
  } catch (const Error& error) {
    json["problem"] = error.text(OptionStyle::command_line);
  }
  std::vector<uint32_t> ids;
  for (int64_t i = from; i < end; ++i) {
    ids.push_back(block.dtype() == DType::u16 ? static_cast<const uint16_t*>(block.tokens())[i]
                                              : static_cast<const uint32_t*>(block.tokens())[i]);
  }
  // A token may be a part of a character: several are one piece.
  std::vector<TokenPiece> pieces;
  if (tokenizer != nullptr) {
    pieces = token_pieces(ids, *tokenizer);
  } else {
    pieces.resize(ids.size(), {.text = "", .num_tokens = 1});
  }
  // A character that goes on behind the end comes with what follows.
  if (end < block.num_tokens() && pieces.size() > 1) pieces.pop_back();
  int64_t at = from;
  for (const TokenPiece& piece : pieces) {
    const auto first = ids.begin() + (at - from);
    json["tokens"].push_back({{"text", tokenizer != nullptr ? Json(piece.text) : Json()},
                              {"ids", std::vector(first, first + piece.num_tokens)}});
    at += piece.num_tokens;
  }
  end = at;
  json["to"] = end;
  for (int64_t d = 0; d < block.num_documents(); ++d) {
    const int64_t begin = block.begin(d);
    if (begin >= from && begin < end) json["documents"].push_back(begin);
  }
  return json_response(json);
}

}  // namespace ffkit::serve
