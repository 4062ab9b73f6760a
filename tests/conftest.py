"""What all suites share: the hypothesis profile, and the folder `reference` as an importable package."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("npexplore", deadline=None)
settings.load_profile("npexplore")
