"""What FFKIT_SOURCES, FFKIT_TASKS and FFKIT_INSPECT choose, by choice/CMakeLists.txt, which compiles nothing."""

import pathlib
import re
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def configure(**options):
    with tempfile.TemporaryDirectory() as folder:
        values = [f"-D{name}={value}" for name, value in options.items()]
        return subprocess.run(["cmake", "-S", HERE / "choice", "-B", folder, *values], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def chosen(room, **options):
    """The folders and rooms of data, as a set."""
    return set(re.search(rf"-- {room}: (.*)", configure(**options).stdout)[1].split())


class Choice(unittest.TestCase):
    def test_a_source_brings_the_folders_that_it_includes_and_no_others(self):
        self.assertEqual(chosen("sources", FFKIT_SOURCES="demo"), {"archives", "demo", "pictures"})
        self.assertEqual(chosen("sources", FFKIT_SOURCES="folder"), {"archives", "files", "folder", "numbers", "pictures"})
        self.assertEqual(chosen("sources", FFKIT_SOURCES="pairs"), {"archives", "files", "folder", "numbers", "pairs", "pictures"})
        driving = chosen("sources", FFKIT_SOURCES="nuscenes_demo")
        self.assertLessEqual({"demo", "nuscenes", "nuscenes/tables", "ffkit::nuscenes"}, driving)
        self.assertTrue(driving.isdisjoint({"coco", "persons", "ffkit::pose", "ffkit::text"}))

    def test_commas_and_semicolons_are_the_same_and_all_is_all(self):
        both = chosen("sources", FFKIT_SOURCES="demo,coco")
        self.assertEqual(both, chosen("sources", FFKIT_SOURCES="demo;coco"))
        self.assertLess(both, chosen("sources", FFKIT_SOURCES="all"))

    def test_a_task_brings_its_room_of_data(self):
        rooms = {"bevformer": {"ffkit::nuscenes"}, "classification": set(), "gpt2": {"ffkit::text"}, "rootnet": {"ffkit::pose"}}
        for task, own in rooms.items():
            found = chosen("trainer", FFKIT_TASKS=task)
            self.assertEqual({name for name in found if name.startswith("ffkit::")}, own)
            self.assertEqual({name.split("/")[1] for name in found if name.startswith("tasks/")}, {task})

    def test_the_page_comes_with_serve_alone(self):
        self.assertTrue(chosen("inspect", FFKIT_INSPECT="info,verify").isdisjoint({"draw", "serve", "http", "duplicates", "ffkit::nuscenes"}))
        self.assertLessEqual({"draw", "serve", "http", "scenes"}, chosen("inspect", FFKIT_INSPECT="serve"))

    def test_a_name_that_there_is_not_is_an_error_that_lists_the_names(self):
        for option, known in {"FFKIT_SOURCES": "demo, nuscenes_demo", "FFKIT_TASKS": "bevformer, classification", "FFKIT_INSPECT": "cache, cat"}.items():
            for value in ("coconut", "all,coconut", ""):
                said = configure(**{option: value})
                self.assertNotEqual(said.returncode, 0, value)
                text = " ".join(said.stdout.split())
                self.assertIn(f"{option} names '{value[-7:]}', which does not exist", text)
                self.assertIn(known, text)


unittest.main()
