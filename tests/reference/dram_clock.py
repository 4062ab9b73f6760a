"""A DRAM controller clock edge by clock edge, in plain Python, written from docs/engine_dram.md.

It keeps what every command was and when, and asks of each possible next command whether all rules allow it: no times
are kept ahead, nothing is skipped. Rules are in edges of the device (half clocks where a command takes half a clock).
"""

from dataclasses import dataclass, field
from functools import cache
from math import ceil, floor


@dataclass(eq=False)
class Access:
    number: int
    time: int  # edge at which it comes
    bank: int
    row: int
    write: bool
    bursts: int
    entry: bool = False  # whether it holds one
    outcome: int = 0
    accepted: int = -1


@dataclass
class Bank:
    row: int = -1
    opened: int = -(10**9)
    closed: int = -(10**9)  # precharge began
    refreshed: int = -(10**9)
    read: int = -(10**9)  # last commands
    write: int = -(10**9)
    last: int = 0
    uses: int = 0
    owner: Access | None = None
    line: list = field(default_factory=list)


class Controller:
    """Takes a DramDevice and a DramPolicy (as plain records) and accesses; `run` returns what became of each."""

    def __init__(self, device, policy):
        d, self.p = device, policy
        self.t, self.apart = cache(self.t), cache(self.apart)
        self.d, self.half = d, 2 if d.row_clocks % 1 or d.close_clocks % 1 else 1
        h = self.half
        self.length = {
            "row": round(d.row_clocks * h),
            "column": round(d.column_clocks * h),
            "close": round(d.close_clocks * h),
        }
        self.n = d.banks * d.pseudo_channels
        self.banks = [Bank() for _ in range(self.n)]
        self.burst = d.burst_length // d.transfers * h
        self.log, self.sets = [], 0
        if policy.refresh != "none" and d.t_rfc:
            whole = policy.refresh == "all-bank"
            some = {"per-bank": 1, "bank-pair": 2, "same-bank": d.groups, "none": 1}[d.bank_refresh]
            self.sets = 1 if whole else d.banks // some
            self.every = floor(d.t_refi / self.sets / d.t_ck + 1e-6) * h
        self.due = [self.every if self.sets else 0] * d.pseudo_channels
        self.turn, self.pending = [0] * d.pseudo_channels, [False] * d.pseudo_channels
        self.buses = [0, 0]  # busy until: row commands, column commands
        self.second = None  # by when the second half of an activate must go
        self.rows = [[] for _ in range(d.pseudo_channels)]  # activates, precharges, columns, refreshes of a unit
        self.shuts, self.columns, self.fresh = ([[] for _ in range(d.pseudo_channels)] for _ in range(3))
        self.reads, self.writes = [], []  # who holds an entry
        self.inside = {False: [], True: []}  # with lines for banks: who has not moved on
        self.drain, self.writing, self.sequence = 0, False, {}

    def t(self, name, instead=None):
        """Return a time of the device in edges."""
        value = getattr(self.d, name) or (getattr(self.d, instead) if instead else 0)
        return ceil(value / self.d.t_ck - 1e-6) * self.half

    def unit(self, b):
        return b // self.d.banks

    def group(self, b):
        return self.unit(b), b % self.d.groups

    # ---- whether a command may begin at an edge; rules count between the last edges of commands

    def row_may(self, b, now):
        if now % self.half or self.buses[0] > now:
            return False
        bank, u, group = self.banks[b], self.unit(b), self.group(b)
        end, before = now + self.length["row"] - 1, self.rows[u]
        return (
            end - bank.opened >= max(self.t("t_rc"), self.t("t_ras") + self.t("t_rp"))
            and end - bank.closed >= self.t("t_rp")
            and end - bank.refreshed >= self.rfc()
            and (len(before) < 4 or end - before[-4][0] >= self.t("t_faw"))
            and (self.sets < 2 or all(end - time >= self.t("t_rrefd") for time in self.fresh[u][-1:]))
            and all(
                end - time >= (self.t("t_rrd_l", "t_rrd") if self.group(other) == group else self.t("t_rrd"))
                for time, other in before[-8:]
            )
        )

    def rfc(self):
        return self.t("t_rfc" if self.p.refresh == "all-bank" else "t_rfc_bank")

    def shut_may(self, b, now):
        return self.shut_rules(b, now) and self.shut_bus(self.unit(b), now)

    def shut_rules(self, b, now):
        bank = self.banks[b]
        wait = self.t("t_wl") + self.burst + self.t("t_wr")
        return now - bank.opened >= self.t("t_ras") and now - bank.read >= self.t("t_rtp") and now - bank.write >= wait

    def shut_bus(self, u, now):
        return self.buses[0] <= now and all(now - time >= self.t("t_ppd") for time in self.shuts[u][-1:])

    def column_may(self, b, write, now):
        bank, u = self.banks[b], self.unit(b)
        end = now + self.length["column"] - 1
        if now % self.half or self.buses[1] > now:
            return False
        if end - bank.opened < (self.t("t_rcd_write", "t_rcd") if write else self.t("t_rcd")):
            return False
        group = self.group(b)
        for time, other, wrote in reversed(self.columns[u][-24:]):  # the last one says it mostly
            if end - time < self.apart(wrote, write, self.group(other) == group):
                return False
        return True

    def apart(self, wrote, write, near):
        """Return the least edges from a column command to another; near: in the same group of banks."""
        if wrote == write:
            of_writes = near and write and self.d.t_ccd_l_write
            return self.t("t_ccd_l_write") if of_writes else self.t("t_ccd_l", "t_ccd") if near else self.t("t_ccd")
        if write:
            return self.t("t_cl") + self.burst + self.t("t_rtw") - self.t("t_wl")
        wtr, ccd = ("t_wtr_l", "t_wtr"), ("t_ccd_l", "t_ccd")
        return max(self.t("t_wl") + self.burst + self.t(*wtr[not near :]), self.t(*ccd[not near :]))

    # ---- entries

    def room(self, access):
        if access.write and self.p.writes:
            return len(self.writes) < self.p.writes
        return len(self.reads) < self.p.reads

    def enter(self, access, now):
        access.entry, access.accepted = True, now
        self.sequence[access] = len(self.sequence)
        buffered = access.write and self.p.writes > 0
        (self.writes if buffered else self.reads).append(access)
        if self.p.bank_queue:
            self.inside[buffered].append(access)
        else:
            self.to_bank(access, now)

    def to_bank(self, access, now):
        bank = self.banks[access.bank]
        after = self.p.close_after_s / (self.d.t_ck * 1e-9)
        if after and not bank.line and bank.row >= 0:
            time = bank.last + round(after) * self.half
            while not self.shut_rules(access.bank, time):
                time += 1
            if time <= now:
                bank.row, bank.closed = -1, time
        bank.line.append(access)

    def leave(self, access):
        if access.entry:
            access.entry = False
            (self.writes if access in self.writes else self.reads).remove(access)

    # ---- one edge

    def step(self, now):
        if self.second is not None and now >= self.second:
            self.second = None
            self.occupy("row", now, self.half)
            return
        moved = self.p.bank_queue and self.move(now)
        refreshing = self.sets and self.refresh(now)
        if refreshing and self.d.command_buses == 1:
            return
        if self.p.writes and not self.p.bank_queue:
            self.turn_round()
        row, column = self.candidates(now)
        if refreshing:
            row = None
        if row and column and self.d.command_buses == 1:
            row, column = (None, column) if column[0] < row[0] else (row, None)
        if row and not (column and row[1].bank == column[1].bank):
            self.row_command(row[1], now)
        if column:
            self.column_command(column[1], now)
        if not (row or column or moved or refreshing) and self.second is not None:
            self.second = None
            self.occupy("row", now, self.half)

    def move(self, now):
        lines = any(bank.line for bank in self.banks)
        if not self.drain and (
            len(self.writes) >= self.p.high or (not lines and (len(self.writes) > self.p.low or not self.reads))
        ):
            self.drain = len(self.writes)
        which = self.p.writes > 0 and self.drain > 0
        for access in self.inside[which]:
            if len(self.banks[access.bank].line) < self.p.bank_queue:
                self.inside[which].remove(access)
                self.drain -= which
                self.leave(access)
                self.to_bank(access, now)
                return True
        return False

    def turn_round(self):
        n = len(self.writes)
        if not self.writing:
            self.writing = n >= self.p.high or (not self.reads and n > 0)
        elif n == 0 or (n <= self.p.low and self.reads):
            self.writing = False

    def refresh(self, now):
        for u in range(self.d.pseudo_channels):
            if not self.pending[u]:
                if now < self.due[u]:
                    continue
                self.pending[u] = True
                self.due[u] += self.every
            each = self.d.banks // self.sets
            first = u * self.d.banks + self.turn[u] * each
            banks = self.banks[first : first + each]
            if any(bank.owner for bank in banks):
                continue
            gap = self.t("t_ref_ref") if self.sets > 1 else self.rfc()
            opened = [first + k for k, bank in enumerate(banks) if bank.row >= 0]
            if opened:
                if not (self.shut_bus(u, now) and all(self.shut_rules(b, now) for b in opened)):
                    continue
                for b in opened:
                    self.banks[b].row, self.banks[b].closed = -1, now
                self.shuts[u].append(now)
                self.log.append((now, "PREA", first))
            else:
                shift = self.length["row"] - 1  # as soon as a row command, begun then, would be
                ready = all(
                    now + shift - bank.opened
                    >= max(self.t("t_rc"), self.t("t_ras") + self.t("t_rp")) + (shift if bank.opened < 0 else 0)
                    and now + shift - bank.closed >= self.t("t_rp")
                    and now + shift - bank.refreshed >= self.rfc()
                    for bank in banks
                )
                if self.sets > 1:
                    ready = ready and all(now + shift - time >= self.t("t_rrd") for time, _ in self.rows[u][-1:])
                    ready = ready and all(now + shift - time >= self.t("t_rrefd") for time in self.fresh[u][-1:])
                if not ready or self.buses[0] > now or any(now - time < gap for time in self.fresh[u][-1:]):
                    continue
                for bank in banks:
                    bank.refreshed = now
                self.fresh[u].append(now)
                self.pending[u], self.turn[u] = False, (self.turn[u] + 1) % self.sets
                self.log.append((now, "REF", first))
            self.occupy("close", now)
            return True
        return False

    def blocked(self, b):
        if self.p.refresh_holds == "all" and any(self.pending):
            return True
        u = self.unit(b)
        return self.pending[u] and b % self.d.banks // (self.d.banks // self.sets) == self.turn[u]

    def candidates(self, now):
        rows, columns = [], []
        for b, bank in enumerate(self.banks):
            if bank.owner:
                if self.column_may(b, bank.owner.write, now):
                    columns.append(((0, self.sequence[bank.owner]), bank.owner))
                continue
            if self.sets and self.blocked(b):
                continue
            line = sorted(bank.line, key=self.sequence.get)
            if self.p.writes and not self.p.bank_queue:
                line = [access for access in line if access.write == self.writing]
            hits = [access for access in line if access.row == bank.row]
            others = [access for access in line if access.row != bank.row]
            for write in (False, True):
                first = next((access for access in hits if access.write == write), None)
                if first and self.column_may(b, write, now):
                    columns.append(((1, self.sequence[first]), first))
            if not others:
                continue
            other = others[0]
            if bank.row < 0:
                if self.second is None and self.row_may(b, now):
                    rows.append(((1, self.sequence[other]), other))
            elif not hits or (self.sequence[other] < self.sequence[hits[0]] and bank.uses >= self.p.cap):
                rows += [((1, self.sequence[other]), other)] if self.shut_may(b, now) else []
        return (min(found, key=lambda one: one[0]) if found else None for found in (rows, columns))

    def occupy(self, what, now, length=None):
        end = now + (length or self.length[what])
        if what == "column" or self.d.command_buses == 1:
            self.buses[1] = end
        if what != "column" or self.d.command_buses == 1:
            self.buses[0] = end

    def row_command(self, access, now):
        b = access.bank
        bank, u = self.banks[b], self.unit(b)
        if bank.row >= 0:
            bank.row, bank.closed, access.outcome = -1, now, 2
            self.shuts[u].append(now)
            self.log.append((now, "PRE", b))
            self.occupy("close", now)
            return
        end = now + self.length["row"] - 1
        bank.row, bank.opened, bank.uses, bank.owner = access.row, end, 0, access
        access.outcome = access.outcome or 1
        self.rows[u].append((end, b))
        self.log.append((now, "ACT", b))
        if self.d.t_aad:
            self.second = now + self.t("t_aad")
        self.occupy("row", now)
        if self.p.entries_until == "row":
            self.leave(access)

    def column_command(self, access, now):
        b = access.bank
        bank, u = self.banks[b], self.unit(b)
        end = now + self.length["column"] - 1
        if access.write:
            bank.write = end
        else:
            bank.read = end
        self.columns[u].append((end, b, access.write))
        self.log.append((now, "WR" if access.write else "RD", b))
        self.occupy("column", now)
        bank.uses, bank.last, bank.owner = bank.uses + 1, now, None
        access.bursts -= 1
        if access.bursts:
            bank.owner = access
            return
        bank.line.remove(access)
        self.leave(access)
        self.finished[access.number] = end + (self.t("t_wl") if access.write else self.t("t_cl")) + self.burst
        self.outcomes[access.number] = access.outcome
        wanted = any(other.row == bank.row for other in bank.line)
        if self.p.page == "closed" or (self.p.page == "adaptive" and not wanted):
            time = now
            while not self.shut_rules(b, time):
                time += 1
            bank.row, bank.closed = -1, time

    def run(self, accesses):
        """Return accepted and finished edges and outcomes of accesses in order of time, and the commands."""
        self.finished, self.outcomes, accepted = {}, {}, {}
        waiting, now = list(accesses), 0
        while len(self.finished) < len(accesses):
            while waiting and waiting[0].time <= now and self.room(waiting[0]):
                accepted[waiting[0].number] = now
                self.enter(waiting.pop(0), now)
            self.step(now)
            now += 1
            assert now < 10**7, "nothing more can go"
        n = range(len(accesses))
        return [accepted[k] for k in n], [self.finished[k] for k in n], [self.outcomes[k] for k in n], self.log


