#include "addresses/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "addresses/signatures.h"
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

// The first of a scheme is its own; others are names that other programs have for it.
constexpr std::array<SchemeForm, 12> kForms = {{
    {Scheme::s3, "s3://", "s3://BUCKET/PATH"},
    {Scheme::s3, "s3a://", "s3://BUCKET/PATH"},
    {Scheme::r2, "r2://", "r2://BUCKET/PATH"},
    {Scheme::gs, "gs://", "gs://BUCKET/PATH"},
    {Scheme::gs, "gcs://", "gs://BUCKET/PATH"},
    {Scheme::az, "az://", "az://ACCOUNT/CONTAINER/PATH"},
    {Scheme::az, "abfs://", "az://ACCOUNT/CONTAINER/PATH"},
    {Scheme::az, "abfss://", "az://ACCOUNT/CONTAINER/PATH"},
    {Scheme::https, "https://", "https://HOST[:PORT]/PATH"},
    {Scheme::http, "http://", "http://HOST[:PORT]/PATH"},
    {Scheme::hf, "hf://", "hf://datasets/OWNER/NAME[@REVISION]/PATH"},
    {Scheme::file, "file://", "file:///PATH"},
}};

const SchemeForm* known_form(std::string_view text) {
  return std::ranges::find_if(
      kForms, [&](const SchemeForm& form) { return begins_without_case(text, form.start); });
}

bool is_url(std::string_view text) {
  return begins_without_case(text, "https://") || begins_without_case(text, "http://");
}

const SchemeForm& own_form(Scheme scheme) {
  return *std::ranges::find(kForms, scheme, &SchemeForm::scheme);
}

[[noreturn]] void refuse_address(std::string_view text, const std::string& why,
                                 std::string_view form) {
  throw error_at(printable(shown_address(text)), ErrorCode::invalid_argument, why)
      .with_subject(ErrorSubject::argument)
      .with_remedy(fmt::format("write the address as {}", form));
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

// The name of a bucket, at the begin of `rest`.
std::string_view take_name(std::string_view text, std::string_view& rest, std::string_view what,
                           std::string_view form) {
  const std::string_view name = take_part(rest);
  if (name.empty()) refuse_address(text, fmt::format("the address has no {}", what), form);
  if (!is_name(name)) {
    refuse_address(
        text,
        fmt::format("'{}' is not a valid name for a {}; use only letters, digits, '-', '.' and '_'",
                    printable(name), what),
        form);
  }
  return name;
}

std::string_view query_in(std::string_view text) {
  return text.substr(std::min(text.find('?'), text.size() - 1) + 1);
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
    refuse_address(text, "this is not an address of a data set on the Hugging Face hub", form);
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
    if (address.revision.empty())
      refuse_address(text, "the address has no revision after the '@'", form);
  }
  if (!is_name(owner) || !is_name(name)) {
    refuse_address(text, "the address does not have both an owner and the name of a data set",
                   form);
  }
  address.place.append(owner).append("/").append(name);
  address.path = rest;
  return address;
}

constexpr std::string_view kOnDisk = "file://";

// Spark's and Azure's own form, CONTAINER@ACCOUNT.dfs.core.windows.net/PATH, as ACCOUNT/CONTAINER.
std::string account_first(std::string_view rest) {
  const std::string_view first = rest.substr(0, rest.find('/'));
  const size_t at = first.find('@');
  for (const std::string_view service : {".dfs.core.windows.net", ".blob.core.windows.net"}) {
    if (at == first.npos || !first.ends_with(service)) continue;
    const size_t host = first.size() - service.size();
    return fmt::format("{}/{}{}", rest.substr(at + 1, host - at - 1), rest.substr(0, at),
                       rest.substr(first.size()));
  }
  return std::string(rest);
}

// "<2>" at the begin of `rest`: 2. Otherwise 0.
int mark_of(std::string_view rest) {
  int mark = 0;
  if (!rest.starts_with('<')) return 0;
  const auto [end, error] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), mark);
  return error == std::errc() && end != rest.data() + rest.size() && *end == '>' ? mark : 0;
}

