#!/usr/bin/env python3
"""A link that is far away: passes connections on to a server, with a delay and a rate that all of them share.

    slow_link.py --port 8350 --to 127.0.0.1:8340 --round-trip 0.05 --rate 125e6

Prints "bytes N, connections M" when it is ended by SIGTERM or Ctrl-C. The kernel's netem does the same where it is there; here it is not.
"""
import argparse
import asyncio
import os
import signal


class Link:
    def __init__(self, one_way_s, bytes_per_s):
        self.one_way_s = one_way_s
        self.bytes_per_s = bytes_per_s
        self.free_at = 0.0  # when the link has sent what was given to it
        self.num_bytes = 0
        self.num_connections = 0

    async def send(self, reader, queue, counts):
        loop = asyncio.get_running_loop()
        while True:
            data = await reader.read(1 << 16)
            now = loop.time()
            if counts:
                self.num_bytes += len(data)
                self.free_at = max(self.free_at, now) + len(data) / self.bytes_per_s
                await queue.put((self.free_at + self.one_way_s, data))
                # What is sent ahead stays small, as in a router's queue.
                if self.free_at - now > 0.02:
                    await asyncio.sleep(self.free_at - now - 0.02)
            else:
                await queue.put((now + self.one_way_s, data))
            if not data:
                return

    async def deliver(self, queue, writer):
        loop = asyncio.get_running_loop()
        while True:
            at, data = await queue.get()
            if at > loop.time():
                await asyncio.sleep(at - loop.time())
            if not data:
                break
            writer.write(data)
            await writer.drain()
        writer.close()

    async def connect(self, reader, writer, host, port):
        self.num_connections += 1
        await asyncio.sleep(2 * self.one_way_s)  # the handshake
        there_reader, there_writer = await asyncio.open_connection(host, port)
        up, down = asyncio.Queue(64), asyncio.Queue(256)
        work = [self.send(reader, up, False), self.deliver(up, there_writer), self.send(there_reader, down, True), self.deliver(down, writer)]
        await asyncio.gather(*work, return_exceptions=True)
        for end in (writer, there_writer):
            end.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--port', type=int, required=True, help='of 127.0.0.1')
    parser.add_argument('--to', required=True, help='HOST:PORT of the server')
    parser.add_argument('--round-trip', type=float, default=0.05, help='seconds')
    parser.add_argument('--rate', type=float, default=125e6, help='bytes a second, of all answers together')
    options = parser.parse_args()
    host, port = options.to.rsplit(':', 1)
    link = Link(options.round_trip / 2, options.rate)
    server = await asyncio.start_server(lambda r, w: link.connect(r, w, host, int(port)), '127.0.0.1', options.port)
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await stop.wait()
    print(f'bytes {link.num_bytes}, connections {link.num_connections}', flush=True)
    os._exit(0)  # connections may be open


if __name__ == '__main__':
    asyncio.run(main())
