// What stores and profiles say: the first byte says as what the rest is read. An address that is
// one is the same after it was written again.
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/addresses/place.h"
#include "storage/addresses/url.h"
#include "storage/azure/azure_settings.h"
#include "storage/credentials/aws_profile.h"
#include "storage/credentials/surroundings.h"
#include "storage/protocol/answers.h"
#include "storage/signing/signature.h"
#include "storage/xml/xml.h"
#include "touch.h"

namespace {

void read_address(const std::string& text) {
  const ffkit::Address address = ffkit::parse_address(text);
  if (ffkit::parse_address(ffkit::text_of(address)) != address) std::abort();
  ffkit::shown_address(text);
  // What is kept of a place is that place, and has no signature.
  const ffkit::Place place(text);
  if (ffkit::Place(place.path()).path() != place.path()) std::abort();
}

void read_url(const std::string& text) {
  const ffkit::Url url = ffkit::parse_url(text, "x");
  if (ffkit::parse_url(url.text(), "x") != url) std::abort();
  ffkit::redirected(url, text);
}

void read_answer(const std::string& text, int status) {
  ffkit::HttpResponse response;
  response.status = status;
  response.body = text;
  const ffkit::Failure failure = ffkit::failure_of(response, {"x", "bucket", "host", "AWS"});
  static_cast<void>(ffkit::error_of_failure(failure, "s3://bucket/x", "read"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ffkit::fuzzing::attempt([&] {
    switch (data[0] % 8) {
      case 0:
        ffkit::parse_xml(text);
        break;
      case 1:
        if (data[0] / 8 % 3 == 0) {
          ffkit::parse_list_page(text);
        } else if (data[0] / 8 % 3 == 1) {
          ffkit::parse_upload_page(text);
        } else {
          ffkit::parse_blob_page(text);
        }
        break;
      case 2:
        read_answer(text, 400 + data[0] / 8);
        break;
      case 3:
        if (data[0] / 8 % 2 == 0) {
          ffkit::parse_ini(text);
        } else {
          ffkit::parse_connection_string(text);
        }
        break;
      case 4:
        read_address(text);
        break;
      case 5:
        read_url(text);
        break;
      case 6:
        ffkit::JsonAnswer(text).text("a/b");
        ffkit::moment_of(text);
        break;
      default:
        ffkit::canonical_request({"GET", "/", text, {{"a", text}}, "x"});
        if (ffkit::percent_decoded(ffkit::percent_encoded(text)) != text) std::abort();
    }
  });
  return 0;
}
