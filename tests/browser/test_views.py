"""Records, training views, scenes, tokens, duplicates; the keyboard; windows and colours."""
import pathlib
import re

import pytest

import looks
import sets


def pictures_there(page, selector):
    page.wait_for_function("selector => { const all = [...document.querySelectorAll(selector)]; return all.length && all.every(one => one.complete && one.naturalWidth); }", arg=selector)


def test_a_record(marked, open_page):
    page = open_page(marked)
    page.locator(".cell.shown").first.click()
    page.wait_for_selector(".frame.shown")
    assert page.url.endswith("#record?split=train&record=0") and page.locator("h1").inner_text().startswith("Record 0")
    # A box lies where it is in the picture of 160 pixels.
    picture, box = page.locator("img.full").bounding_box(), page.locator("rect.mark").first.bounding_box()
    scale = picture["width"] / 160
    assert [box["x"] - picture["x"], box["y"] - picture["y"], box["width"]] == pytest.approx([30 * scale, 20 * scale, 60 * scale], abs=3)
    assert page.locator("circle.joint").count() == 3 and page.locator("circle.joint.hidden").count() == 1
    pictures_there(page, "img.mask")
    for key, what in ("b", "g.boxes"), ("p", "g.joints"), ("m", "img.mask"):
        assert page.locator(what).is_visible()
        page.keyboard.press(key)
        assert not page.locator(what).is_visible()
    assert "hide=boxes%2Cjoints%2Cmask" in page.url
    assert "picture <0>" in page.locator(".facts").inner_text() and "jpeg" in page.locator(".facts").inner_text()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Record 1')")
    assert page.locator(".strip a").count() == sets.MARKED
    page.go_back()
    page.wait_for_function("() => document.querySelector('h1').textContent.startsWith('Record 0')")
    page.keyboard.press("Escape")
    page.wait_for_selector(".cell.shown")
    page.goto(page.url.split("#")[0] + f"#record?split=train&record={sets.CUT}")
    page.get_by_text("truncated JPEG").wait_for()
    page.goto(page.url.split("#")[0] + "#grid?split=none")
    page.get_by_text("This data set has no split none.").wait_for()
    page.get_by_role("link", name="Pictures").click()
    page.wait_for_selector(".cell.shown")


def test_detections_beside_boxes(coco, open_page):
    page = open_page(coco)
    page.get_by_role("button", name="wrong", exact=True).click()
    page.wait_for_function("() => document.querySelector('.counter').textContent.endsWith(' of 3')")
    page.goto(page.url.split("#")[0] + "#record?split=val2017&record=0")
    page.wait_for_selector(".frame.shown")
    names = page.locator(".overlay text").all_text_contents()
    assert sorted(names)[:2] == ["boat", "boat 0.60"] and sorted(names)[2:] == ["kite", "kite 0.90"]
    visible = lambda: [page.locator("rect.mark").nth(i).is_visible() for i in range(4)]  # noqa: E731
    assert visible() == [True] * 4 and page.locator("rect.mark.found").count() == 2
    page.keyboard.press("r")
    assert visible() == [True, True, False, False]


def test_what_training_sees(shapes, open_page):
    page = open_page(shapes, "#record?split=train&record=3&see=training")
    pictures_there(page, ".views img")
    assert page.locator(".views img").count() == 6
    page.get_by_label("Transforms").fill("ResizeCenterCrop(48, 32)")
    page.wait_for_function("() => document.querySelector('.views img')?.naturalWidth === 32")
    page.get_by_label("Transforms").fill("ResizeCenterCrp(48, 32)")
    page.wait_for_function("() => document.querySelector('.training .problem').textContent.includes('ResizeCenterCrop')")
    page.get_by_text("Write them with sliders").click()
    page.get_by_label("size").fill("96")
    page.wait_for_function("() => document.querySelector('.views img')?.naturalWidth === 96")
    assert page.get_by_label("Transforms").input_value().startswith("RandomResizedCrop(96,")
    assert "RandomResizedCrop" in page.url  # the view has an address


@pytest.mark.parametrize("which", ["driving", "scenes"])
def test_a_scene(which, request, open_page):
    page = open_page(request.getfixturevalue(which))
    page.wait_for_selector(".cell.shown")
    page.keyboard.press("Enter")
    pictures_there(page, ".cameras img, .above")
    assert page.locator(".cameras img").count() == 6
    assert page.locator(".cameras figcaption").first.inner_text() == "front left"
    slider = page.get_by_label("Keyframe of the scene")
    before = page.locator(".above").get_attribute("src")
    slider.fill("1")
    assert page.locator(".above").get_attribute("src") != before
    assert page.locator(".clock").inner_text().startswith("2 of ")
    pictures_there(page, ".cameras img, .above")
    page.wait_for_function("() => location.hash.includes('record=1')")
    page.locator("h1").click()
    page.keyboard.press("b")
    assert "boxes=0" in page.locator(".cameras img").first.get_attribute("src")
    page.get_by_label("Older frames of the lidar").select_option("3")
    assert "sweeps=3" in page.locator(".above").get_attribute("src")
    pictures_there(page, ".cameras img, .above")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.querySelector('.clock').textContent.startsWith('3 of ')")
    assert page.locator(".scene > .problem").is_hidden()


def test_tokens(tokens, open_page):
    page = open_page(tokens)
    page.wait_for_selector(".cell.textual:not([hidden])")
    page.keyboard.press("Enter")
    page.wait_for_selector(".token")
    text = page.evaluate("[...document.querySelectorAll('.token')].map(token => token.textContent).join('')")
    assert "The first document is short." in text and "<b>The third</b>" in text
    assert page.locator(".document").count() >= 3