class Asked(Controller):
    """A controller that tokens of the plain engine ask; an access's number is its token.

    ticks: of an edge. awake: the edge at which it decides next; None while nobody is inside. told: who goes on, and
    when (None: at once).
    """

    priority = 15  # behind all else that happens then

    def __init__(self, device, policy, ticks):
        super().__init__(device, policy)
        assert self.half == 1, "between half clocks it would see who came too early"
        self.ticks, self.awake, self.next, self.now = ticks, None, 0, 0
        self.outside, self.told = {False: [], True: []}, []
        self.finished, self.outcomes = {}, {}

    def ask(self, access, time):
        """Take an access at a time in ticks; return the edge at which to decide."""
        edge = -(-time // self.ticks)
        while not self.works() and self.next < edge:  # refreshes that fell due meanwhile
            self.decide(self.next)
        self.now = time // self.ticks
        buffered = access.write and self.p.writes > 0
        if self.room(access) and not self.outside[buffered]:
            self.enter(access, self.now)
        else:
            self.outside[buffered].append(access)
        return edge

    def decide(self, edge):
        self.now, self.next = edge, edge + 1
        self.step(edge)
        self.told += [(token, end * self.ticks) for token, end in self.finished.items()]
        self.finished.clear()

    def works(self):
        lines = any(bank.line for bank in self.banks)
        return bool(lines or self.reads or self.writes or any(self.outside.values()))

    def enter(self, access, now):
        super().enter(access, now)
        if access in self.writes:
            self.told.append((access.number, None))

    def leave(self, access):
        held, buffered = access.entry, access in self.writes
        super().leave(access)
        if held and self.outside[buffered]:
            self.enter(self.outside[buffered].pop(0), self.now)

    def column_command(self, access, now):
        posted = access.write and self.p.writes > 0
        super().column_command(access, now)
        if posted:
            self.finished.clear()
