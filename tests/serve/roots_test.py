#!/usr/bin/env python3
"""Roots of persons in ffinspect serve: what the official RootNet computes, beside the truth of MuPoTS' and Human3.6M's annotations. Skipped without the real data."""
import json
import math
import os
import pathlib
import sys
import tempfile
import unittest

from answers_test import jpeg_size, png
from served import FFCONVERT, Server, run

ROOTNET = pathlib.Path(os.environ.get('FFKIT_SHARED_DATA', ''), 'rootnet')


def read(name):
    return json.loads((ROOTNET / name).read_text())


def write(file, content):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def write_pictures(folder, images):
    """Grey ones: the pictures of these sets may not be passed on."""
    for image in images:
        file = folder / image['file_name']
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png(image['width'], image['height'], (90, 90, 90)))


def mupots(folder):
    """The set of the detections, and the roots that the official code makes of the network's output."""
    made, expected = read('mupots_input.json'), read('rootnet.expected.json')['mupots']
    joints = lambda root: [[0, 0, 0]] * 14 + root + [[0, 0, 0]] * 2  # noqa: E731
    annotations = [{**one, 'keypoints_cam': joints(one['keypoints_cam']), 'keypoints_img': [[0, 0]] * 17, 'keypoints_vis': [1] * 17} for one in made['annotations']]
    write(folder / 'src/MuPoTS-3D.json', {'images': made['images'], 'annotations': annotations})
    write(folder / 'detections.json', made['detections'])
    write_pictures(folder / 'src/MultiPersonTestSet', made['images'])
    run(FFCONVERT, 'coco', folder / 'src', folder / 'set', '--persons', 'mupots', '--detections', folder / 'detections.json', '--quiet')
    write(folder / 'roots.json', [{'image_id': one['image_id'], 'root_cam': root, 'bbox': box, 'score': one['score']}
                                  for one, root, box in zip(made['detections'], expected['root_cam'], expected['processed_boxes'], strict=True)])


def human36m(folder):
    made, expected = read('human36m_input.json'), read('rootnet.expected.json')['human36m']
    for subject, of in made['subjects'].items():
        file = f'src/annotations/Human36M_subject{subject}_'
        joints = {action: {part: {frame: [root] * 17 for frame, root in frames.items()} for part, frames in parts.items()} for action, parts in of['root_world'].items()}
        write(folder / (file + 'data.json'), {'images': of['images'], 'annotations': [{**one, 'keypoints_vis': [True] * 17} for one in of['annotations']]})
        write(folder / (file + 'camera.json'), of['cameras'])
        write(folder / (file + 'joint_3d.json'), joints)
        write_pictures(folder / 'src/images', of['images'])
    # The fixtures have test subjects alone; a training split needs a picture.
    image, person = (made['subjects']['9'][name][0] for name in ('images', 'annotations'))
    for subject in 1, 5, 6, 7, 8:
        file = f'src/annotations/Human36M_subject{subject}_'
        write(folder / (file + 'data.json'), {'images': [{**image, 'id': 1000 + subject, 'subject': subject, 'frame_idx': 0}], 'annotations': [{**person, 'image_id': 1000 + subject, 'keypoints_vis': [True] * 17}]})
        write(folder / (file + 'camera.json'), made['subjects']['9']['cameras'])
        write(folder / (file + 'joint_3d.json'), {str(image['action_idx']): {str(image['subaction_idx']): {'0': [[0, 0, 0]] * 17}}})
    run(FFCONVERT, 'coco', folder / 'src', folder / 'set', '--persons', 'human36m', '--quiet')
    write(folder / 'roots.json', [{'image_id': one['image_id'], 'bbox': one['box'], 'root_cam': one['root_cam_predicted']} for one in expected['samples']])


class RootsTest(unittest.TestCase):
    def serve(self, make):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        make(pathlib.Path(folder.name))
        server = Server(pathlib.Path(folder.name) / 'set', '--results', pathlib.Path(folder.name) / 'roots.json')
        self.addCleanup(server.__exit__)
        return server

    def test_errors_are_those_of_the_official_code(self):
        server, expected = self.serve(human36m), read('rootnet.expected.json')['human36m']
        self.assertEqual(server.api('set')['results'], {**server.api('set')['results'], 'kind': 'roots', 'split': 'test', 'error_name': 'distance'})
        rows = server.api('rows', split='test', count=1000)['rows']
        self.assertEqual(len(rows), len(expected['samples']))
        # MRPE is the mean of the distances.
        self.assertAlmostEqual(sum(row['error'] for row in rows) / len(rows), expected['MRPE']['tot'], delta=0.001)
        for row, sample in zip(rows, expected['samples'], strict=True):
            self.assertAlmostEqual(row['error'], math.dist(sample['root_cam_gt'], sample['root_cam_predicted']), delta=0.01)
        worst = server.api('rows', split='test', sort='distance', descending=1)['rows']
        self.assertEqual([row['error'] for row in worst], sorted((row['error'] for row in rows), reverse=True))
        self.check_pictures(server)
        record = server.api('record', split='test', record=3)
        kinds = {joint['kind']: joint for joint in record['joints']}
        sample = expected['samples'][3]
        self.assertAlmostEqual(kinds['true root']['x'], sample['root_img_gt'][0], delta=0.01)
        self.assertAlmostEqual(kinds['true root']['y'], sample['root_img_gt'][1], delta=0.01)
        self.assertNotEqual(kinds['true root']['x'], kinds['found root']['x'])
        self.assertAlmostEqual(record['crop']['width'], sample['box'][2], delta=0.01)
        self.assertAlmostEqual(record['result']['error'], rows[3]['error'])

    def test_detections_have_no_true_root(self):
        server, expected = self.serve(mupots), read('rootnet.expected.json')['mupots']
        rows = server.api('rows', split='test', count=1000)['rows']
        self.assertEqual(len(rows), expected['detections'])
        self.assertEqual({row['error'] for row in rows}, {None})
        self.check_pictures(server)
        record = server.api('record', split='test', record=0)
        self.assertEqual([joint['kind'] for joint in record['joints'] if 'root' in joint['kind']], ['found root'])
        self.assertEqual(server.api('find', split='test', only='found')['num_records'], len(rows))
        server.api('rows', split='test', sort='distance')

    def check_pictures(self, server):
        plain = server.get('thumbnail', split='test', record=1, size=160)
        marked = server.get('thumbnail', split='test', record=1, size=160, marks=1)
        self.assertEqual((plain.status, marked.status), (200, 200), marked.body[:300])
        self.assertLessEqual(max(jpeg_size(marked.body)), 160)
        self.assertNotEqual(plain.body, marked.body)


if __name__ == '__main__':
    if not ROOTNET.is_dir():
        print('skipped: FFKIT_SHARED_DATA names no folder with rootnet/')
        sys.exit(77)
    unittest.main()