// An address as it is kept. Precondition: `known` is its form.
std::string own_text(std::string_view text, const SchemeForm& known) {
  const int mark = mark_of(text.substr(known.start.size()));
  const std::string unmarked = without_marks(text);
  std::string rest = unmarked.substr(known.start.size());
  if (known.scheme == Scheme::az) rest = account_first(rest);
  if (is_url(text)) rest = without_signature(unmarked).value_or(rest);
  return with_mark(std::string(own_form(known.scheme).start) + rest, mark);
}

}  // namespace

std::string_view start_of_address(std::string_view text) {
  const auto* known = known_form(text);
  return known == kForms.end() ? std::string_view() : known->start;
}

Address parse_address(std::string_view text) {
  const auto* known = known_form(text);
  if (known == kForms.end()) {
    throw Error(ErrorCode::invalid_argument, "this text does not begin like an address",
                {.path = printable(shown_address(text)),
                 .subject = ErrorSubject::argument,
                 .remedy = "begin the address with s3://, gs://, az://, r2://, https://, http://, "
                           "hf:// or file://"});
  }
  if (const int mark = mark_of(text.substr(known->start.size())); mark > 0) {
    Address address = parse_address(without_marks(text));
    address.mark = mark;
    return address;
  }
  const std::string own = account_first(text.substr(known->start.size()));
  std::string_view rest = own;
  if (text.find('\0') != std::string_view::npos) {
    refuse_address(text, "the address contains a zero byte", known->form);
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
      refuse_address(text, "the address has a host name before the path", known->form);
    }
    address.path = rest;
    return address;
  }
  if (known->scheme == Scheme::hf) {
    address = parse_hf(text, rest, known->form);
  } else {
    if (known->scheme == Scheme::az) {
      address.place = std::string(take_name(text, rest, "account", known->form)) + "/";
    }
    address.place +=
        take_name(text, rest, known->scheme == Scheme::az ? "container" : "bucket", known->form);
    address.path = rest;
    if (known->scheme == Scheme::az && is_signature(query_in(text))) {
      refuse_address(text, "the address has a signature, so set AZURE_STORAGE_SAS_TOKEN instead",
                     known->form);
    }
  }
  if (has_dot_part(address.path)) {
    refuse_address(
        text, "the path has '.' or '..' between slashes, and servers read such a path differently",
        known->form);
  }
  return address;
}

std::string text_of(const Address& address) {
  std::string text(own_form(address.scheme).start);
  if (address.scheme == Scheme::file) return text + address.path;
  if (address.scheme == Scheme::hf) text += "datasets/";
  text += address.place;
  if (address.scheme == Scheme::hf && address.revision != "main") {
    // A revision with slashes is kept together by their encoding.
    text += "@" + percent_encoded(address.revision);
  }
  if (!address.path.empty() || address.scheme != Scheme::hf) text += "/" + address.path;
  if (!address.query.empty()) text += "?" + address.query;
  return with_mark(text, address.mark);
}

std::string with_mark(std::string_view address, int mark) {
  std::string text(address);
  if (mark > 0) text.insert(text.find("://") + 3, fmt::format("<{}>", mark));
  return text;
}

std::string shown_address(std::string_view text) {
  const std::string unmarked = without_marks(text);
  const bool is_secret = is_url(text) || (!unmarked.empty() && is_signature(query_in(unmarked)));
  return is_secret ? shown_url(unmarked) : unmarked;
}

Place::Place(const fs::path& path) : path_(path) {
  const std::string_view text = path.native();
  const auto* known = known_form(text);
  is_in_store_ = known != kForms.end() && text.size() > known->start.size();
  if (is_in_store_) path_ = own_text(text, *known);
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

bool are_opened_alike(const Place& file, const Place& other) {
  const auto signature_at = [](const Place& place) {
    const std::string text = without_marks(place.path().native());
    return is_url(text) ? signature_of(parse_url(text, "the address")) : std::string();
  };
  return signature_at(file) == signature_at(other);
}

}  // namespace ffkit
