// The bytes that come from a browser, or from what is none: a request whose path cannot leave the
// page, or a problem with a status of 4xx or 5xx.
#include "http/server.h"
#include "touch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ffkit::fuzzing::attempt([bytes] {
    static const ffkit::http::Gate gate("the-token-of-the-fuzzer");
    std::string_view rest = bytes;
    while (const size_t length = ffkit::http::head_length(rest)) {
      ffkit::http::Request request;
      const auto problem = ffkit::http::parse_request(rest.substr(0, length), request);
      rest.remove_prefix(length);
      if (problem) {
        if (problem->status < 400 || problem->status > 599) std::abort();
        continue;
      }
      const bool is_plain =
          request.path.starts_with('/') && request.path.find("/../") == std::string::npos &&
          !request.path.ends_with("/..") && request.path.find('\0') == std::string::npos;
      if (!is_plain) std::abort();
      const bool has_token = request.path.starts_with("/the-token-of-the-fuzzer");
      const auto refusal = gate.refuse(request);
      if (!refusal && !has_token) std::abort();
      if (refusal) ffkit::http::response_head(*refusal, true);
      for (const auto& [name, value] : request.parameters) {
        try {
          static_cast<void>(request.number(name, 0, -5, 5));
        } catch (const ffkit::Error& error) {
          if (error.code() != ffkit::ErrorCode::invalid_argument) std::abort();
        }
      }
    }
  });
  return 0;
}
