"""`npexplore trace convert`: a capture as a Parquet table, or as another capture; filtered, cut, anonymised.

Exit status 0, or 3 for a damaged input, whose good packets are still converted.
"""

from pathlib import Path

import click

from npexplore.cli.files import OutputFile
from npexplore.cli.output import bytes_read, note, warn
from npexplore.errors import InputError, one_of
from npexplore.paths import content

DAMAGED = 3
SUFFIXES = {".parquet": "parquet", ".pcap": "pcap-ns", ".pcapng": "pcapng"}


@click.command("convert")
@click.argument("sources", metavar="IN...", nargs=-1)
@click.argument("target", metavar="OUT", type=OutputFile())
@click.option("--where", help='Keep the packets that meet a condition: ipv4 and length > 100 and dst in "10.0.0.0/8".')
@click.option("--microseconds", is_flag=True, help="Write a pcap with times in microseconds, for old readers.")
@click.option("--snaplen", type=click.IntRange(min=1), help="Keep at most this many bytes of a packet (captures only).")
@click.option(
    "--anonymise",
    "key",
    metavar="KEYFILE",
    help="Replace addresses but keep common prefixes; KEYFILE has 32 bytes (captures only).",
)
@click.option("--keep-payload", is_flag=True, help="With --anonymise: keep what follows the transport header.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads that decode and anonymise; default: all cores.")
def command(
    sources: tuple[str, ...],
    target: Path,
    where: str | None,
    microseconds: bool,
    snaplen: int | None,
    key: str | None,
    keep_payload: bool,
    workers: int | None,
) -> int:
    """Convert the captures IN, joined into one, to OUT, whose name ends in .parquet, .pcap or .pcapng.

    IN is a file, a folder or a pattern, or several; - is standard input.
    """
    if not sources:
        raise InputError(f"trace convert IN... OUT needs captures and the file to write, got {str(target)!r} alone")
    form = SUFFIXES[one_of("ending of the output file", target.suffix.lower(), SUFFIXES)]
    if where is not None and not where.strip():
        raise InputError("--where is empty: leave it out to keep every packet")
    if keep_payload and not key:
        raise InputError("--keep-payload says what --anonymise leaves as it is, and there is no --anonymise KEYFILE")
    if microseconds and form == "pcapng":
        raise InputError(f"{target}: --microseconds needs a .pcap output")
    from npexplore.packets.files import open_captures, troubles
    from npexplore.study.sweeping.executors import usable_cores

    if form == "parquet":
        if snaplen or key or microseconds:
            raise InputError(f"{target}: --snaplen, --anonymise and --microseconds need a .pcap or .pcapng output")
        from npexplore.packets.parquet import convert_to_parquet

        scan = open_captures(sources, workers=workers or usable_cores())
        count, _ = convert_to_parquet(scan, target, where=where, wrap=bytes_read(scan, "convert"))
    else:
        from npexplore.packets.writing import rewrite

        form = "pcap" if microseconds else form
        secret = content(Path(key)) if key else None
        scan = open_captures(sources, workers=workers or usable_cores())
        count, _ = rewrite(
            scan, target, form=form, where=where, snaplen=snaplen, key=secret, keep_payload=keep_payload,
            wrap=bytes_read(scan, "convert"),
        )  # fmt: skip
    note(f"{target}: {count:,} packets")
    if keep_payload:
        warn("--keep-payload: addresses in payloads, TCP options, DNS names and unknown protocols are copied in clear")
    if form == "pcapng" and "pcapng" in scan.format:
        names = ", interface names" if key else ""
        note(f"{'' if key else 'interface names are kept; '}comments, flags{names} and other options are not copied")
    problems = troubles(scan)
    for trouble in problems:
        warn(f"{trouble}; the packets before it are converted")
    return DAMAGED if problems else 0
