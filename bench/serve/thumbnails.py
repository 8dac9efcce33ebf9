#!/usr/bin/env python3
"""Thumbnails a second: through HTTP by ffinspect serve, and of the decoder alone, in turns.

    bench/serve/thumbnails.py DATA SPLIT [--size 160] [--count 4000] [--repetitions 3]

The decoder alone is ffkit.Loader with the transform that makes pictures of the same size and no JPEG of them. Both have all cores; the client, which
shares them, reads what comes and looks at no pixel. FFINSPECT and PYTHONPATH say which build is measured.
"""
import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import threading
import time
import urllib.parse

import ffkit


def fetch(port, root, split, size, records):
    """All of them over one connection, the next ones asked for before the last ones have come."""
    connection = socket.create_connection(('127.0.0.1', port))
    request = b''.join(f'GET {root}thumbnail?split={split}&record={n}&size={size} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode() for n in records)
    writer = threading.Thread(target=lambda: [connection.sendall(request[i:i + 8000]) for i in range(0, len(request), 8000)])
    writer.start()
    waiting, num_bytes = b'', 0
    for _ in records:
        while (end := waiting.find(b'\r\n\r\n')) < 0:
            waiting += connection.recv(1 << 16)
        head = waiting[:end]
        assert head.startswith(b'HTTP/1.1 200'), head
        at = head.find(b'Content-Length: ') + 16
        length = int(head[at:head.find(b'\r\n', at)])
        while len(waiting) < end + 4 + length:
            waiting += connection.recv(1 << 16)
        waiting = waiting[end + 4 + length:]
        num_bytes += length
    writer.join()
    connection.close()
    return num_bytes


def served(port, root, split, size, count, num_connections=6):
    """As many connections as a browser opens."""
    threads = [threading.Thread(target=fetch, args=(port, root, split, size, range(i, count, num_connections))) for i in range(num_connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return count / (time.perf_counter() - start)


def decoded(data, split, size, count):
    dataset = ffkit.Dataset(data, split).subset(range(count))
    short = size * 3 // 4  # of a picture of 4 x 3 that fits into a square of `size`
    loader = ffkit.Loader(dataset, 64, image=ffkit.ImageOptions(ffkit.ResizeCenterCrop(size=short, resize=short), dtype='uint8'), order='sequential', tail='exact')
    start = time.perf_counter()
    num = sum(len(batch['image']) for batch in loader)
    return num / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data')
    parser.add_argument('split')
    parser.add_argument('--size', type=int, default=160)
    parser.add_argument('--count', type=int, default=4000)
    parser.add_argument('--repetitions', type=int, default=3)
    options = parser.parse_args()
    command = [os.environ.get('FFINSPECT', 'ffinspect'), 'serve', options.data, '--json']
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = urllib.parse.urlsplit(json.loads(server.stdout.readline())['address'])
        rates = []
        for repetition in range(options.repetitions + 1):
            http = served(address.port, address.path, options.split, options.size, options.count)
            alone = decoded(options.data, options.split, options.size, options.count)
            if repetition > 0:  # the first one fills the page cache
                rates.append((http, alone))
                print(f'served {http:,.0f}/s   decoder alone {alone:,.0f}/s   {http / alone:.2f}')
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    print(f'median {statistics.median(a / b for a, b in rates):.2f}')


if __name__ == '__main__':
    main()
