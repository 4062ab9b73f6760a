"""802.11 frames, bare or behind the radio headers of radiotap, Prism, AVS and PPI; clear data frames go on to LLC."""

from npexplore._kernels.capture_headers import IEEE80211, PPI
from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("IEEE802_11", (105,), IEEE80211),
    LinkFormat("IEEE802_11_PRISM", (119,), IEEE80211, skip=144),
    LinkFormat("IEEE802_11_RADIOTAP", (127,), IEEE80211, skip=8, length_at=2, length_width=2),
    LinkFormat("IEEE802_11_AVS", (163,), IEEE80211, skip=8, length_at=4, length_width=4),
    LinkFormat("PPI", (192,), PPI, skip=8, length_at=2, length_width=2),
)
