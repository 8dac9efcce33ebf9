// The answers, a function an address. Each throws Error for what is wrong with the request or the
// data; Site makes an answer of that. README.md lists their parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "draw/contact_sheet.h"
#include "http/message.h"
#include "serve/site.h"
#include "text/output.h"

namespace ffkit::serve {

http::Response json_response(const Json& json);
// Bytes that a browser may keep.
http::Response kept_response(std::string_view content_type, std::span<const std::byte> bytes);
// [{id, name}] of all classes; a class without a readable name has its identifier as name.
Json class_list(const Manifest& manifest);
// Adds class and class_name of a label; null for what there is not.
void add_class(const Manifest& manifest, int64_t label, Json& json);
// Null for what is no number.
Json number_or_null(double value);
// Adds boxes, joints and key points of a record, and what was found in it.
void add_marks(const ServedSplit& split, int64_t number, const RecordView& record,
               SheetEntry& entry);

// set_answers.cpp: the set, and choices of its records.
http::Response answer_set(SiteState& state, const http::Request& request);
http::Response answer_find(SiteState& state, const http::Request& request);
http::Response answer_rows(SiteState& state, const http::Request& request);
http::Response answer_histogram(SiteState& state, const http::Request& request);
http::Response answer_position(SiteState& state, const http::Request& request);
http::Response answer_list(SiteState& state, const http::Request& request);

// record_answers.cpp: one record.
http::Response answer_record(SiteState& state, const http::Request& request);
http::Response answer_tokens(SiteState& state, const http::Request& request);

// picture_answers.cpp: pictures of one record.
http::Response answer_thumbnail(SiteState& state, const http::Request& request);
http::Response answer_picture(SiteState& state, const http::Request& request);
http::Response answer_mask(SiteState& state, const http::Request& request);
http::Response answer_view(SiteState& state, const http::Request& request);
http::Response answer_view_facts(SiteState& state, const http::Request& request);

// scene_answers.cpp: keyframes of nuScenes.
http::Response answer_scenes(SiteState& state, const http::Request& request);
http::Response answer_camera(SiteState& state, const http::Request& request);
http::Response answer_above(SiteState& state, const http::Request& request);

// result_answers.cpp: what was found, and what is there twice.
http::Response answer_confusion(SiteState& state, const http::Request& request);
http::Response answer_duplicates(SiteState& state, const http::Request& request);
http::Response answer_duplicates_start(SiteState& state, const http::Request& request);

}  // namespace ffkit::serve
