#!/usr/bin/env python3
"""Scenes in ffinspect serve: cameras, the view from above, detections beside annotations."""
import os
import pathlib
import sys
import tempfile
import unittest

from answers_test import jpeg_size, png_size
from served import Server, run


class NuscenesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data = pathlib.Path(cls.folder.name) / 'set'
        run(os.environ['MAKE_NUSCENES'], cls.data)
        cls.server = Server(cls.data, '--results', cls.data / 'results.json')

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.folder.cleanup()

    def test_scenes_in_their_order(self):
        split = self.server.api('set')['splits'][0]
        self.assertEqual((split['name'], split['kind']), ('mini_val', 'scenes'))
        scenes = self.server.api('scenes', split='mini_val')
        self.assertEqual(sum(len(scene['records']) for scene in scenes['scenes']), 6)
        self.assertEqual(scenes['scenes'][0]['seconds'][0], 0)
        self.assertEqual(len(scenes['cameras']), 6)

    def test_cameras(self):
        pictures = set()
        for parameters in [{'boxes': 0}, {'boxes': 1}, {'boxes': 1, 'results': 1}]:
            answer = self.server.get('camera', split='mini_val', record=4, camera='CAM_FRONT', width=320, **parameters)
            self.assertEqual((answer.status, jpeg_size(answer.body)), (200, (320, 180)), answer.body[:300])
            pictures.add(answer.body)
        self.assertEqual(len(pictures), 3)
        self.assertEqual(self.server.get('camera', split='mini_val', record=4, camera='CAM_UP').status, 404)

    def test_from_above_with_and_without_sweeps(self):
        pictures = set()
        for parameters in [{'boxes': 0}, {}, {'results': 1}]:
            answer = self.server.get('above', split='mini_val', record=4, size=300, **parameters)
            self.assertEqual((answer.status, png_size(answer.body)), (200, (300, 300)), answer.body[:300])
            pictures.add(answer.body)
        self.assertEqual(len(pictures), 3)
        sweeps = self.server.get('above', split='mini_val', record=4, size=300, sweeps=3)
        if self.server.api('scenes', split='mini_val')['has_sweeps']:
            self.assertIn(sweeps.status, (200, 404), sweeps.body[:300])

    def test_keyframes_with_most_mistakes_first(self):
        rows = self.server.api('rows', split='mini_val', sort='mistakes', descending=1)['rows']
        errors = [row['error'] for row in rows if row['error'] is not None]
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertTrue(errors)


class RealNuscenesTest(unittest.TestCase):
    """The nuScenes root of FFKIT_SHARED_DATA: sweeps of the lidar come from other records."""

    def test_sweeps(self):
        shared = os.environ.get('FFKIT_SHARED_DATA')
        if not shared or not (pathlib.Path(shared) / 'nuscenes/root').is_dir():
            self.skipTest('FFKIT_SHARED_DATA has no nuScenes root')
        with tempfile.TemporaryDirectory() as folder:
            run(os.environ['FFCONVERT'], 'nuscenes', pathlib.Path(shared) / 'nuscenes/root', pathlib.Path(folder) / 'set', '--quiet')
            with Server(pathlib.Path(folder) / 'set') as server:
                name = next(split['name'] for split in server.api('set')['splits'] if split['kind'] == 'scenes')
                scenes = server.api('scenes', split=name)
                record = scenes['scenes'][0]['records'][-1]
                few = server.get('above', split=name, record=record, size=500)
                many = server.get('above', split=name, record=record, size=500, sweeps=9)
                self.assertEqual((few.status, many.status), (200, 200), many.body[:300])
                self.assertNotEqual(few.body, many.body)


if __name__ == '__main__':
    sys.exit(unittest.main())
