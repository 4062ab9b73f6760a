"""The command line as a user meets it: exit statuses, one-line errors, a quick start."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import click
import pytest

import npexplore.cli as cli
from npexplore import __version__
from npexplore.errors import DamagedInputError, InputError


def run_with(monkeypatch, capsys, arguments, function):
    """Run the program with one command, `probe`, that calls `function`."""

    @click.command("probe")
    @click.option("--rate", type=float)
    def probe(rate):
        return function()

    group = click.Group("npexplore", commands={"probe": probe})
    monkeypatch.setattr(cli, "program", lambda: group)
    status = cli.main(arguments)
    return status, *capsys.readouterr()


def raiser(error):
    def function():
        raise error

    return function


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("rate must be positive,\n got -1"), 2, "npexplore: rate must be positive, got -1\n"),
        (DamagedInputError("record cut short", 40), 3, "npexplore: record cut short at offset 40\n"),
        (ZeroDivisionError("x"), 2, "npexplore: internal error: ZeroDivisionError: x; run with --debug\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.pcap"),
            2,
            "npexplore: a.pcap: No such file or directory\n",
        ),
        (
            OSError(28, "No space left on device"),
            2,
            "npexplore: cannot read or write: No space left on device\n",
        ),
        (KeyboardInterrupt("3 rows are kept"), 130, "npexplore: stopped; 3 rows are kept\n"),
        (KeyboardInterrupt(), 130, "npexplore: stopped; nothing was written\n"),
    ],
)
def test_each_ending_has_its_status_and_one_line(monkeypatch, capsys, error, status, message):
    assert run_with(monkeypatch, capsys, ["probe"], raiser(error)) == (status, "", message)


def test_a_command_returns_its_own_status(monkeypatch, capsys):
    assert run_with(monkeypatch, capsys, ["probe"], lambda: 1) == (1, "", "")


def test_debug_shows_the_traceback(monkeypatch, capsys):
    status, _, err = run_with(monkeypatch, capsys, ["probe", "--debug"], raiser(ValueError("deep inside")))
    assert status == 2
    assert "Traceback" in err
    assert "deep inside" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["probe", "--rat", "1"], "--rate"), (["probe", "--rate", "fast"], "'fast' is not a number")],
)
def test_wrong_usage_is_one_line_that_says_what_is_near(monkeypatch, capsys, arguments, words):
    status, out, err = run_with(monkeypatch, capsys, arguments, lambda: None)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err


def test_an_unknown_command_names_the_nearest(capsys):
    assert cli.main(["chekc"]) == 2
    error = capsys.readouterr().err
    assert "'chekc' is unknown" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("explain ixp2400 --mix", "requires an argument. (see npexplore explain --help)"),
        ("explain ixp2400 --mix amp --seed x", "'x' is not a whole number"),
        ("run nfp4000 my.pcap", "a capture is given by --trace FILE"),
        ("explain ixp2400.toml --mix amp", "'ixp2400.toml' is unknown (nearest: ixp2400,"),
        ("explain folder --mix amp", "folder is a folder"),
        ("explain text --mix amp", "text is no machine: the name of its file must end in .toml or .py"),
        ("explain empty.toml --mix amp", "empty.toml: is empty"),
        ("solve empty.toml", "empty.toml: is empty"),
        ("help nope", "'nope' is unknown"),
    ],
)
def test_a_natural_mistake_names_the_right_form(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("text", "empty.toml"):
        (tmp_path / name).write_text("")
    assert cli.main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err


@pytest.mark.parametrize("line", ["-h", "help", "explain -h", "help explain", "trace stats -h", "help trace stats"])
def test_help_has_its_usual_names(capsys, line):
    assert cli.main(line.split()) == 0
    command = " ".join(word for word in line.split() if word not in ("-h", "help"))
    assert capsys.readouterr().out.startswith(f"Usage: npexplore {command}".rstrip())


def test_every_listed_command_loads():
    group = cli.program()
    context = click.Context(group)
    names = group.list_commands(context)
    assert "report" in names
    for name in names:
        command = group.get_command(context, name)
        assert isinstance(command, click.Command)
        assert command.help


def test_version_starts_without_the_engines():
    probe = (
        "import sys; from npexplore.cli import main; status = main(['--version']);"
        "heavy = {'numba', 'pandas', 'plotly', 'scipy', 'numpy', 'pyarrow'} & set(sys.modules);"
        "print(sorted(heavy)); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout == f"npexplore {__version__}\n[]\n"


def test_the_package_runs_as_a_module():
    run = subprocess.run([sys.executable, "-m", "npexplore", "--version"], capture_output=True, text=True, timeout=600)
    assert (run.returncode, run.stdout) == (0, f"npexplore {__version__}\n")
    run = subprocess.run([sys.executable, "-m", "npexplore", "expain"], capture_output=True, text=True, timeout=600)
    assert run.returncode == 2
    assert "nearest: explain" in run.stderr


def test_a_reader_that_leaves_causes_no_noise():
    command = [sys.executable, "-c", "import sys; from npexplore.cli import main; sys.exit(main(['--help']))"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_what_may_follow(monkeypatch, capsys, shell, tmp_path):
    def offered(line):
        if shell == "fish":
            words = {"COMP_WORDS": line, "COMP_CWORD": line.rpartition(" ")[2]}
        else:
            words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        for name, value in {**words, "_NPEXPLORE_COMPLETE": f"{shell}_complete"}.items():
            monkeypatch.setenv(name, value)
        assert cli.main([]) == 0
        return set(re.findall(r"[\w-]+", capsys.readouterr().out))

    assert "explain" in offered("npexplore exp")
    assert {"ixp2400", "ixp1200", "file"} <= offered("npexplore explain ixp")
    assert "amp" in offered("npexplore explain ixp2400 --mix a")
    assert "--packet-bytes" in offered("npexplore sweep --pac")
    assert {"threads"} == offered("npexplore explain ixp2400 --set thr") - {"plain", "_"}
    assert {"bounds", "queueing", "simulation", "rtl"} <= offered("npexplore sweep ixp2400 --solver ")
    assert {"bounds", "simulation"} == offered("npexplore sweep ixp2400 --solver bounds,sim") - {"plain", "_"}
    assert "poisson" in offered("npexplore load ixp2400 --arrivals p")
    split, left = (" = ", set()) if shell == "bash" else ("=", {"scheme"})  # bash breaks words at =
    assert {"fcb_tb", "fcb"} | left == offered(f"npexplore explain ixp2400 --set scheme{split}fcb") - {"plain", "_"}
    chosen = offered(f"npexplore sweep ixp2400 --set banks{split}2 --set scheme{split}base,h")
    assert chosen - {"plain", "_"} == {"base", "hb"} | left
    (tmp_path / "mine.py").write_text(
        "def design(tiles: int = 4, kind: Literal['a', 'b'] = 'a'): ...\nimport nothing\n"
    )
    (tmp_path / "mine.toml").write_text('extends = "ixp2400"\n')
    assert {"tiles"} == offered(f"npexplore explain {tmp_path / 'mine.py'} --set til") - {"plain", "_"}
    assert {"a", "b"} <= offered(f"npexplore explain {tmp_path / 'mine.py'} --set kind{split}")
    assert "threads" in offered(f"npexplore explain {tmp_path / 'mine.toml'} --set thr")
    assert offered("npexplore explain none.toml --set thr") <= {"plain", "_"}
    monkeypatch.setenv("_NPEXPLORE_COMPLETE", f"{shell}_source")
    assert cli.main([]) == 0
    assert "npexplore" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_itself_completes_a_choice_behind_the_equals_sign(tmp_path):
    """Bash breaks words at the equals sign: what is offered takes the place of what is behind it."""
    run = f"""
    npexplore() {{ {shlex.quote(sys.executable)} -m npexplore "$@"; }}
    env() {{ command env "${{@:1:3}}" {shlex.quote(sys.executable)} -m npexplore; }}
    eval "$(_NPEXPLORE_COMPLETE=bash_source npexplore)"
    compopt() {{ echo nospace; }}
    COMP_WORDS=(npexplore explain ixp2400 --set scheme = fcb_) COMP_CWORD=6
    _npexplore_completion npexplore; echo "${{COMPREPLY[*]}}"
    COMPREPLY=() COMP_WORDS=(npexplore explain ixp2400 --set thr) COMP_CWORD=4
    _npexplore_completion npexplore; echo "${{COMPREPLY[*]}}"
    """
    done = subprocess.run(["bash", "-c", run], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["fcb_tb", "nospace", "threads="]


@pytest.mark.parametrize("line", ["npexplore explain ixp2400 --set thr", "npexplore sweep ixp2400 --solver b"])
def test_completing_imports_no_solver_and_no_array_library(line):
    program = (
        "import sys; from npexplore.cli import main; main([]); heavy = ('numba', 'pandas', 'scipy', 'pyarrow'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    env = os.environ | {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_NPEXPLORE_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
