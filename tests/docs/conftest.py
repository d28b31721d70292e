"""Lets the tests import `docs`, a package of the repository that is not part of the distribution."""

import sys

from docs_pages import ROOT

sys.path.insert(0, str(ROOT))
