// Meeting points: "tcp://host:port", "tcp://[::1]:port" or "file:///path".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ffkit {

struct HostAndPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};

// Of "tcp://host:port"; an address of IPv6 stands in brackets or not. Nothing for anything else.
std::optional<HostAndPort> host_and_port(std::string_view meeting_point);
// Inverse of host_and_port(): an address of IPv6 gets brackets where it has none.
std::string tcp_meeting_point(std::string_view host, int port);

// Of "file:///path"; nothing for anything else.
std::optional<std::string> meeting_file(std::string_view meeting_point);

}  // namespace ffkit
