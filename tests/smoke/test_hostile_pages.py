"""What users name stays text on every page that a command makes: files, titles, knobs, designs, resources, ports."""

import json
import re
from html.parser import HTMLParser

import pytest

from npexplore.cli import main
from npexplore.paths import share

pytestmark = pytest.mark.slow

LINE, TURNED = "\u2028", "\u202e"  # JavaScript once ended a line at the first; the second turns what follows around
TAG = "<img src=x onerror=alert(1)>"
HOSTILE = f"</script>{TAG}\"'&{LINE}{TURNED}<a href='https://example.org'>x</a>"
QUOTED = json.dumps(HOSTILE)  # of a TOML file, too
FILE = TAG.replace("/", "")
CAPTURE = share("data", "captures", "zeek_wikipedia.pcap")
NUMBERS = "design,mix,narrow_share,quantity,value,unit\nixp2400_dram,,0.3,bandwidth,9000,{unit}\n"
ROUTER = """
port = [{name = "a", address = "10.0.0.1/24", mac = "02:00:00:00:00:01", peer_mac = "02:00:00:00:01:01"},
  {name = "b", address = "10.1.0.1/24", mtu = 576, mac = "02:00:00:00:00:02", peer_mac = "02:00:00:00:01:02"}]
route = [{prefix = "20.0.0.0/8", via = "10.1.0.2"}, {prefix = "21.0.0.0/8", via = "10.0.0.2"}]
"""
GOLDEN = "def silent(port, frame):\n    return []\n"


class Seen(HTMLParser):
    """What a browser would make of a page: tags, attributes, and the text of its scripts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.links, self.scripts, self.told = set(), set(), set(), [], ""
        self.inside = None
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        else:
            self.told += data


def machine(folder):
    """A machine whose names are hostile wherever a name may be anything."""
    text = (share("models") / "template" / "toml" / "my_machine.toml").read_text()
    text = re.sub(r'^(title|about|source) = ".*"$', lambda m: f"{m[1]} = {QUOTED}", text, flags=re.MULTILINE)
    text = text.replace('name = "my_machine"', f"name = {QUOTED}").replace('name = "packet"', f"name = {QUOTED}")
    text += f'\n[parameter.{QUOTED}]\nkind = "knob"\nvalue = 1\nabout = {QUOTED}\nsource = {QUOTED}\n'
    path = folder / f"{FILE}.toml"
    path.write_text(text)
    return path


def other(folder):
    """A listed machine with another clock, under hostile names."""
    path = folder / f"{FILE}.toml"
    path.write_text(f'extends = "ixp2400_dram"\nname = {QUOTED}\ntitle = {QUOTED}\nset = {{ bus_clock_mhz = 120 }}\n')
    return path


def numbers(folder):
    path = folder / f"{FILE}.csv"
    path.write_text(NUMBERS.format(unit="Mb/s"))
    return path


def capture(folder):
    path = folder / f"{FILE}.pcap"
    path.write_bytes(CAPTURE.read_bytes())
    return path


def function(folder):
    path = folder / f"{FILE}.py"
    path.write_text(GOLDEN)
    return path


def router(folder):
    path = folder / f"{FILE}.toml"
    path.write_text(ROUTER)
    return path


SHORT = ("--packet-bytes", "64", "--packets", "512")
COMMANDS = {
    "explain": lambda at, page: ("explain", machine(at), *SHORT, "--no-sensitivity", "--html", page),
    "load": lambda at, page: ("load", machine(at), *SHORT, "--html", page),
    "check --results": lambda at, page: ("check", "--results", numbers(at), "--seeds", "2", "--html", page),
    "check --against": lambda at, page: (
        "check", "--design", other(at), "--against", "ixp2400_dram", "--seeds", "2", "--html", page),
    "trace report": lambda at, page: ("trace", "report", capture(at), "-o", page),
    "route --report": lambda at, page: (
        "route", "--config", router(at), "--in", f"b={capture(at)}", "--out", at / "out", "--report", page),
    "conform --report": lambda at, page: (
        "conform", "--config", router(at), "--as", "function", "--frames", "1", "--report", page,
        f"{function(at)}:silent"),
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hostile_name_stays_text(command, tmp_path):
    page = tmp_path / "page.html"
    assert main([str(word) for word in COMMANDS[command](tmp_path, page)]) in (0, 1)
    seen = Seen(page.read_text())
    assert TAG in seen.told or FILE in seen.told
    assert "img" not in seen.tags
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert not [link for link in seen.links if "example.org" in link]
    for script in seen.scripts:
        assert LINE not in script
        assert TAG not in script
        assert not re.search(r"(<|\\u003c)a href=", script.split("plotly.js v")[0], re.IGNORECASE)
