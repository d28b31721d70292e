"""Sends events by OTLP over HTTP, where the usual variables say where to.

``OTEL_EXPORTER_OTLP_ENDPOINT`` or ``OTEL_EXPORTER_OTLP_LOGS_ENDPOINT`` turn it on; headers, timeouts and the service
name come from the other ``OTEL_…`` variables. Sending happens in a thread of its own: a collector that is slow or gone
holds nothing up, and what it cannot take is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from rubrica.engine.audience import listen
from rubrica.model.evaluation import Evaluation

from .events import EVENT, events

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment names a place to send to.

    >>> wanted({}), wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"})
    (False, True)
    """
    return any(environment.get(name) for name in ENDPOINTS) and environment.get("OTEL_SDK_DISABLED") != "true"


def start() -> Callable[[], None]:
    """Send every evaluation of this process from now on; calling the result sends what is left, and ends it."""
    named = "OTEL_SERVICE_NAME" in os.environ
    provider = LoggerProvider(Resource.create({} if named else {"service.name": "rubrica"}))
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    logger = provider.get_logger("rubrica")

    def send(evaluation: Evaluation) -> None:
        for attributes in events(evaluation):
            logger.emit(event_name=EVENT, attributes=attributes)

    stop = listen(send)

    def end() -> None:
        stop()
        provider.shutdown()

    return end
