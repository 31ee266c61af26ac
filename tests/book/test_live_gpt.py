"""The GPT that runs in the page: its numbers are those of torch, and it obeys mouse and keyboard."""

import dataclasses
import json
import os
import re

import pytest
import torch
from torch import nn

from experiments.text.live import export, read_live
from pioneers.data import language_reference
from pioneers.generation import generate
from pioneers.models import GPT, GPTConfig
from pioneers.tokenizers import ByteLevelBPE

from .conftest import serve
from .test_interactive import FOCUSED, STOPS, Complaints

SLOW = float(os.environ.get("PIONEERS_SLOW_MACHINE", 1))
PROMPT = "The animal didn't cross the street because it was too tired"
PAGE = f"""<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<div class="interactive" data-name="gpt"><script type="application/json">{{"prompt": "{PROMPT}",
"opening": {{"pieces": ["\\n", "The"], "bits": [2.5], "likely": [[" an", 0.5, 1]]}},
"first": "The model is loaded when you come near."}}</script><img alt="x"></div>
<script src="_static/interactive/loader.js"></script>"""
HELPERS = """
window.get = async path => (await fetch(path));
window.model = async (path, config) =>
  new LiveGPT.Model(config, Live.readTensors(await (await get(path)).arrayBuffer()));
"ready";
"""
STRANGE = [
    "",
    "\x1c\x85\ufeff \u00a0\u2028x",
    "  a\t\n\n b ",
    "it's we'll 'S 'LL",
    "naïve Straße 东京 🙂",
    "x²½٣ _a_",
]


@pytest.fixture(scope="module")
def live(root):
    """The files of the trained model."""
    return root / "book" / "_static" / "live"


@pytest.fixture(scope="module")
def site(root, tmp_path_factory):
    """A page with the model, and a random one in full precision, where a site may be: in a folder."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "_static").symlink_to(root / "book" / "_static")
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=37, max_seq_len=23, d_model=15, num_layers=3, num_heads=5)
    model = GPT(config).eval()
    for weights in model.parameters():
        nn.init.normal_(weights, std=0.5)
    export(model, folder / "random.safetensors", precision="fp32")
    with serve(tmp_path_factory.mktemp("host"), folder) as address:
        yield address, model


@pytest.fixture(scope="module")
def numbers(browser, site):
    """A page with the model's script only."""
    page = browser.new_page()
    page.goto(f"{site[0]}page.html")
    for script in ("live", "gpt_model"):
        page.add_script_tag(url=f"_static/interactive/{script}.js")
    page.evaluate(HELPERS)
    yield page
    page.close()


def test_it_is_small(root, live):
    scripts = [
        root / "book" / "_static" / "interactive" / f"{name}.js" for name in ("live", "gpt_model", "gpt")
    ]
    assert sum(len(path.read_text().splitlines()) for path in scripts) < 460
    assert max(path.stat().st_size for path in live.iterdir()) <= 2.1e6


def changed(model, switch):
    """The logits that torch finds with one part of the model switched off, by other means than the script."""
    off = GPT(model.config).eval()
    off.load_state_dict(model.state_dict())
    blocks = off.stack.blocks
    if switch == "positions":
        off.embed.position.table.data.zero_()
    if switch == "scale":
        for block in blocks:
            for weights in block.attn.q_proj.parameters():
                weights.data *= 3**0.5  # K = 3
    if switch == "heads":
        blocks[1].attn.o_proj.weight.data[:, 2 * 3 : 3 * 3] = 0
    if switch == "norms":
        off.stack.norm = nn.Identity()
        for block in blocks:
            block.norm_attn = block.norm_ffn = nn.Identity()
    return lambda ids: off.lm_head(off.stack(off.embed(ids), causal=switch != "mask"))


@pytest.mark.parametrize("switch", ["nothing", "mask", "scale", "positions", "norms", "heads"])
def test_logits_are_those_of_torch(numbers, site, switch):
    _, model = site
    torch.manual_seed(1)
    ids = torch.randint(37, (19,)).tolist()
    texts = [ids[:7], ids, ids[:11], [*ids[:5], 1, 2, 3], ids[2:]]  # longer, shorter, changed: what is kept?
    with torch.inference_mode():
        expected = [changed(model, switch)(torch.tensor([text]))[0] for text in texts]
    found = numbers.evaluate(
        """async ([config, texts, off]) => {
          window.small ??= await model("random.safetensors", config);
          const switches = LiveGPT.everything(config);
          if (off === "heads") switches.heads[1][2] = false; else switches[off] = false;
          return texts.map(ids => { small.read(ids, switches); return small.logits.map(z => [...z]); });
        }""",
        [dataclasses.asdict(model.config), texts, switch],
    )
    for ours, theirs in zip(found, expected, strict=True):
        size = theirs.abs().max().clamp(min=1)
        torch.testing.assert_close(torch.tensor(ours) / size, theirs / size, atol=1e-4, rtol=0)


