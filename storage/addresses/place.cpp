#include "addresses/place.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "addresses/url.h"
#include "base/make_error.h"
#include "base/printable.h"

namespace ffkit {
namespace {

namespace fs = std::filesystem;

struct SchemeForm {
  Scheme scheme;
  std::string_view start;
  std::string_view form;
};

constexpr std::array<SchemeForm, 6> kForms = {{
    {Scheme::s3, "s3://", "s3://BUCKET/PATH"},
    {Scheme::gs, "gs://", "gs://BUCKET/PATH"},
    {Scheme::https, "https://", "https://HOST[:PORT]/PATH"},
    {Scheme::http, "http://", "http://HOST[:PORT]/PATH"},
    {Scheme::hf, "hf://", "hf://datasets/OWNER/NAME[@REVISION]/PATH"},
    {Scheme::file, "file://", "file:///PATH"},
}};

const SchemeForm* known_form(std::string_view text) {
  return std::ranges::find_if(
      kForms, [&](const SchemeForm& form) { return begins_without_case(text, form.start); });
}

[[noreturn]] void refuse_address(std::string_view text, const std::string& why,
                                 std::string_view form) {
  throw Error(ErrorCode::invalid_argument, why,
              {.path = printable(shown_address(text)),
               .subject = ErrorSubject::argument,
               .remedy = fmt::format("write it as {}", form)});
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
  });
}

// Takes what stands before the next slash off `rest`.
std::string_view take_part(std::string_view& rest) {
  const size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

// Servers and clients resolve them, each in its own way.
bool has_dot_part(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = take_part(path);
    if (part == "." || part == "..") return true;
  }
  return false;
}

Address parse_hf(std::string_view text, std::string_view rest, std::string_view form) {
  if (take_part(rest) != "datasets") {
    refuse_address(text, "is no address of a data set of the Hugging Face hub", form);
  }
  Address address{.scheme = Scheme::hf, .place = {}, .path = {}, .query = {}, .revision = "main"};
  const std::string_view owner = take_part(rest);
  std::string_view name = take_part(rest);
  if (const size_t at = name.find('@'); at != std::string_view::npos) {
    address.revision = percent_decoded(name.substr(at + 1));
    name = name.substr(0, at);
    // refs/convert/parquet and refs/pr/1 are the revisions that have slashes.
    if (address.revision == "refs") {
      for (int i = 0; i < 2 && !rest.empty(); ++i) {
        address.revision.append("/").append(take_part(rest));
      }
    }
    if (address.revision.empty()) refuse_address(text, "has no revision behind its '@'", form);
  }
  if (!is_name(owner) || !is_name(name)) {
    refuse_address(text, "has no owner and name of a data set", form);
  }
  address.place.append(owner).append("/").append(name);
  address.path = rest;
  return address;
}

constexpr std::string_view kOnDisk = "file://";

}  // namespace

std::string_view start_of_address(std::string_view text) {
  const auto* known = known_form(text);
  return known == kForms.end() ? std::string_view() : known->start;
}

Address parse_address(std::string_view text) {
  const auto* known = known_form(text);
  if (known == kForms.end()) {
    throw Error(ErrorCode::invalid_argument, "is no address",
                {.path = printable(shown_address(text)),
                 .subject = ErrorSubject::argument,
                 .remedy = "begin it with s3://, gs://, https://, http://, hf:// or file://"});
  }
  std::string_view rest = text.substr(known->start.size());
  if (text.find('\0') != std::string_view::npos) {
    refuse_address(text, "has a zero byte in it", known->form);
  }
  Address address{.scheme = known->scheme, .place = {}, .path = {}, .query = {}, .revision = {}};
  if (known->scheme == Scheme::https || known->scheme == Scheme::http) {
    Url url = parse_url(text, "the address");
    address.place = std::move(url.host);
    address.path = url.path.substr(1);
    address.query = std::move(url.query);
    return address;
  }
  if (known->scheme == Scheme::file) {
    if (rest.starts_with("localhost/")) rest.remove_prefix(9);
    if (!rest.starts_with('/')) {
      refuse_address(text, "has the name of a host before its path", known->form);
    }
    address.path = rest;
    return address;
  }
  if (known->scheme == Scheme::hf) {
    address = parse_hf(text, rest, known->form);
  } else {
    const std::string_view bucket = take_part(rest);
    if (bucket.empty()) refuse_address(text, "names no bucket", known->form);
    if (!is_name(bucket)) {
      refuse_address(text,
                     fmt::format("has '{}' where its bucket's name should be, which has "
                                 "letters, digits, '-', '.' and '_' alone",
                                 printable(bucket)),
                     known->form);
    }
    address.place = bucket;
    address.path = rest;
  }
  if (has_dot_part(address.path)) {
    refuse_address(text, "has '.' or '..' between slashes, which servers resolve differently",
                   known->form);
  }
  return address;
}

std::string text_of(const Address& address) {
  const auto* known =
      std::ranges::find_if(kForms, [&](const SchemeForm& f) { return f.scheme == address.scheme; });
  std::string text(known->start);
  if (address.scheme == Scheme::file) return text + address.path;
  if (address.scheme == Scheme::hf) text += "datasets/";
  text += address.place;
  if (address.scheme == Scheme::hf && address.revision != "main") {
    // A revision with slashes is kept together by their encoding.
    text += "@" + percent_encoded(address.revision);
  }
  if (!address.path.empty() || address.scheme != Scheme::hf) text += "/" + address.path;
  if (!address.query.empty()) text += "?" + address.query;
  return text;
}

std::string shown_address(std::string_view text) {
  const bool is_url = begins_without_case(text, "https://") || begins_without_case(text, "http://");
  return is_url ? shown_url(text) : std::string(text);
}

Place::Place(const fs::path& path) : path_(path) {
  const std::string_view text = path.native();
  const std::string_view start = start_of_address(text);
  is_in_store_ = !start.empty() && text.size() > start.size();
  if (is_in_store_ && !text.starts_with(start)) {
    path_ = std::string(start).append(text.substr(start.size()));
  }
}

bool Place::is_on_disk() const {
  return !is_in_store_ || address().starts_with(kOnDisk);
}

fs::path Place::path_on_disk() const {
  return is_in_store_ && is_on_disk() ? fs::path(address().substr(kOnDisk.size())) : path_;
}

Place Place::child(const std::string& name) const {
  if (name.empty()) return *this;
  Place below = *this;
  below.path_ /= name;
  return below;
}

std::string Place::shown() const {
  return is_on_disk() ? path_on_disk().string() : shown_address(address());
}

Place Place::in_store() const {
  std::string text = is_in_store_
                         ? address()
                         : std::string(kOnDisk) + fs::absolute(path_).lexically_normal().string();
  while (text.ends_with('/') && !text.ends_with("://")) text.pop_back();
  return text;
}

}  // namespace ffkit
