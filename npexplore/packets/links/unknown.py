"""Link types whose packets are counted and measured but not looked into; some may be larger than any network packet."""

from npexplore.packets.links.format import LinkFormat

FORMATS = (
    LinkFormat("USER0", (147,)),
    LinkFormat("USB_LINUX", (189,)),
    LinkFormat("BLUETOOTH_HCI_H4_WITH_PHDR", (201,)),
    LinkFormat("USB_LINUX_MMAPPED", (220,)),
    LinkFormat("CAN_SOCKETCAN", (227,)),
    LinkFormat("DBUS", (231,), limit=1 << 27),
    LinkFormat("NFLOG", (239,)),
    LinkFormat("INFINIBAND", (247,)),
    LinkFormat("USBPCAP", (249,), limit=1 << 27),
    LinkFormat("NETLINK", (253,)),
    LinkFormat("EBHSCR", (279,), limit=1 << 23),
)