def test_tokens_and_guesses_are_those_of_the_package(numbers, live):
    index = json.loads((live / "model.json").read_text())
    tokenizer = ByteLevelBPE(json.loads((live / "tokenizer.json").read_text())["merges"])
    reference = language_reference()
    starts = range(0, len(reference) - 40, len(reference) // 200)
    texts = [reference[i : i + 5 + i % 20] for i in starts][:200]
    encoded = [tokenizer.encode(text) for text in [*texts, *STRANGE]]
    model = read_live(live / index["checkpoints"][-1]["file"])
    with torch.inference_mode():
        guesses = [model(torch.tensor([ids]))[0, -1].argmax().item() for ids in encoded[:200]]
        written = [generate(model, torch.tensor([ids]), 5, top_k=1)[0].tolist() for ids in encoded[:5]]
    found = numbers.evaluate(
        """async texts => {
          const about = await (await get("_static/live/model.json")).json();
          const words = new LiveGPT.Tokenizer(await (await get("_static/live/tokenizer.json")).json());
          const gpt = await model(`_static/live/${about.checkpoints.at(-1).file}`, about.config);
          const best = ids => {
            gpt.read(ids);
            return LiveGPT.choices(gpt.probabilities[ids.length - 1], 0, 1)[0].id;
          };
          const ids = texts.map(text => words.encode(text));
          const greedy = ids.slice(0, 5).map(start => {
            const text = [...start];
            for (let i = 0; i < 5; i++) text.push(best(text));
            return text;
          });
          return [ids, ids.slice(0, 200).map(best), greedy, ids.map(one => words.decode(one))];
        }""",
        [*texts, *STRANGE],
    )
    assert found == [encoded, guesses, written, [*texts, *STRANGE]]
    assert len(set(guesses)) > 20


@pytest.fixture
def page(browser, site):
    """The figure, loaded by a key; at the end it must have had nothing to complain about."""
    complaints = Complaints()
    context = browser.new_context(viewport={"width": 900, "height": 900})
    page = context.new_page()
    page.on("console", complaints.listen)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{site[0]}page.html")
    page.locator(".live").wait_for()
    yield page
    context.close()
    assert not complaints


def test_the_figure_is_driven_by_keyboard_and_mouse(page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    prompt, loss = page.get_by_label("Prompt: change it"), page.locator(".loss")
    assert not asked  # nothing is loaded with the page
    assert loss.inner_text() == "2.50 bits per token" and page.get_by_label("Top-p").is_disabled()
    with page.expect_response("**/checkpoint-*") as weights:
        page.keyboard.press("Tab")  # the prompt is the first stop
    weights.value.finished()
    arrived = page.evaluate("performance.now()")
    page.locator(".tokens button:nth-child(9)").wait_for()
    assert page.evaluate("performance.now()") - arrived < 1000 * SLOW
    assert all("/course/_static/" in url for url in asked)

    before = loss.inner_text()
    page.keyboard.press("End")
    page.keyboard.type(" to")
    assert loss.inner_text() != before and prompt.input_value() == f"{PROMPT} to"
    page.wait_for_function("document.querySelector('.says').textContent.includes('ired to”')")
    said = page.locator(".says").inner_text()
    likely = page.locator(".live-gpt table tr").first.inner_text().split()
    assert likely[0] in said and likely[1] in said
    took = page.evaluate(
        """() => { const box = document.querySelector("textarea");
          return [..."abcde"].map(letter => { box.value += letter; const began = performance.now();
            box.dispatchEvent(new Event("input")); return performance.now() - began; }); }"""
    )
    assert min(took) < 100 * SLOW

    page.get_by_text("Switch parts off").click()
    for name in ("causal mask", "division by √K", "positions", "norms", "Block 2, head 3"):
        page.get_by_label(name).focus()
        page.keyboard.press("Space")
        assert "with every part on" in loss.inner_text(), name
        page.get_by_label(name).click()
        assert "with every part on" not in loss.inner_text(), name

    said = "all => all.map(token => token.ariaLabel)"
    weights = page.locator(".tokens button").evaluate_all(said)
    page.get_by_role("group", name="Head").get_by_label("2").click()
    assert page.locator(".tokens button").evaluate_all(said) != weights
    page.locator(".tokens button").last.focus()
    page.keyboard.press("Home")
    assert "After …“↵”" in page.locator(".live-gpt caption").inner_text()

    trained = loss.inner_text()
    page.get_by_label("Training").focus()
    page.keyboard.press("Home")
    page.wait_for_function("text => document.querySelector('.loss').textContent !== text", arg=trained)
    bits = [float(re.match(r"[\d.]+", text)[0]) for text in (trained, loss.inner_text())]
    assert bits[1] > bits[0] and bits[1] > 8  # of 1,024 tokens it knows nothing yet
    page.keyboard.press("End")
    page.wait_for_function("text => document.querySelector('.loss').textContent === text", arg=trained)

    def write():
        page.get_by_role("button", name="Start again").click()
        page.get_by_role("button", name="Keep writing").click()
        page.get_by_role("button", name="Keep writing").wait_for()
        return prompt.input_value()

    first = write()
    assert first.startswith(PROMPT) and write() == first  # the seed decides
    page.get_by_label("Seed").fill("1")
    assert write() != first

    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(page.evaluate(STOPS)):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    assert all(found["inside"] and found["name"] and found["outline"] == "solid" for found in reached)
    page.set_viewport_size({"width": 320, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.emulate_media(media="print")
    assert page.locator(".interactive > img").is_visible() and not page.locator(".panel").is_visible()