def test_duplicates(marked, open_page):
    page = open_page(marked, "#duplicates?split=train")
    page.get_by_role("button", name="Look for duplicates").or_(page.locator(".group")).first.wait_for()
    if page.get_by_role("button", name="Look for duplicates").is_visible():
        page.get_by_role("button", name="Look for duplicates").click()
    page.locator(".group").first.wait_for()
    equal = page.locator(".group", has_text="Equal")
    assert equal.count() == 1 and equal.locator("li").count() == 2
    assert [f"train {number}" in equal.inner_text() for number in (2, sets.COPY)] == [True, True]
    equal.get_by_role("link", name="in the grid").click()
    page.wait_for_function(f"() => document.querySelector('.counter')?.textContent === '2 of {sets.MARKED}'")


def test_keyboard_alone(shapes, open_page):
    page = open_page(shapes, "#grid?split=train")
    page.wait_for_selector(".cell.shown")
    label = lambda: page.locator(".cell.focused").get_attribute("aria-label")  # noqa: E731
    number = lambda: int(re.match(r"Record (\d+)", label())[1])  # noqa: E731
    page.keyboard.press("ArrowRight")
    assert number() == 1
    page.keyboard.press("ArrowDown")
    columns = number() - 1
    assert columns > 3
    page.keyboard.press("PageDown")
    assert number() > 1 + columns and number() % columns == 1
    assert page.locator(".cells").get_attribute("aria-activedescendant") == page.locator(".cell.focused").get_attribute("id")
    page.keyboard.press("-")
    page.wait_for_function("() => location.hash.includes('size=')")
    here = number()
    page.keyboard.press("Enter")
    page.wait_for_selector(".frame.shown")
    page.keyboard.press("j")
    page.wait_for_function(f"() => document.querySelector('h1').textContent.startsWith('Record {here + 1}')")
    page.keyboard.press("s")
    page.wait_for_selector(".views img")
    page.keyboard.press("Escape")
    page.wait_for_selector(".cell.shown")
    assert number() == here + 1
    page.keyboard.press("/")
    page.keyboard.type("ring")
    page.keyboard.press("Enter")
    page.wait_for_function("() => /^\\d+ of/.test(document.querySelector('.counter').textContent)")
    page.keyboard.press("Escape")
    page.keyboard.press("Space")
    page.keyboard.press("l")
    page.get_by_role("dialog").get_by_text("train: 1 record").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("larger thumbnails").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    # Everything that can be pressed is reached by Tab, and shows that it is.
    seen = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.outerHTML.slice(0, 80)"))
        assert page.evaluate("document.activeElement === document.body || document.activeElement.matches('.cells') || parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2")
    assert len(seen) > 8


VIEWS = {
    "shapes": ["#grid?split=val", "#record?split=val&record=7", "#record?split=val&record=7&see=training", "#confusion?split=val", "#duplicates?split=train"],
    "marked": ["#grid?split=train", "#record?split=train&record=2"],
    "driving": ["#record?split=train&record=2"],
    "tokens": ["#grid?split=train", "#record?split=train&record=0"],
    "table": ["#grid?split=train", "#grid?split=train&bars=weight", "#record?split=train&record=2", "#map?split=train"],
}


@pytest.mark.parametrize("which", VIEWS)
def test_every_view_fits_the_window(which, request, open_page):
    for width, height in (390, 844), (800, 600), (3840, 2160):
        page = open_page(request.getfixturevalue(which), width=width, height=height)
        for place in VIEWS[which]:
            page.goto(page.url.split("#")[0] + place)
            page.wait_for_load_state("networkidle")
            assert looks.wider_than_window(page) == [], (place, width)
        page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("which", VIEWS)
def test_texts_stand_out(which, theme, request, open_page):
    page = open_page(request.getfixturevalue(which), theme=theme)
    for place in VIEWS[which]:
        page.goto(page.url.split("#")[0] + place)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(300)
        texts = looks.contrasts(page)
        assert len(texts) > 7
        assert [one for one in texts if one["ratio"] < one["needed"]] == [], place
    page.keyboard.press("l")
    page.get_by_role("dialog").wait_for()
    assert [one for one in looks.contrasts(page) if one["ratio"] < one["needed"]] == []


def test_the_page_is_small():
    files = list((pathlib.Path(__file__).parents[2] / "inspect/page").iterdir())
    size = sum(file.stat().st_size for file in files)
    print(f"\n{len(files)} files, {size:,} bytes")
    assert len(files) > 15 and size < 150_000
    # What the first screen of the grid needs: the page, and the modules that it loads at once.
    loaded = {"index.html", "style.css", "first.js", "main.js", *re.findall('modulepreload" href="([^"]*)"', (files[0].parent / "index.html").read_text())}
    first = sum(file.stat().st_size for file in files if file.name in loaded)
    print(f"{first:,} bytes at once")
    assert len(loaded) > 10 and first < 100_000


def test_what_the_run_does_beside_its_transforms_is_said(demo, serve, open_page):
    config = demo / "config.toml"
    config.write_text("image-size = 48\nmixup-alpha = 0.2\n")
    page = open_page(serve(demo / "demo", "--config", config), "#record?split=val&record=1&see=training")
    page.get_by_text("The run also mixes the pictures of a batch by MixUp (mixup-alpha = 0.2)").wait_for()
