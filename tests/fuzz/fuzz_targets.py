"""Every target there is."""

from __future__ import annotations

import fuzz_commands
import fuzz_documents
import fuzz_formulas
import fuzz_replies
import fuzz_requests
import fuzz_uploads
from fuzz_target import Target

TARGETS: tuple[Target, ...] = (
    *fuzz_documents.TARGETS,
    *fuzz_formulas.TARGETS,
    *fuzz_replies.TARGETS,
    *fuzz_uploads.TARGETS,
    *fuzz_requests.TARGETS,
    *fuzz_commands.TARGETS,
)
