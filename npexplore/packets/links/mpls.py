"""MPLS label stacks without a link header (RFC 3032); below the bottom label the IP version field decides."""

from npexplore._kernels.capture_headers import MPLS
from npexplore.packets.links.format import LinkFormat

FORMATS = (LinkFormat("MPLS", (219,), MPLS),)
