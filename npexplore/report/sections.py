"""What a page of sections is made of: a section has a title and a content, or says why there is nothing."""

from dataclasses import dataclass

from npexplore.report.chapters import contents


@dataclass(frozen=True)
class Content:
    """What a section shows: a paragraph, key numbers (label, value), and parts as HTML (figures, tables)."""

    about: str = ""
    headlines: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One section as the templates want it; `empty` says why there is nothing."""

    title: str
    content: Content
    empty: str | None = None

    @property
    def anchor(self) -> str:
        """The name to link to."""
        return "-".join(self.title.lower().replace(",", "").split())

    @property
    def holds(self) -> str:
        """What a reader finds when he opens it, in words."""
        return "nothing to show" if self.empty else contents("".join(self.parts))

    @property
    def about(self) -> str:
        """The paragraph before the figures."""
        return self.content.about

    @property
    def headlines(self) -> tuple[tuple[str, str], ...]:
        """Key numbers."""
        return self.content.headlines

    @property
    def parts(self) -> tuple[str, ...]:
        """Figures and tables as HTML."""
        return self.content.parts
