"""Glossary words become terms that the search finds, and the first use of each on a page links to its meaning."""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

GLOSSARY = "glossary"
UNLINKED = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.math, nodes.raw, nodes.term)
VERBS = {"hold"}  # words whose plural is mostly a verb in a sentence
# Pages that people look words up in, or that are made of names, read better without links.
PLAIN = ("made/", "coverage")


def words_of(cell: str) -> list[str]:
    """Return the words of a first cell such as "NDR, PDR"."""
    return [word.strip() for word in cell.split(",") if word.strip()]


class Terms(SphinxTransform):
    """Make every first cell of the glossary's tables the target of its words, in the index and for the search."""

    default_priority = 400  # before the index is collected

    def apply(self, **_: object) -> None:
        """Look at the glossary alone."""
        if self.env.docname != GLOSSARY:
            return
        standard, noted = self.env.get_domain("std"), set()
        for row in self.document.findall(nodes.row):
            if isinstance(row.parent, nodes.thead):
                continue
            cell = row[0]
            for word in words_of(cell.astext()):
                if word in noted:
                    continue  # two parts of the glossary share a word: it leads to the first
                noted.add(word)
                name = "term-" + nodes.make_id(word)
                cell["ids"].append(name)
                standard.note_object("term", word, name, location=cell)
                cell.insert(0, addnodes.index(entries=[("single", word, name, "main", None)]))


def linked(text: str, pattern: re.Pattern[str], seen: set[str], link) -> list[nodes.Node]:
    """Return a text as nodes in which words not seen before are links."""
    made: list[nodes.Node] = []
    at = 0
    for found in pattern.finditer(text):
        word = found[1].lower()
        if word in seen or (word in VERBS and found[0].lower() != word):
            continue
        seen.add(word)
        made += [nodes.Text(text[at : found.start()]), link(word, found[0])]
        at = found.end()
    return [*made, nodes.Text(text[at:])] if made else []


def link_first_uses(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Link the first use of every glossary word on a page."""
    terms = {
        name.lower(): (where, labelid)
        for (kind, name), (where, labelid) in app.env.get_domain("std").objects.items()
        if kind == "term"
    }
    if docname == GLOSSARY or docname.startswith(PLAIN) or not terms:
        return
    alternatives = "|".join(re.escape(word) for word in sorted(terms, key=len, reverse=True))
    pattern, seen = re.compile(rf"\b({alternatives})(?:s|es)?\b", re.IGNORECASE), set()

    def link(word: str, shown: str) -> nodes.Node:
        where, labelid = terms[word]
        return make_refnode(app.builder, docname, where, labelid, nodes.Text(shown), word)

    for text in list(doctree.findall(nodes.Text)):
        parents, node = [], text.parent
        while node is not None:
            parents.append(node)
            node = node.parent
        if any(isinstance(parent, UNLINKED) for parent in parents):
            continue
        if made := linked(str(text), pattern, seen, link):
            text.parent.replace(text, made)


def setup(app: Sphinx) -> dict[str, bool]:
    """Join the build."""
    app.add_transform(Terms)
    app.connect("doctree-resolved", link_first_uses)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
