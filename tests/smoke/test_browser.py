"""The page in a real browser: its plots are there, are drawn, and print; nothing is fetched from elsewhere."""

import os
import shutil
import signal
import struct
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from parity.smoke.page import html, write
from parity.smoke.series import SHOWN
from tests.smoke.drawn import astray, differing, matching, renamed, steps
from tests.smoke.look import drawn, fetched, pixels, plots

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "browser"
BASH = shutil.which("bash") or "/bin/bash"
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
WIDTH, HEIGHT = 800, 1200


@dataclass
class Browser:
    """A Chromium with a profile of its own for each call."""

    path: str
    scratch: Path

    def run(self, page, *flags):
        """What it writes to stdout for a page."""
        profile = self.scratch / f"profile-{len(list(self.scratch.iterdir()))}"
        profile.mkdir()
        # It may write nowhere but there, and finds no settings of a user.
        env = {"PATH": os.environ["PATH"], "HOME": str(profile), "TMPDIR": str(profile), "LANG": "C.UTF-8"}
        command = [self.path, *QUIET, f"--user-data-dir={profile}", *flags, Path(page).as_uri()]
        with subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                told, faults = process.communicate(timeout=180)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        assert process.returncode == 0, faults
        return told

    def picture(self, page):
        """The rows of a screenshot."""
        file = Path(page).with_suffix(".shot.png")
        self.run(page, f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={file}")
        return pixels(file.read_bytes())


def needed(found, ci):
    """The browser's path. Where it must be there, its absence is a failure; elsewhere a reason to skip."""
    if not found and ci:
        pytest.fail("no Chromium or Chrome on this machine, and CI is set: `.ci/browser` installs one")
    if not found:
        pytest.skip("no Chromium or Chrome on this machine: `.ci/browser` installs one")
    return found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = subprocess.run([BASH, str(SCRIPT), "find"], capture_output=True, text=True, check=False).stdout.strip()
    return Browser(needed(found, os.environ.get("CI")), tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a scenario that matches and of one that does not."""
    one = renamed(differing(), compared=renamed(differing().compared, scenario="zorro"))
    files = write([matching(), one], tmp_path_factory.mktemp("page"))
    return next(file for file in files if file.name == "index.html")


@pytest.mark.slow
def test_the_plots_are_in_the_document(browser, page):
    """What the browser made of the page has a plot a metric with every step of both sides."""
    found = plots(browser.run(page, "--dump-dom"))
    names = [name for name in steps()[0] if name in SHOWN]
    assert len(found) == 2 * len(names)
    assert all(len(plot["left"]) == len(plot["right"]) == 6 for plot in found)
    entropy = found[len(names) + names.index("entropy")]
    assert [left == right for left, right in zip(entropy["left"], entropy["right"], strict=True)] == [
        left["entropy"] == right["entropy"] for left, right in zip(steps(), astray(), strict=True)
    ]


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(browser, page):
    """Neither the file nor what the browser made of it names another one."""
    assert fetched(page.read_text()) == [] and fetched(browser.run(page, "--dump-dom")) == []


@pytest.mark.slow
def test_the_plots_are_drawn(browser, page):
    """On the screenshot the plots of the first scenario have lines of both sides across their width."""
    rows = browser.picture(page)
    assert (len(rows[0]), len(rows)) == (WIDTH, HEIGHT)
    boxes = drawn(rows)
    assert len(boxes) >= 6
    assert len({left // 300 for left, *_ in boxes}) == 2  # they stand in two columns


@pytest.mark.slow
def test_it_prints(browser, page):
    """It becomes a PDF of several A4 sheets."""
    file = page.with_suffix(".pdf")
    browser.run(page, f"--print-to-pdf={file}")
    told = file.read_bytes()
    assert told.startswith(b"%PDF") and len(told) > 20_000
    assert b"/MediaBox [0 0 594" in told or b"/MediaBox [0 0 595" in told
    assert told.count(b"/Type /Page\n") >= 3


@pytest.mark.slow
def test_a_page_that_shows_no_plots_is_seen(browser, page):
    """The check of the screenshot fails where plots are in the document and yet not visible."""
    hidden = page.with_name("hidden.html")
    hidden.write_text(page.read_text().replace("</style>", "svg.panel { visibility: hidden }</style>"))
    assert drawn(browser.picture(hidden)) == []


def test_a_page_without_lines_is_seen():
    """The check of the document fails where a side's line is missing, or points of it."""
    whole = html([matching()])
    one_side = whole.replace('<polyline class="right"', '<polyline class="other"')
    assert not any(plot["right"] for plot in plots(one_side))
    assert plots(whole.replace("polyline", "polygon"))[0] == {"left": [], "right": []}
    cut = plots(whole.replace('<polyline class="left" points="', '<polyline class="left" points="1,1 '))
    assert len(cut[0]["left"]) == 7


@pytest.mark.parametrize(
    "there",
    [
        '<img src="https://example.org/x.png">',
        '<link href="x.css">',
        '<use xlink:href="x.svg#a"></use>',
        "@import 'x'",
    ],
)
def test_a_page_that_fetches_is_seen(there):
    """The check of what is fetched finds each way of it."""
    closed = there if "</" in there or "<" not in there else there.replace(">", "/>")
    assert fetched(html([matching()]).replace("</main>", "").replace("<header>", f"<header>{closed}")) != []


@pytest.mark.parametrize("filtered", [0, 1, 2, 3, 4])
def test_pixels_are_read(filtered):
    """Each of the five filters of PNG is undone."""
    raw = [bytes(range(k, k + 12)) for k in (0, 90, 200)]
    above, lines = bytes(12), b""
    for row in raw:
        lines += bytes([filtered]) + bytes(_filtered(filtered, row, above, k) for k in range(12))
        above = row
    parts = ((b"IHDR", struct.pack(">IIBBBBB", 4, 3, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(d)) + k + d + b"\0\0\0\0" for k, d in parts)
    assert [bytes(value for pixel in row for value in pixel) for row in pixels(png)] == raw


def _filtered(kind, row, above, k):
    left, up, corner = (row[k - 3], above[k], above[k - 3]) if k >= 3 else (0, above[k], 0)
    base = left + up - corner
    paeth = min((left, up, corner), key=lambda value: abs(base - value))
    return (row[k] - (0, left, up, (left + up) // 2, paeth)[kind]) & 255


def test_a_missing_browser_fails_where_it_must_be():
    """With CI set its absence fails the test; without, it skips with a reason that says what to do."""
    with pytest.raises(pytest.fail.Exception, match="CI is set"):
        needed("", "true")
    with pytest.raises(pytest.skip.Exception, match=r"\.ci/browser"):
        needed("", None)
    assert needed("/bin/chromium", "true") == "/bin/chromium"


def fake(folder, name, text):
    file = folder / name
    file.write_text(f"#!{BASH}\n{text}\n")
    file.chmod(0o755)


@pytest.fixture
def path(tmp_path):
    """A folder that is the whole PATH, with the few tools that the script needs."""
    for tool in ("mktemp", "tail", "rm"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    return tmp_path


def asked(path, *words):
    """What the script says with such a PATH."""
    env = {"PATH": str(path), "TMPDIR": str(path)}
    return subprocess.run([BASH, str(SCRIPT), *words], env=env, capture_output=True, text=True, check=False)


def test_a_browser_that_runs_is_found(path):
    """The first one that answers; a stand-in that only says how to install one is passed over."""
    fake(path, "chromium-browser", "exit 1")
    assert (asked(path, "find").returncode, asked(path, "find").stdout) == (1, "")
    fake(path, "google-chrome", "exit 0")
    assert asked(path).stdout.strip() == str(path / "google-chrome")


def test_nothing_is_installed_without_leave(path):
    """Another user than root is told what to do; `find` says nothing and installs nothing."""
    fake(path, "apt-get", f"echo called >>{path}/calls")
    fake(path, "id", "echo 1000")
    told = asked(path)
    assert told.returncode == 1 and "no Chromium or Chrome here" in told.stderr
    fake(path, "id", "echo 0")
    assert asked(path, "find").returncode == 1
    assert not (path / "calls").exists()


def test_it_is_installed_where_there_are_no_lists_yet(path):
    """On a fresh machine the package lists are fetched once, then the browser; its path is the whole answer."""
    fake(path, "id", "echo 0")
    stand_in = f"printf '#!{BASH}\\n' >{path}/chromium; /bin/chmod +x {path}/chromium"
    fake(
        path,
        "apt-get",
        f'echo "$1" >>{path}/calls; [ "$1" = update ] && {{ >{path}/lists; exit; }}; '
        f"[ -e {path}/lists ] || exit 100; {stand_in}",
    )
    told = asked(path)
    assert (told.returncode, told.stdout.strip()) == (0, str(path / "chromium"))
    assert (path / "calls").read_text().split() == ["install", "update", "install"]


def test_a_failed_installation_says_why(path):
    """The last lines of apt-get are shown, and the script fails."""
    fake(path, "id", "echo 0")
    fake(path, "apt-get", "echo E: no network >&2; exit 100")
    told = asked(path)
    assert told.returncode == 1 and "E: no network" in told.stderr and "could not be installed" in told.stderr
