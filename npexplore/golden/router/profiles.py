"""The profiles: whose forwarding rules the router follows. Every profile listed here is tested."""

from dataclasses import replace

from npexplore.errors import one_of
from npexplore.golden.ipv6.stages import RFC8200
from npexplore.golden.linux.messages import LinuxMessages4, LinuxMessages6
from npexplore.golden.linux.stages import LINUX
from npexplore.golden.linux.stages6 import LINUX6
from npexplore.golden.router.messages import Messages4, Messages6
from npexplore.golden.router.rules import Profile
from npexplore.golden.router.stages import RFC1812

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("rfc1812", replace(RFC1812, many_told=Messages4), replace(RFC8200, many_told=Messages6)),
        Profile(
            "linux",
            replace(LINUX, many_told=LinuxMessages4),
            replace(LINUX6, many_told=LinuxMessages6),
            switches=False,
        ),
    )
}


def profile_of(profile: Profile | str) -> Profile:
    """Return a profile by its name; raises UnknownNameError."""
    return profile if isinstance(profile, Profile) else PROFILES[one_of("profile", profile, PROFILES)]
