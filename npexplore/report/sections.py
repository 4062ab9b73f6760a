"""The parts of a page: a section has a title and a content, or the reason why it is empty."""

from dataclasses import dataclass

from npexplore.report.chapters import contents


@dataclass(frozen=True)
class Content:
    """The content of a section: a paragraph, key numbers (label, value), and parts as HTML (figures, tables)."""

    about: str = ""
    headlines: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One section, with the attributes that templates use; `empty` is the reason why it has no content."""

    title: str
    content: Content
    empty: str | None = None

    @property
    def anchor(self) -> str:
        """The section's anchor for links."""
        return "-".join(self.title.lower().replace(",", "").split())

    @property
    def holds(self) -> str:
        """The numbers of figures and tables in words, shown while the section is closed."""
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
