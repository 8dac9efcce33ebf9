#!/usr/bin/env python3
"""Files of FFRecord version 1 in ffinspect serve: one file, a folder of parts, ImageNet's folder. Skipped without the real data."""
import json
import os
import pathlib
import sys
import unittest

from answers_test import jpeg_size
from served import FFINSPECT, Server, run

DATA = pathlib.Path(os.environ.get('FFKIT_SHARED_DATA', ''), 'ffrecord-v1')


class V1Test(unittest.TestCase):
    def serve(self, name):
        server = Server(DATA / name)
        self.addCleanup(server.__exit__)
        return server

    def test_records_of_bytes(self):
        for name in 'empty.ffr', 'sizes.ffr', 'packed_folder.ffr':
            server = self.serve(name)
            [split] = server.api('set')['splits']
            self.assertEqual(split['kind'], 'records')
            listed = [json.loads(line) for line in run(FFINSPECT, 'ls', DATA / name, '--json').splitlines()]
            rows = server.api('rows', split=split['name'], count=1000)['rows']
            # A packed folder is shown as its records, of which the last one is its table.
            self.assertEqual([row['record'] for row in rows], list(range(len(listed) + (name == 'packed_folder.ffr'))), name)
            sizes = [row['num_bytes'] for row in server.api('rows', split=split['name'], sort='size')['rows']]
            self.assertEqual(sizes, sorted(row['num_bytes'] for row in rows))
            for row in rows:
                record = server.api('record', split=split['name'], record=row['record'])
                self.assertEqual((record['num_bytes'], [field['name'] for field in record['fields']]), (row['num_bytes'], ['data']))
            self.assertEqual(server.get('').status, 200)
            self.assertEqual(server.get('thumbnail', split=split['name'], record=0).status, 400 if rows else 404)

    def test_records_of_pictures(self):
        server = self.serve('parts')
        [split] = server.api('set')['splits']
        self.assertEqual(split['kind'], 'pictures')
        self.assertEqual([field['name'] for field in server.api('record', split=split['name'], record=0)['fields']], ['image'])
        self.assertEqual(server.get('thumbnail', split=split['name'], record=0).status, 200)

    def test_pictures_with_classes(self):
        server = self.serve('imagenet-style')
        [split] = server.api('set')['splits']
        self.assertEqual([one['name'] for one in split['classes']], ['zero', 'one', 'two'])
        labels = [row['label'] for row in server.api('rows', split='train')['rows']]
        self.assertEqual({bin['class']: bin['num_records'] for bin in server.api('histogram', split='train')['bins']},
                         {name: labels.count(label) for label, name in enumerate(['zero', 'one', 'two'])})
        self.assertEqual(server.api('find', split='train', where="class == 'two'")['num_records'], labels.count(2))
        self.assertEqual(server.api('find', split='train', text='tw')['num_records'], labels.count(2))
        for record in range(len(labels)):
            self.assertEqual(max(jpeg_size(server.get('thumbnail', split='train', record=record, size=64).body)), 64)
            self.assertEqual(server.get('view', split='train', record=record, transform='RandomResizedCrop(32)').status, 200)
            self.assertTrue(server.get('picture', split='train', record=record).body.startswith(b'\xff\xd8'))


if __name__ == '__main__':
    if not DATA.is_dir():
        print('skipped: FFKIT_SHARED_DATA names no folder with ffrecord-v1/')
        sys.exit(77)
    unittest.main()
