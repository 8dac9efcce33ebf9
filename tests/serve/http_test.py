#!/usr/bin/env python3
"""ffinspect serve and what is no browser: it answers, refuses or hangs up, and goes on."""
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from served import FFINSPECT, ServedDemo, Server


class HttpTest(ServedDemo):
    def connect(self):
        connection = socket.create_connection(('127.0.0.1', self.server.port), timeout=20)
        self.addCleanup(connection.close)
        return connection

    def exchange(self, request):
        """Everything that comes back until the server hangs up."""
        with self.connect() as connection:
            connection.sendall(request)
            answer = b''
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionError:
                pass
            return answer

    def status(self, request):
        with self.connect() as connection:
            connection.sendall(request)
            line = connection.recv(65536).split(b'\r\n')[0].split()
            return int(line[1]) if len(line) > 1 else None

    def head(self, path, *fields, method='GET', host=None):
        lines = [f'{method} {path} HTTP/1.1', f'Host: {host or f"127.0.0.1:{self.server.port}"}', *fields]
        return ('\r\n'.join(lines) + '\r\n\r\n').encode()

    def assert_alive(self):
        self.assertEqual(self.server.get('api/set').status, 200)

    def test_the_page_comes_with_what_keeps_it_to_itself(self):
        answer = self.server.get('')
        self.assertEqual(answer.status, 200)
        self.assertIn("default-src 'self'", answer.headers['Content-Security-Policy'])
        self.assertIn("frame-ancestors 'none'", answer.headers['Content-Security-Policy'])
        # The page's own style and script, and no others, by a nonce that no two answers share.
        nonces = []
        for policy, page in [(a.headers['Content-Security-Policy'], a.body.decode()) for a in (answer, self.server.get(''))]:
            own = re.findall("'nonce-([A-Za-z0-9_-]{16,})'", policy)
            self.assertEqual(len(own), 2)
            self.assertEqual(re.findall('<(?:style|script) nonce="([^"]*)"', page), own)
            nonces.append(own[0])
        self.assertNotEqual(*nonces)
        self.assertNotIn('nonce', self.server.get('api/set').headers['Content-Security-Policy'])
        self.assertNotIn('unsafe', answer.headers['Content-Security-Policy'])
        self.assertEqual(answer.headers['X-Content-Type-Options'], 'nosniff')
        self.assertEqual(answer.headers['Referrer-Policy'], 'no-referrer')
        self.assertIsNone(answer.headers['Access-Control-Allow-Origin'])

    def test_an_address_without_the_token_is_refused(self):
        root = self.server.root
        for path in ['/', '/api/set', '/favicon.ico', root[:-2] + 'x/api/set', root[:-1] + 'x/api/set', '//api/set', root.upper() + 'api/set']:
            if path != root + 'api/set':
                self.assertEqual(self.status(self.head(path)), 403, path)
        self.assertEqual(self.status(self.head(root[:-1])), 308)

    def test_other_hosts_and_sites_are_refused(self):
        path = self.server.root + 'api/set'
        for host in ['evil.example', 'evil.example:80', '127.0.0.1.evil.example', '127.0.0.1:80:80', 'localhostx', '127.0.0.1:80@evil.example', '[::2]']:
            self.assertEqual(self.status(self.head(path, host=host)), 403, host)
        for host in ['127.0.0.1', 'localhost', f'localhost:{self.server.port}', '[::1]:9999']:
            self.assertEqual(self.status(self.head(path, host=host)), 200, host)
        for field in ['Origin: http://evil.example', 'Origin: null', 'Origin: http://127.0.0.1:1', 'Sec-Fetch-Site: cross-site', 'Sec-Fetch-Site: same-site']:
            self.assertEqual(self.status(self.head(path, field)), 403, field)
        # But a link that is followed leads here.
        followed = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document']
        self.assertEqual(self.status(self.head(self.server.root, *followed)), 200)
        self.assertEqual(self.status(self.head(self.server.root, 'Origin: http://evil.example', *followed)), 403)
        self.assertEqual(self.status(self.head(self.server.root, *followed[:2], 'Sec-Fetch-Dest: iframe')), 403)
        own = f'127.0.0.1:{self.server.port}'
        self.assertEqual(self.status(self.head(path, f'Origin: http://{own}', 'Sec-Fetch-Site: same-origin', host=own)), 200)

    def test_no_path_leads_to_a_file(self):
        root = self.server.root
        for path in ['../../../etc/passwd', '%2e%2e/%2e%2e/etc/passwd', '..%2f..%2fetc/passwd', './index.html', 'a/../index.html', '%2Fetc%2Fpasswd', '/etc/passwd',
                     'index.html%00.js', 'page/index.html', '.git/config']:
            answer = self.exchange(self.head(root + path, 'Connection: close'))
            self.assertIn(answer.split()[1], [b'400', b'404'], path)
            self.assertNotIn(b'root:', answer)

    def test_what_is_no_request_gets_a_status_of_4xx_or_5xx(self):
        root = self.server.root
        wrong = {
            405: [self.head(root, method='POST'), self.head(root, method='DELETE'), self.head(root, method='get')],
            400: [b'\r\n\r\n', b'GET\r\n\r\n', self.head(root, 'Host: localhost'), self.head(root, 'Content-Length: 5'), self.head(root, 'Transfer-Encoding: chunked'),
                  self.head(root, 'no colon'), self.head(root, 'a b: c'), self.head(root + 'api/set?a=%4'), self.head(root + '%zz'), f'GET {root} HTTP/1.1\r\n\r\n'.encode(),
                  b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', self.head('http://127.0.0.1/'), self.head('*')],
            505: [f'GET {root} HTTP/2.0\r\nHost: localhost\r\n\r\n'.encode()],
            431: [b'GET ' + root.encode() + b'a' * 20000],
        }
        for status, requests in wrong.items():
            for request in requests:
                self.assertEqual(self.status(request), status, request[:100])
        self.assert_alive()

    def test_a_client_may_send_its_head_in_bytes_and_several_requests_at_once(self):
        request = self.head(self.server.root + 'api/set', 'Connection: close')
        with self.connect() as connection:
            for i in range(len(request)):
                connection.sendall(request[i:i + 1])
            self.assertTrue(connection.recv(15).startswith(b'HTTP/1.1 200'))
        one = self.head(self.server.root + 'api/find?split=val')
        answer = self.exchange(one * 5 + self.head(self.server.root + 'api/find?split=val', 'Connection: close'))
        self.assertEqual(answer.count(b'HTTP/1.1 200 OK'), 6)

    def test_a_client_may_ask_far_ahead(self):
        count = 2000
        request = self.head(self.server.root + 'api/find?split=val')
        with self.connect() as connection:
            writer = threading.Thread(target=connection.sendall, args=(request * count,))
            writer.start()
            answer = b''
            while answer.count(b'HTTP/1.1 200 OK') < count or not answer.endswith(b'}\n'):
                answer += connection.recv(1 << 20)
            writer.join()
        self.assertEqual(answer.count(b'num_records'), count)

    def test_head_has_no_body(self):
        answer = self.exchange(self.head(self.server.root + 'api/set', 'Connection: close', method='HEAD'))
        self.assertTrue(answer.startswith(b'HTTP/1.1 200'))
        self.assertTrue(answer.endswith(b'\r\n\r\n'))

    def test_slow_and_endless_clients_neither_hang_it_nor_fill_its_memory(self):
        self.assert_alive()
        before = self.server.memory()
        slow = [self.connect() for _ in range(200)]
        for connection in slow:
            try:
                connection.sendall(b'GET / HTTP/1.1\r\n')
            except ConnectionError:
                pass  # those that are too many are closed
        endless = self.connect()
        try:
            for i in range(2000):
                endless.sendall(b'x: %s\r\n' % (b'y' * 4000))
        except ConnectionError:
            pass
        start = time.monotonic()
        for _ in range(20):
            self.assert_alive()
        self.assertLess(time.monotonic() - start, 100)
        self.assertLess(self.server.memory() - before, 64 << 20)

    def test_many_at_once_and_those_that_hang_up(self):
        statuses = []

        def ask(i):
            if i % 3 == 0:
                with self.connect() as connection:
                    connection.sendall(self.head(self.server.root + f'thumbnail?split=train&record={i}'))
                return
            statuses.append(self.server.get('thumbnail', split='train', record=i).status)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(90)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {200})
        self.assertEqual(len(statuses), 60)

    def test_noise(self):
        noise = random.Random(7)
        good = self.head(self.server.root + 'api/rows?split=val&where=label+%3D%3D+1')
        for _ in range(150):
            request = bytearray(good)
            for _ in range(noise.randrange(1, 12)):
                place = noise.randrange(len(request))
                request[place:place + noise.randrange(3)] = bytes(noise.randrange(256) for _ in range(noise.randrange(3)))
            with self.connect() as connection:
                connection.settimeout(0.03)
                try:
                    connection.sendall(bytes(request))
                    connection.recv(4096)
                except (TimeoutError, ConnectionError):
                    pass  # a head without an end is waited for
        self.assert_alive()

    def test_ctrl_c_ends_it_at_once(self):
        with Server(self.data) as server:
            server.process.send_signal(signal.SIGINT)
            self.assertEqual(server.process.wait(60), -signal.SIGINT)

    def test_a_port_that_is_taken_and_a_weak_token_are_refused(self):
        for options, words in [(['--port', str(self.server.port)], 'Address already in use'), (['--token', 'short'], '--token')]:
            result = subprocess.run([FFINSPECT, 'serve', self.data, *options], capture_output=True, text=True, timeout=20)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr)

    def test_it_listens_on_this_machine_alone(self):
        with open(f'/proc/{self.server.process.pid}/net/tcp') as file:
            listening = [line.split()[1] for line in file if line.split()[3] == '0A']
        self.assertIn(f'0100007F:{self.server.port:04X}', listening)
        self.assertNotIn(f'00000000:{self.server.port:04X}', listening)


if __name__ == '__main__':
    sys.exit(unittest.main())
