"""The plain controller of dram_clock.py with another order: banks are asked in turn, the first that can go goes.

A line's accesses are asked from its oldest on; a row is closed for the oldest access of its line alone, when no younger
one hits it or `cap` of them have. With two command buses a second command is sought behind the first; it goes if it is
of the other kind.
"""

from reference.dram_clock import Access, Controller


class InTurn(Controller):
    """Keeps every rule of `Controller`; only who goes first differs."""

    def __init__(self, device, policy):
        super().__init__(device, policy)
        self.at = 0

    def first(self, b, now):
        """What the first access of a bank's line that can go needs: kind of command and access."""
        bank = self.banks[b]
        if not bank.line or (self.sets and not bank.owner and self.blocked(b)):
            return None
        if bank.row < 0:
            return ("row", bank.line[0]) if self.second is None and self.row_may(b, now) else None
        hits = [access for access in bank.line if access.row == bank.row]
        if bank.line[0].row != bank.row and (not hits or bank.uses >= self.p.cap) and self.shut_may(b, now):
            return "row", bank.line[0]
        may = {write: self.column_may(b, write, now) for write in {access.write for access in hits}}
        return next((("column", access) for access in hits if may[access.write]), None)

    def candidates(self, now):
        found, went = {}, None
        for _ in range(self.d.command_buses):
            for k in range(1, self.n + 1):
                b = (self.at + k) % self.n
                one = self.first(b, now)
                if one and not (went and self.excluded(one, went)):
                    self.at = b
                    if went is None or one[0] != went[0]:
                        found[one[0]] = ((0, 0), one[1])
                    went = one
                    break
            if went is None:
                break
        return found.get("row"), found.get("column")

    def excluded(self, one, went):
        """Whether a command cannot go at the edge at which another goes: its bank, two columns, two rows opened."""
        opens = [self.banks[access.bank].row < 0 for _, access in (one, went)]
        same = one[0] == went[0]
        return one[1].bank == went[1].bank or (same and (one[0] == "column" or all(opens)))


def edges(device, policy, made):
    """Run accesses of npexplore.machine.resources.dram_streams; return accepted and finished, in clocks."""
    plain = InTurn(device, policy)
    columns = zip(made.clock, made.bank, made.row, made.write, strict=True)
    asked = [Access(k, int(t) * plain.half, int(b), int(r), bool(w), 1) for k, (t, b, r, w) in enumerate(columns)]
    accepted, finished, _, _ = plain.run(asked)
    return [edge / plain.half for edge in accepted], [edge / plain.half for edge in finished]
