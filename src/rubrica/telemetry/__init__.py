"""Evaluations as OpenTelemetry events."""
