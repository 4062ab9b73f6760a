"""The numbers of the scheduling DRAM controller: the layout of its block, outcomes, policies; docs/engine_dram.md."""

import numpy as np

# ---- a block begins with its size and places, the part's rules in ticks, the policy, and the state; what reads
# and writes both have stands in pairs, of CCD in pairs of two
(
    M_EDGE, M_CLOCK, M_UNITS, M_GROUPS, M_BANKS, M_ROOM, M_UNITS_AT, M_GROUPS_AT, M_BANKS_AT, M_ACTIVE_AT, M_REQUESTS_AT, M_DONE_AT,
    M_ROW_TIME, M_COLUMN_TIME, M_CLOSE_TIME, M_DUAL, M_SPLIT,
    M_RCD_READ, M_RCD_WRITE, M_RP, M_RAS, M_RC, M_READ_CLOSE, M_WRITE_CLOSE, M_RRD_S, M_RRD_L, M_FAW, M_PPD,
    M_CCD_S, M_CCD_L, M_CCD_S_WRITE, M_CCD_L_WRITE, M_READ_WRITE, M_WRITE_READ_S, M_WRITE_READ_L,
    M_REFRESH_SETS, M_REFI, M_RFC, M_RREFD, M_RFC_REF, M_STALL,
    M_PAGE, M_IDLE, M_CAP, M_READS, M_WRITES, M_HIGH, M_LOW, M_BANK_QUEUE, M_EARLY, M_READ_LAST, M_WRITE_LAST, M_FIRST, M_IN_ORDER,
) = range(54)  # fmt: skip
(
    M_FREE, M_SEQUENCE, M_N_READS, M_N_WRITES, M_QUEUED, M_WRITING, M_DRAIN, M_OUT_READ, M_OUT_READ_TAIL, M_OUT_WRITE, M_OUT_WRITE_TAIL, M_IN_READ,
    M_IN_READ_TAIL, M_IN_WRITE, M_IN_WRITE_TAIL, M_ROW_END, M_COLUMN_END, M_SECOND, M_DONE, M_AWAKE, M_TIME, M_NEXT, M_WAITING,
    M_SERVED_READS, M_SERVED_WRITES, M_HITS, M_MISSES, M_CONFLICTS, M_REFRESHES, M_ACTIVATES, M_BUSY_SLOTS, M_BUSY_BUFFER, M_BUSY_COMMAND,
) = range(54, 87)  # fmt: skip
M_CAUSES = 87  # ticks between data, by what they waited for
M_HEADER = 98

# ---- what a gap between data waited for
(M_BUS, M_GROUP, M_TURN, M_OPENING, M_BANK, M_ROWS_APART, M_WINDOW, M_REFRESH, M_COMMAND, M_ORDER, M_NOBODY) = (
    np.int64(k) for k in range(11)
)

# ---- a unit: one channel, or one of the pseudo-channels that share command buses
(M_U_READ, M_U_WRITE, M_U_ACT, M_U_CLOSE, M_U_FAW, M_U_FAW_AT, M_U_DUE, M_U_SET, M_U_PENDING, M_U_REFRESHED, M_U_READ_CAUSE, M_U_WRITE_CAUSE, M_U_DATA, M_U_BUSY, M_U_ROWS, M_U_WINDOW, M_U_ACTIVE, M_U_ACTIVE_AT, M_U_MAY, M_U_LATER) = (
    0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 25
)  # fmt: skip
M_UNIT = 29  # M_U_MAY: when banks may have a read, write, activate, precharge, or before; M_U_LATER: another one

# ---- a bank group
M_G_READ, M_G_WRITE, M_G_ACT, M_G_READ_CAUSE, M_G_BUSY = range(5)
M_GROUP_WIDTH = 5

# ---- a bank; of pairs the first is for reads, the second for writes
(M_B_UNIT, M_B_GROUP, M_B_SET, M_B_ROW, M_B_ACT, M_B_READ, M_B_WRITE, M_B_CLOSE, M_B_OPENED, M_B_USES, M_B_OWNER, M_B_HEAD, M_B_TAIL, M_B_HIT, M_B_OTHER, M_B_COUNT, M_B_PLACE, M_B_LAST, M_B_CAUSE, M_B_WHY, M_B_BUSY, M_B_GO, M_B_KEY, M_B_SHUT) = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 20, 21, 22, 23, 24, 25, 28, 31
)  # fmt: skip
M_BANK_WIDTH = 32

# ---- a request
M_R_TAG, M_R_BANK, M_R_ROW, M_R_WRITE, M_R_LEFT, M_R_SEQUENCE, M_R_NEXT, M_R_BEFORE, M_R_OUTCOME, M_R_TIME, M_R_HELD = (
    range(11)
)
M_REQUEST = 11

# ---- a completion: tag, time of the last column command, outcome (0 hit, 1 miss, 2 conflict; M_ACCEPTED), write
M_DONE_WIDTH = 4
M_HIT, M_MISS, M_CONFLICT, M_ACCEPTED = range(4)

M_OPEN, M_CLOSED, M_ADAPTIVE = range(3)
M_OLDEST, M_COLUMN, M_ROW = range(3)
M_ACT, M_READ, M_WRITE, M_PRE, M_PREA, M_REF = range(6)
M_NEVER = np.int64(1) << 62
M_HALF = np.int64(1) << 61
