// Meeting points: "tcp://host:port", "tcp://[::1]:port" or "file:///path"; and the address under
// which other machines reach this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ffkit/launch/launch.h>

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

// The address where the other processes reach this one: 127.0.0.1 if all are on this machine, else
// that of the interface that leads to the meeting point. If the meeting point is this machine's own
// name, and the name stands for 127.0.0.1 or 127.0.1.1 as on Debian, it is that of the first
// interface that is up and leads elsewhere. Empty without one, or if they meet by a file.
std::string reachable_address(const ProcessPlace& place);

}  // namespace ffkit
