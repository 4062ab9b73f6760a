"""`npexplore audit`: recompute published numbers from each other and report contradictions (docs/ledger.md)."""

from collections import Counter

import click

from npexplore.cli.output import emit, json_option, table


@click.command("audit")
@click.option("--paper", "papers", multiple=True, metavar="NAME", help="Audit this paper; repeatable. Default: all.")
@json_option
def command(papers: tuple[str, ...], as_json: bool) -> None:
    """Recompute every derivable published number from others; contradictions come with the likeliest explanation."""
    from npexplore.ledger.auditing import audit

    findings = audit(papers or None)

    def text() -> str:
        columns = ("verdict", "paper", "id", "printed", "recomputed", "unit")
        rows = [{name: getattr(finding, name) for name in columns} for finding in findings]
        wrong = [finding for finding in findings if finding.verdict == "inconsistent"]
        notes = [f"{f.paper}: {f.id}\n  {f.formula}\n  Assumed: {f.reading}\n  {f.explanation}" for f in wrong]
        counts = Counter(finding.verdict for finding in findings)
        summary = ", ".join(f"{counts[name]} {name}" for name in ("consistent", "inconsistent", "undecidable"))
        return "\n\n".join([table(rows, columns), *notes, summary])

    emit({"rows": findings}, text, as_json=as_json)
