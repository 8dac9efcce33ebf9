#!/usr/bin/env python3
"""The page as ffinspect serve writes it: with the facts of the set and its first screen."""
import html
import json
import pathlib
import re
import tempfile
import unittest
import urllib.parse

from answers_test import png
from served import FFCONVERT, ServedDemo, Server, run


def set_of(page):
    return json.loads(re.search('<script type="application/json" id="set">(.*?)</script>', page, re.S)[1])


def thumbnails_of(page):
    return [html.unescape(address) for address in re.findall('<img [^>]*?src="([^"]*)"', page)]


class PageTest(ServedDemo):
    def page_of(self, server):
        return server.get('').body.decode()

    def test_facts_of_the_set_are_those_of_the_api(self):
        page = self.page_of(self.server)
        self.assertEqual(set_of(page), self.server.api('set'))
        self.assertNotIn('{{', page)
        self.assertIn('data-place="#grid?split=train"', page)

    def test_first_thumbnails(self):
        addresses = thumbnails_of(self.page_of(self.server))
        self.assertEqual(len(addresses), 30)
        for record, address in enumerate(addresses):
            answer = self.server.get(address)
            self.assertEqual((answer.status, answer.headers['Content-Type']), (200, 'image/jpeg'))
            self.assertEqual(answer.body, self.server.get('thumbnail', split='train', record=record, size=160).body)

    def test_thumbnails_of_chosen_records(self):
        with Server(self.data, '--where', 'label == 1', '--split', 'val') as server:
            records = [row['record'] for row in server.api('rows', split='val')['rows']]
            queries = [urllib.parse.parse_qs(address.split('?')[1]) for address in thumbnails_of(self.page_of(server))]
            self.assertEqual([int(query['record'][0]) for query in queries], records)

    def test_no_name_becomes_a_part_of_the_page(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ['</script><script>alert(1)<', '<!--<script>', '"\'&amp;']
            for name in names:
                file = pathlib.Path(folder, 'src', 'train', urllib.parse.quote(name, safe=' <>!"\'&;=()-').replace('/', '_'), 'a.png')
                file.parent.mkdir(parents=True)
                file.write_bytes(png(20, 20, (1, 2, 3)))
            run(FFCONVERT, 'folder', pathlib.Path(folder, 'src'), pathlib.Path(folder, 'a <b> & "c"'), '--quiet')
            with Server(pathlib.Path(folder, 'a <b> & "c"')) as server:
                page = self.page_of(server)
                self.assertEqual(set_of(page), server.api('set'))
                self.assertIn('<!--<script>', [one['name'] for one in set_of(page)['splits'][0]['classes']])
                self.assertEqual(page.count('<script'), 3)
                self.assertNotIn('<!--', page)

    def test_a_set_without_pictures_has_no_first_thumbnails(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'texts.jsonl').write_text('{"text": "one"}\n{"text": "two"}\n')
            run(FFCONVERT, 'jsonl', pathlib.Path(folder, 'texts.jsonl'), pathlib.Path(folder, 'set'), '--quiet')
            with Server(pathlib.Path(folder, 'set')) as server:
                page = self.page_of(server)
                self.assertEqual(thumbnails_of(page), [])
                self.assertIn('Opening the data set', page)


if __name__ == '__main__':
    unittest.main()
