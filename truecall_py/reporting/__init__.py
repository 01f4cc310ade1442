"""Views over the ledger: calls, statistics, text, HTML, OpenTelemetry."""
