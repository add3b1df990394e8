"""`palimpsest.store` as it was called before there were rooms: it is `palimpsest.api.store`."""

import sys

from palimpsest.api import store

sys.modules[__name__] = store
