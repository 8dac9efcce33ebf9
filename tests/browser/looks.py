"""What is measured in a page."""
import json

# Everything that has text of its own and is seen, with the contrast of the text to what lies behind
# it. Texts over pictures are outlined, and left out.
CONTRASTS = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const parts = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ground = element => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('svg, noscript, .unseen, .skip, option') || !element.checkVisibility({opacityProperty: true})) continue;
    const own = element.matches('input, textarea, select') ? element.value : [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data).join('').trim();
    if (!own) continue;
    const style = getComputedStyle(element), below = ground(element);
    const [first, second] = [light(over(parts(style.color), below)), light(below)].sort((a, b) => b - a);
    const large = parseFloat(style.fontSize) >= 24 || parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 600;
    found.push({text: own.slice(0, 40), name: element.tagName + '.' + element.className, ratio: (first + 0.05) / (second + 0.05), needed: large ? 3 : 4.5});
  }
  return found;
}"""


def contrasts(page):
    return page.evaluate(CONTRASTS)


def wider_than_window(page):
    """What scrolls sideways, but for what is meant to: the confusion matrix, neighbours, tabs, a picture in its own size."""
    return page.evaluate("""() => [...document.querySelectorAll('html, body, body *')].filter(one => one.scrollWidth > one.clientWidth + 1 &&
      (one === document.documentElement || /auto|scroll/.test(getComputedStyle(one).overflowX)) && !one.matches('.matrix-place, .strip, .bar nav, .stage, textarea, pre')).map(one => one.tagName + '.' + one.className)""")


def frames(browser, page, work):
    """Frames that Chromium's own trace says were drawn and dropped during work(), and the seconds between the first and the last."""
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame", "devtools.timeline"])
    work()
    events = json.loads(browser.stop_tracing())["traceEvents"]
    drawn = sorted(event["ts"] for event in events if event["name"] == "DrawFrame")
    dropped = sum(event["name"] == "DroppedFrame" for event in events)
    return len(drawn), dropped, (drawn[-1] - drawn[0]) / 1e6 if len(drawn) > 1 else 0.0
