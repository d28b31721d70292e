"""`make bench`: measure, print one table."""

from __future__ import annotations

import gc

from rich.console import Console
from rich.table import Table

from .boards import board_pages_at_scale
from .bulk import bulk_path
from .catalogue import lists_and_trending
from .cluster import on_a_cluster
from .criteria import criteria_judged, criteria_swapped
from .driver_memory import driver_memory
from .floor import Ratio
from .gateway import flat_gateway_memory, held_streams, pass_through, two_workers
from .judge_replies import replies_read
from .judges import calls_a_second, calls_saved, share_of_the_ideal
from .panel_labels import pooled_accuracy
from .question_types import classified
from .questions import checked
from .raters import people_told
from .rewards import rewards_a_second
from .routing import routing
from .rules import explained_evaluations, formulas
from .runs import on_every_core, resuming, run_overhead, start_and_end
from .service import executions_a_second
from .streaming import flat_memory, start_up

RULES = (explained_evaluations, formulas, criteria_swapped, rewards_a_second, flat_memory, start_up)
JUDGES = (calls_a_second, share_of_the_ideal, criteria_judged, calls_saved, pooled_accuracy, replies_read, people_told)
RUNS = (bulk_path, run_overhead, resuming, on_every_core, start_and_end, driver_memory, on_a_cluster, checked)
SERVICE = (executions_a_second, lists_and_trending, board_pages_at_scale)
GATEWAY = (classified, routing, pass_through, two_workers, flat_gateway_memory, held_streams)


def main() -> None:
    gc.freeze()  # as the command does before it judges: what is loaded is not scanned again
    console = Console()
    table = Table(title="Ratios against a floor measured in the same run")
    for name in ("what", "floor", "ratio", "target", "", "detail"):
        table.add_column(name, justify="right" if name in ("ratio", "target") else "left")
    for measure in (*RULES, *JUDGES, *RUNS, *SERVICE, *GATEWAY):
        with console.status(f"measuring {measure.__name__.replace('_', ' ')}"):
            found = measure()
        for row in [found] if isinstance(found, Ratio) else found:
            sign = "≥" if row.higher_is_better else "≤"
            mark = "[green]met[/]" if row.met else "[red]missed[/]"
            table.add_row(row.what, row.floor, f"{row.ratio:.2f}", f"{sign} {row.target:g}", mark, row.detail)
    console.print(table)


if __name__ == "__main__":
    main()
