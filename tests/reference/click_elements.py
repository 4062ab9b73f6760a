"""Arguments with which each element of a Click graph can be made."""

from npexplore.golden.elements import ELEMENTS

ARGUMENTS = {
    "FromDevice": ["a"], "PollDevice": ["a"], "ToDevice": ["a"], "Paint": ["1"], "PaintTee": ["1"], "CheckPaint": ["1"],
    "Strip": ["0"], "Classifier": ["0/45", "-"], "GetIPAddress": ["16"], "IPGWOptions": ["10.0.0.1"],
    "FixIPSrc": ["10.0.0.1"], "IPFragmenter": ["300"], "ICMPError": ["10.0.0.1", "timeexceeded"],
    "CheckLength": ["1500"],
    "EtherEncap": ["0x0800", "2:0:0:0:0:1", "2:0:0:0:0:2"], "ARPResponder": ["10.0.0.1 2:0:0:0:0:1"],
    "ARPQuerier": ["10.0.0.1", "2:0:0:0:0:1"],
    "IPClassifier": ["udp", "-"], "IPFilter": ["allow udp", "deny all"], "FromHost": ["a"], "StrideSched": ["1"],
    "AddressInfo": ["home 10.0.0.1"],
    "FastUDPSource": ["1", "1", "60", "2:0:0:0:0:1", "1.0.0.1", "1", "2:0:0:0:0:2", "1.0.0.2", "2"],
    "ICMPPingSource": ["1.0.0.1", "1.0.0.2"], "KernelTun": ["1.0.0.1/8"], "KernelTap": ["1.0.0.1/8"],
    "SetIPAddress": ["10.0.0.1"], "StoreIPAddress": ["10.0.0.1", "12"], "UDPIPEncap": ["1.0.0.1", "1", "1.0.0.2", "2"],
    "IPRewriter": ["pattern 9.0.0.1 1024-65535 - - 0 0"], "TCPRewriter": ["drop"],
} | {name: ["0.0.0.0/0 0"] for name in ELEMENTS if "Lookup" in name}  # fmt: skip
