// The IPv4 application of the SoCLIB NPU, "A Modular On-Chip Multiprocessor for Routing Applications", Sec. 3.1 and
// Fig. 1, with the elements in the order of Fig. 7. The figure is not preserved; which error goes where is ours.
// Ethernet is 10.0.0.0/8 behind this unit; everything else goes through the switch matrix to another unit.

elementclass CheckAndLookUp { $own |
  input -> Strip(14) -> check :: CheckIPHeader($own 255.255.255.255) -> GetIPAddress(16)
        -> route :: LookupIPRoute($own/32 0, 10.0.0.0/8 1, 0.0.0.0/0 2);
  route [0] -> output;
  route [1] -> [1] output;
  route [2] -> [2] output;
  check [1] -> Discard;
}

elementclass Forward { $own, $paint |
  input -> DropBroadcasts -> again :: PaintTee($paint) -> options :: IPGWOptions($own) -> FixIPSrc($own)
        -> ttl :: DecIPTTL -> fit :: IPFragmenter(1500) -> output;
  again [1] -> ICMPError($own, redirect, host) -> [1] output;
  options [1] -> ICMPError($own, parameterproblem) -> [1] output;
  ttl [1] -> ICMPError($own, timeexceeded) -> [1] output;
  fit [1] -> ICMPError($own, unreachable, needfrag) -> [1] output;
}

fromEth :: FromDevice(eth0);
fromSwitch :: FromSwitch(switch);
toEth :: ToDevice(eth0);
toSwitch :: ToSwitch(switch);
toMe :: ToMe;
ethQueue :: Queue(64) -> toEth;
switchQueue :: Queue(64) -> toSwitch;

kind :: Classifier(12/0806, 12/0800, -);
ip :: CheckAndLookUp(10.0.0.1);
back :: Forward(10.0.0.1, 1);   // out by the Ethernet it came from
on :: Forward(10.0.0.1, 2);     // to another unit

fromEth -> kind;
kind [0] -> toMe;
kind [1] -> Paint(1) -> ip;
kind [2] -> Discard;
ip [0] -> toMe;
ip [1] -> back;
ip [2] -> on;
back [0] -> EtherEncap(0x0800, 02:00:00:00:00:10, 02:00:00:00:01:10) -> ethQueue;
on [0] -> EtherEncap(0x0800, 02:00:00:00:00:10, 02:00:00:00:02:10) -> SwitchEncap(1) -> switchQueue;
back [1] -> EtherEncap(0x0800, 02:00:00:00:00:10, 02:00:00:00:01:10) -> ethQueue;
on [1] -> EtherEncap(0x0800, 02:00:00:00:00:10, 02:00:00:00:01:10) -> ethQueue;

fromSwitch -> Strip(8) -> ethQueue;   // another unit has checked and routed it
