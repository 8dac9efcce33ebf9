"""A data set served by ffinspect for a test, and what a browser would ask of it."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
import urllib.parse

FFCONVERT = os.environ['FFCONVERT']
FFINSPECT = os.environ['FFINSPECT']


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f'{pathlib.Path(command[0]).name} {command[1]}: {done.stderr}')
    return done.stdout


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    """ffinspect serve with these arguments; ends with the block."""

    def __init__(self, *arguments):
        self.cache = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([FFINSPECT, 'serve', *map(str, arguments), '--json', '--hashes', self.cache.name], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f'ffinspect serve ended with status {self.process.wait()}')
        self.address = json.loads(line)['address']
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.root = parts.port, parts.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.process.stdout.close()
        self.cache.cleanup()

    def get(self, path, _headers=None, **parameters):
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        query = '?' + urllib.parse.urlencode(parameters) if parameters else ''
        connection.request('GET', self.root + path + query, headers=_headers or {})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def api(self, name, **parameters):
        answer = self.get('api/' + name, **parameters)
        if answer.status != 200:
            raise AssertionError(f'{name} {parameters}: status {answer.status}: {answer.body[:500]}')
        return answer.json()

    def memory(self):
        """Bytes of main memory that it has now."""
        with open(f'/proc/{self.process.pid}/statm') as file:
            return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


class ServedDemo(unittest.TestCase):
    """Tests of the demo set: 600 pictures in train, 100 in val, of 5 classes."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = pathlib.Path(cls.folder.name) / 'demo'
        run(FFCONVERT, 'demo', cls.data, '--classes', 5, '--images', 600, '--val-images', 100, '--size', 64)
        cls.server = Server(cls.data, *cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()
