"""Rubrics and cases of other tools: read into Rubrica's documents, and written back.

Each conversion says what could not be carried over, one problem for each thing that stayed behind.
"""

from .conversion import Conversion
from .formats import RubricFormat, export_rubric, import_items, import_rubric
from .healthbench import ConvertedLine, export_cases, import_cases, read_responses

__all__ = [
    "Conversion",
    "ConvertedLine",
    "RubricFormat",
    "export_cases",
    "export_rubric",
    "import_cases",
    "import_items",
    "import_rubric",
    "read_responses",
]
